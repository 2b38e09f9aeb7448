// permute: any permutation of any axes. A block moves one box of the array: of each axis a chunk. It reads the box run by
//   run as x lies in memory, into shared memory, and gathers units of y from there.
//
// What depends on the box alone is in `Box`, written by the host above this text, so that all arithmetic on the box is
// done by the compiler. Extents and strides of the array are arguments. The box's axes are numbered as y has them, fastest
// first.

using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;
using i64 = long long;

constexpr int E = Box::ELEMENT, AXES = Box::AXES;

template <int BYTES> struct alignas(BYTES) Piece { u32 w[BYTES / 4]; };
template <> struct Piece<1> { u8 w[1]; };
template <> struct Piece<2> { u16 w[1]; };

template <int BYTES> __device__ Piece<BYTES> load(const u8* p) { return *reinterpret_cast<const Piece<BYTES>*>(p); }
template <int BYTES> __device__ void store(u8* p, Piece<BYTES> piece) { *reinterpret_cast<Piece<BYTES>*>(p) = piece; }

// Bytes of x. Volatile, so that a thread's reads stay together and in flight. KEPT: L2 holds lines of x longer than those
// of y, so that DRAM gets long runs of writes.
template <int BYTES>
__device__ Piece<BYTES> fetch(const u8* p) {
    Piece<BYTES> piece;
    const u64 at = __cvta_generic_to_global(p);
    if constexpr (BYTES == 16) {
        if constexpr (Box::KEPT) {
            u64 policy;
            asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
            asm volatile("ld.global.L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4], %5;"
                         : "=r"(piece.w[0]), "=r"(piece.w[1]), "=r"(piece.w[2]), "=r"(piece.w[3]) : "l"(at), "l"(policy));
        } else {
            asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                         : "=r"(piece.w[0]), "=r"(piece.w[1]), "=r"(piece.w[2]), "=r"(piece.w[3]) : "l"(at));
        }
    } else if constexpr (BYTES == 8) {
        if constexpr (Box::KEPT) {
            u64 policy;
            asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
            asm volatile("ld.global.L2::cache_hint.v2.u32 {%0, %1}, [%2], %3;"
                         : "=r"(piece.w[0]), "=r"(piece.w[1]) : "l"(at), "l"(policy));
        } else {
            asm volatile("ld.global.v2.u32 {%0, %1}, [%2];" : "=r"(piece.w[0]), "=r"(piece.w[1]) : "l"(at));
        }
    } else if constexpr (BYTES == 4) {
        if constexpr (Box::KEPT) {
            u64 policy;
            asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
            asm volatile("ld.global.L2::cache_hint.u32 %0, [%1], %2;" : "=r"(piece.w[0]) : "l"(at), "l"(policy));
        } else {
            asm volatile("ld.global.u32 %0, [%1];" : "=r"(piece.w[0]) : "l"(at));
        }
    } else if constexpr (BYTES == 2) {
        asm volatile("ld.global.u16 %0, [%1];" : "=h"(piece.w[0]) : "l"(at));
    } else {
        u32 byte;
        asm volatile("ld.global.u8 %0, [%1];" : "=r"(byte) : "l"(at));
        piece.w[0] = byte;
    }
    return piece;
}

// One axis along which blocks are numbered: how many, division by that number (T. Granlund, P. Montgomery, Division by
// Invariant Integers using Multiplication, 1994, figure 4.1), and the bytes from one to the next.
struct BlockAxis {
    u32 blocks, magic, shift, unused;
    i64 x_step, y_step;
    i64 extent;  // of the array's axis, in elements
};

struct Arguments {
    i64 x_stride[AXES], y_stride[AXES];  // bytes from one element to the next
    i64 x_first, x_end;                  // where x begins and ends, in bytes after its element (0, ..., 0)
    BlockAxis axis[Box::Numbered::SIZE + 1];
};

// A coordinate in the box, of each axis; and the number of a window of a run, where threads count these.
struct Place {
    int at[AXES + 1];
};

// Where a thread of a phase begins: its unit's first element, or its window.
template <class Phase>
__device__ Place thread_place() {
    Place place = {};
    int e = threadIdx.x * (Phase::WINDOWS ? 1 : Phase::UNIT);
#pragma unroll
    for (int d = 0; d < Phase::ThreadAxis::SIZE; ++d) {
        const int rest = e / Phase::ThreadExtent::at(d);
        place.at[Phase::ThreadAxis::at(d)] += (e - rest * Phase::ThreadExtent::at(d)) * Phase::ThreadStride::at(d);
        e = rest;
    }
    return place;
}

// How far step s of a phase leads along an axis: a constant where s is one.
template <class Phase>
__device__ constexpr int step_along(int s, int axis) {
    int along = 0;
    for (int d = 0; d < Phase::StepAxis::SIZE; ++d) {
        if (Phase::StepAxis::at(d) == axis) along += s % Phase::StepExtent::at(d) * Phase::StepStride::at(d);
        s /= Phase::StepExtent::at(d);
    }
    return along;
}

// Strides along the axes of a run are known: its elements follow one another.
__device__ i64 x_stride(const Arguments& a, int axis) {
    return Box::XRun::at(axis) ? i64(Box::XRun::at(axis)) : a.x_stride[axis];
}
__device__ i64 y_stride(const Arguments& a, int axis) {
    return Box::YRun::at(axis) ? i64(Box::YRun::at(axis)) : a.y_stride[axis];
}

template <class Phase>
__device__ i64 x_hop(const Arguments& a, int s) {
    i64 hop = 0;
#pragma unroll
    for (int axis = 0; axis < AXES; ++axis)
        if (step_along<Phase>(s, axis)) hop += step_along<Phase>(s, axis) * x_stride(a, axis);
    return hop;
}
template <class Phase>
__device__ i64 y_hop(const Arguments& a, int s) {
    i64 hop = 0;
#pragma unroll
    for (int axis = 0; axis < AXES; ++axis)
        if (step_along<Phase>(s, axis)) hop += step_along<Phase>(s, axis) * y_stride(a, axis);
    return hop;
}
// SKEW moves each further unit of y along in shared memory by that many bytes, so that threads that gather neighbouring
// units meet different banks.
__device__ constexpr int shared_skew(int at) { return Box::SKEW ? at / Box::Write::UNIT * Box::SKEW : 0; }
// Where an element of the box lies in shared memory.
__device__ constexpr int shared_place(const Place& place) {
    int at = shared_skew(place.at[0]);
#pragma unroll
    for (int axis = 0; axis < AXES; ++axis) at += place.at[axis] * Box::Pitch::at(axis);
    return at;
}
template <class Phase>
__device__ constexpr Place step_place(int s, const Place& from) {
    Place place = {};
    for (int axis = 0; axis < AXES; ++axis) place.at[axis] = from.at[axis] + step_along<Phase>(s, axis);
    return place;
}

// Whether the element is within the array, which may end inside of the box; `skip` is an axis that is looked at later.
// Steps may lead beyond the box along some axes.
template <class Phase>
__device__ bool inside(const Place& place, const int (&limit)[AXES], int s, int skip = -1) {
    bool is = true;
#pragma unroll
    for (int axis = 0; axis < AXES; ++axis)
        if ((Box::Edge::at(axis) || Phase::Beyond::at(axis)) && axis != skip)
            is = is && place.at[axis] + step_along<Phase>(s, axis) < limit[axis];
    return is;
}

template <class Phase>
__device__ bool in_box(const Place& place, int s) {
    bool is = true;
#pragma unroll
    for (int axis = 0; axis < AXES; ++axis)
        if (Phase::Beyond::at(axis)) is = is && place.at[axis] + step_along<Phase>(s, axis) < Box::Chunk::at(axis);
    return is;
}

// Likewise, whether a run is within the array.
template <class Phase, class Run>
__device__ bool run_inside(const Place& place, const int (&limit)[AXES], int s) {
    return inside<Phase>(place, limit, s, Run::LAST);
}

// Bytes of a run that are within the array: only its last axis may end early.
template <class Run>
__device__ int run_bytes(const int (&limit)[AXES]) {
    const int length =
        Box::Edge::at(Run::LAST) ? limit[Run::LAST] * (Run::LENGTH / Box::Chunk::at(Run::LAST)) : Run::LENGTH;
    return (length - 1) * Run::STEP + E;
}

// Element i of each of N pieces that hold PACK elements: N * E bytes.
template <int N, int PACK, int W>
__device__ Piece<N * E> gathered(const Piece<W> (&from)[N], int i) {
    Piece<N * E> unit;
    if constexpr (E >= 4) {
#pragma unroll
        for (int k = 0; k < N * E / 4; ++k) unit.w[k] = from[k / (E / 4)].w[k % (E / 4)];
    } else if constexpr (N == 1) {
        unit.w[0] = from[0].w[0] >> (8 * E * i);
    } else if constexpr (E == 2) {
#pragma unroll
        for (int k = 0; k < N / 2; ++k)
            unit.w[k] = __byte_perm(from[2 * k].w[0], from[2 * k + 1].w[0], i ? 0x7632 : 0x5410);
    } else if constexpr (N == 2) {
        unit.w[0] = __byte_perm(from[0].w[0], from[1].w[0], 0x40 + 0x11 * i);
    } else {
#pragma unroll
        for (int k = 0; k < N / 4; ++k) {
            const u32 pairs = i < 2 ? 0x5140 : 0x7362;
            const u32 ab = __byte_perm(from[4 * k].w[0], from[4 * k + 1].w[0], pairs);
            const u32 cd = __byte_perm(from[4 * k + 2].w[0], from[4 * k + 3].w[0], pairs);
            unit.w[k] = __byte_perm(ab, cd, i % 2 ? 0x7632 : 0x5410);
        }
    }
    return unit;
}

// To shared memory, by stores of the width that the padding of runs allows.
template <int BYTES>
__device__ void keep(u8* to, Piece<BYTES> piece) {
    if constexpr (BYTES <= Box::SHARED_UNIT) {
        store(to, piece);
    } else {
        constexpr int WORDS = Box::SHARED_UNIT / 4;
#pragma unroll
        for (int k = 0; k < BYTES / Box::SHARED_UNIT; ++k) {
            Piece<Box::SHARED_UNIT> part;
#pragma unroll
            for (int j = 0; j < WORDS; ++j) part.w[j] = piece.w[k * WORDS + j];
            store(to + k * Box::SHARED_UNIT, part);
        }
    }
}

// Whole units of x, each at its own alignment, to shared memory.
__device__ void read_units(const u8* x, u8* box, const int (&limit)[AXES], const Arguments& a) {
    using Phase = Box::Read;
    constexpr int W = Phase::UNIT * E;
    if (Phase::THREADS < Box::THREADS && threadIdx.x >= Phase::THREADS) return;
    const Place place = thread_place<Phase>();
#pragma unroll
    for (int axis = 0; axis < AXES; ++axis) x += place.at[axis] * x_stride(a, axis);
    constexpr int BATCH = Phase::BATCH;
#pragma unroll
    for (int first = 0; first < Phase::STEPS; first += BATCH) {
        Piece<W> read[BATCH];
#pragma unroll
        for (int i = 0; i < BATCH; ++i) {
            const int s = first + i;
            read[i] = {};
            if (s < Phase::STEPS && inside<Phase>(place, limit, s)) read[i] = fetch<W>(x + x_hop<Phase>(a, s));
        }
#pragma unroll
        for (int i = 0; i < BATCH; ++i) {
            const int s = first + i;
            if (s < Phase::STEPS) keep(box + shared_place(step_place<Phase>(s, place)), read[i]);
        }
    }
}

// Runs of x that begin at any element, by aligned units: shared memory holds them as x does, modulo what a store takes.
__device__ void read_runs(const u8* x, const u8* x_begin, u8* box, const int (&limit)[AXES], const Arguments& a) {
    using Phase = Box::Read;
    if (Phase::THREADS < Box::THREADS && threadIdx.x >= Phase::THREADS) return;
    constexpr int WHOLE = (Box::ReadRun::LENGTH - 1) * Box::ReadRun::STEP + E;
    const Place place = thread_place<Phase>();
    const int bytes = run_bytes<Box::ReadRun>(limit);
#pragma unroll
    for (int axis = 0; axis < AXES; ++axis) x += place.at[axis] * x_stride(a, axis);
    // Units that x holds altogether.
    const u64 first = __cvta_generic_to_global(x_begin) + a.x_first;
    const u64 count = a.x_end - a.x_first < 16 ? 0 : a.x_end - a.x_first - 15;
    constexpr int BATCH = Phase::BATCH;
#pragma unroll
    for (int begin = 0; begin < Phase::STEPS; begin += BATCH) {
        Piece<16> read[BATCH];
#pragma unroll
        for (int i = 0; i < BATCH; ++i) {
            const int s = begin + i;
            read[i] = {};  // beyond the array, so that the box is whole
            if (s >= Phase::STEPS) continue;
            const u8* const run = x + x_hop<Phase>(a, s);
            const int shift = u32(__cvta_generic_to_global(run)) % 16, k = place.at[AXES] + step_along<Phase>(s, AXES);
            const u8* const unit = run - shift + 16 * k;
            if (run_inside<Phase, Box::ReadRun>(place, limit, s) && 16 * k < shift + bytes &&
                __cvta_generic_to_global(unit) - first < count)
                read[i] = fetch<16>(unit);
        }
#pragma unroll
        for (int i = 0; i < BATCH; ++i) {
            const int s = begin + i;
            if (s >= Phase::STEPS) continue;
            const u8* const run = x + x_hop<Phase>(a, s);
            const int shift = u32(__cvta_generic_to_global(run)) % 16, k = place.at[AXES] + step_along<Phase>(s, AXES);
            if (!in_box<Phase>(place, s) || 16 * k >= shift + WHOLE) continue;
            u8* const at = box + shared_place(step_place<Phase>(s, place)) - shift + 16 * k;
            keep(at, read[i]);
            if (run_inside<Phase, Box::ReadRun>(place, limit, s) && 16 * k < shift + bytes &&
                __cvta_generic_to_global(run - shift + 16 * k) - first >= count) {
                const int end = min(16, shift + bytes - 16 * k);
#pragma unroll 1
                for (int j = k ? 0 : shift; j < end; ++j) store(at + j, fetch<1>(run - shift + 16 * k + j));
            }
        }
    }
}

// Where a unit's elements come from: the box in shared memory, or x itself.
struct FromShared {
    const u8* box;
    __device__ const u8* at(const Place& place) const { return box + shared_place(place); }
    __device__ i64 pitch() const { return Box::Pitch::at(0); }
    __device__ i64 hop(int s) const { return shared_place(step_place<Box::Write>(s, Place{})); }
    template <int W> static __device__ Piece<W> load(const u8* p) { return ::load<W>(p); }
};
struct FromGlobal {
    const u8* x;
    const Arguments& a;
    __device__ const u8* at(const Place& place) const {
        const u8* p = x;
#pragma unroll
        for (int axis = 0; axis < AXES; ++axis) p += place.at[axis] * x_stride(a, axis);
        return p;
    }
    __device__ i64 pitch() const { return x_stride(a, 0); }
    __device__ i64 hop(int s) const { return x_hop<Box::Write>(a, s); }
    template <int W> static __device__ Piece<W> load(const u8* p) { return fetch<W>(p); }
};

// Units of y, gathered, each given to `emit`.
template <class From, class Emit>
__device__ void gather_units(const From& source, const int (&limit)[AXES], const Place& place, const Emit& emit) {
    using Phase = Box::Write;
    using Unit = Piece<Phase::UNIT * E>;
    constexpr int N = Phase::UNIT, PACK = Box::PACK, W = PACK * E;
    const u8* from[N];
    if constexpr (Phase::STRAIGHT) {
        from[0] = source.at(place);
#pragma unroll
        for (int v = 1; v < N; ++v) from[v] = from[0] + v * source.pitch();
    } else {
        Place next = place;
#pragma unroll
        for (int v = 0; v < N; ++v) {
            from[v] = source.at(next);
            bool carry = true;
#pragma unroll
            for (int axis = 0; axis < Phase::SPAN; ++axis) {
                next.at[axis] += carry;
                carry = carry && next.at[axis] == Box::Chunk::at(axis);
                if (carry) next.at[axis] = 0;
            }
        }
    }
#pragma unroll
    for (int s = 0; s < Phase::STEPS; ++s) {
        if (!inside<Phase>(place, limit, s, PACK > 1 && !Box::DIRECT ? Box::PACKED : -1)) continue;
        Piece<W> element[N];
#pragma unroll
        for (int v = 0; v < N; ++v) element[v] = From::template load<W>(from[v] + source.hop(s));
#pragma unroll
        for (int i = 0; i < PACK; ++i) {
            if (PACK > 1 && Box::Edge::at(Box::PACKED) &&
                place.at[Box::PACKED] + step_along<Phase>(s, Box::PACKED) + i >= limit[Box::PACKED]) break;
            const Unit unit = gathered<N, PACK>(element, i);
            emit(s, i, unit);
        }
    }
}

// Words of runs of y: in every step the elements that `from` leads to. WHOLE: all of a word's are the run's; otherwise
// those from `begin` to `end` are.
template <bool WHOLE, int N>
__device__ void write_words(u8* y, const u8* const (&from)[N], int begin, int end, const Place& place,
                            const int (&limit)[AXES], const Arguments& a) {
    using Phase = Box::Write;
#pragma unroll
    for (int s = 0; s < Phase::STEPS; ++s) {
        if (!run_inside<Phase, Box::WriteRun>(place, limit, s)) continue;
        const int hop = shared_place(step_place<Phase>(s, Place{}));
        u8* const to = y + y_hop<Phase>(a, s);
        if constexpr (WHOLE) {
            Piece<E> element[N];
#pragma unroll
            for (int v = 0; v < N; ++v) element[v] = load<E>(from[v] + hop);
            store(to, gathered<N, 1>(element, 0));
        } else {
#pragma unroll
            for (int v = 0; v < N; ++v)
                if (v >= begin && v < end) store(to + v * E, load<E>(from[v] + hop));
        }
    }
}

// Runs of y that begin at any element, by aligned words: those that begin in the box, as it has a halo. Each thread keeps
// where the elements of its word lie, as it only goes on to runs that begin alike.
__device__ void write_runs(u8* y, const u8* box, const int (&limit)[AXES], bool begins, const Arguments& a) {
    using Phase = Box::Write;
    constexpr int N = Phase::UNIT;
    const Place place = thread_place<Phase>();
#pragma unroll
    for (int axis = 0; axis < AXES; ++axis)
        if (!Box::YRun::at(axis)) y += place.at[axis] * a.y_stride[axis];
    const int shift = u32(__cvta_generic_to_global(y)) % 4 / E, first = N * place.at[AXES] - shift;
    const int length = run_bytes<Box::WriteRun>(limit) / E, begin = max(-first, 0), end = min(length - first, N);
    if (begin >= end || first >= Box::WriteRun::OWN || (first < 0 && !begins)) return;
    y += first * E;
    const u8* from[N];
#pragma unroll
    for (int v = 0; v < N; ++v) {
        int of_run = min(max(first + v, 0), Box::WriteRun::LENGTH - 1);
        Place element = place;
#pragma unroll
        for (int axis = 0; axis < Phase::SPAN; ++axis) {
            const int rest = axis + 1 < Phase::SPAN ? of_run / Box::Chunk::at(axis) : 0;
            element.at[axis] = of_run - rest * Box::Chunk::at(axis);
            of_run = rest;
        }
        from[v] = box + shared_place(element);
    }
    if (end - begin == N) {
        write_words<true>(y, from, begin, end, place, limit, a);
    } else {
        write_words<false>(y, from, begin, end, place, limit, a);
    }
}

extern "C" __global__ void __launch_bounds__(Box::THREADS)
    permute(const u8* x, u8* y, const __grid_constant__ Arguments a) {
    extern __shared__ __align__(16) u8 box[];
    const u8* const x_begin = x;
    int limit[AXES];
#pragma unroll
    for (int axis = 0; axis < AXES; ++axis) limit[axis] = Box::Chunk::at(axis);
    bool begins = true;  // runs of y do not continue those of another box
    u32 n = blockIdx.x;
#pragma unroll
    for (int d = 0; d < Box::Numbered::SIZE; ++d) {
        const BlockAxis& axis = a.axis[d];
        const u32 rest = d + 1 < Box::Numbered::SIZE ? (__umulhi(n, axis.magic) + n) >> axis.shift : 0;
        const u32 number = n - rest * axis.blocks;
        n = rest;
        x += number * axis.x_step;
        y += number * axis.y_step;
        if (Box::Numbered::at(d) == Box::WriteRun::LAST) begins = number == 0;
#pragma unroll
        for (int of = 0; of < AXES; ++of) {
            if (Box::Edge::at(of) && Box::Numbered::at(d) == of)
                limit[of] = int(min(i64(Box::Chunk::at(of)), axis.extent - i64(number) * Box::Hop::at(of)));
        }
    }

    using Phase = Box::Write;
    using Unit = Piece<Phase::UNIT * E>;
    const bool gathers = Phase::THREADS == Box::THREADS || threadIdx.x < Phase::THREADS;
    const Place place = thread_place<Phase>();
    // Where x is mirrored, the box's first element lies as far into a unit as in x.
    u8* const source = box + (Box::READ_RUNS ? u32(__cvta_generic_to_global(x)) % 16 : 0);
    if constexpr (!Box::DIRECT) {
        if constexpr (Box::READ_RUNS) {
            read_runs(x, x_begin, source, limit, a);
        } else {
            read_units(x, box, limit, a);
        }
        __syncthreads();
    }
    if constexpr (Box::WRITE_RUNS) {
        if (gathers) write_runs(y, source, limit, begins, a);
    } else if (gathers) {
#pragma unroll
        for (int axis = 0; axis < AXES; ++axis) y += place.at[axis] * y_stride(a, axis);
        const auto emit = [&](int s, int i, Unit unit) {
            store(y + y_hop<Phase>(a, s) + i * y_stride(a, Box::PACKED), unit);
        };
        if constexpr (Box::DIRECT) {
            gather_units(FromGlobal{x, a}, limit, place, emit);
        } else {
            gather_units(FromShared{source}, limit, place, emit);
        }
    }
}
