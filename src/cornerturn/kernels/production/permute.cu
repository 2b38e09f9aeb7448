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

// A coordinate in the box, of each axis.
struct Place {
    int at[AXES];
};

// Where a thread of a phase begins: its unit's first element. RUN_UNITS: runs do not divide into units, so that each run's
// last unit goes beyond it.
template <class Phase>
__device__ Place thread_place() {
    Place place = {};
    int e = threadIdx.x * Phase::UNIT;
    if constexpr (Phase::RUN_UNITS != 0) {
        e = threadIdx.x / Phase::RUN_UNITS;
        int of_run = (threadIdx.x - e * Phase::RUN_UNITS) * Phase::UNIT;
#pragma unroll
        for (int axis = 0; axis < Phase::SPAN; ++axis) {
            const int rest = of_run / Box::Chunk::at(axis);
            place.at[axis] = of_run - rest * Box::Chunk::at(axis);
            of_run = rest;
        }
    }
#pragma unroll
    for (int d = 0; d < Phase::ThreadAxis::SIZE; ++d) {
        const int rest = e / Phase::ThreadExtent::at(d);
        place.at[Phase::ThreadAxis::at(d)] = (e - rest * Phase::ThreadExtent::at(d)) * Phase::ThreadStride::at(d);
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
// Where an element of the box lies in shared memory: SKEW moves each further unit of y along by that many bytes, so that
// threads that gather neighbouring units meet different banks.
__device__ constexpr int shared_place(const Place& place) {
    int at = Box::SKEW ? place.at[0] / Box::Write::UNIT * Box::SKEW : 0;
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
template <class Phase>
__device__ bool inside(const Place& place, const int (&limit)[AXES], int s, int skip = -1) {
    bool is = true;
#pragma unroll
    for (int axis = 0; axis < AXES; ++axis)
        if (Box::Edge::at(axis) && axis != skip) is = is && place.at[axis] + step_along<Phase>(s, axis) < limit[axis];
    return is;
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

// The coordinates of the first element of run r: runs are numbered along Axis, fastest first.
template <class Runs>
__device__ Place run_place(int r) {
    Place place = {};
#pragma unroll
    for (int d = 0; d < Runs::Axis::SIZE; ++d) {
        const int axis = Runs::Axis::at(d), rest = r / Box::Chunk::at(axis);
        place.at[axis] = r - rest * Box::Chunk::at(axis);
        r = rest;
    }
    return place;
}

// How many elements of a run are within the array: only its last axis may end early.
template <class Runs>
__device__ int run_length(const int (&limit)[AXES]) {
    return Box::Edge::at(Runs::LAST) ? limit[Runs::LAST] * (Runs::LENGTH / Box::Chunk::at(Runs::LAST)) : Runs::LENGTH;
}
template <class Runs>
__device__ bool run_inside(const Place& place, const int (&limit)[AXES]) {
    bool is = true;
#pragma unroll
    for (int axis = 0; axis < AXES; ++axis)
        if (Box::Edge::at(axis) && axis != Runs::LAST) is = is && place.at[axis] < limit[axis];
    return is;
}

// The 16 bytes that begin `bytes` (0 to 15) into low:high.
__device__ Piece<16> shifted(Piece<16> low, Piece<16> high, u32 bytes) {
    u32 w[8] = {low.w[0], low.w[1], low.w[2], low.w[3], high.w[0], high.w[1], high.w[2], high.w[3]};
#pragma unroll
    for (int i = 0; i < 6; ++i) w[i] = bytes & 8 ? w[i + 2] : w[i];
#pragma unroll
    for (int i = 0; i < 5; ++i) w[i] = bytes & 4 ? w[i + 1] : w[i];
    Piece<16> unit;
#pragma unroll
    for (int i = 0; i < 4; ++i) unit.w[i] = __funnelshift_r(w[i], w[i + 1], 8 * bytes);
    return unit;
}

// Runs of x that begin at any element, to shared memory, where they begin on units: two aligned units make one.
__device__ void read_runs(const u8* x, const u8* x_begin, u8* box, const int (&limit)[AXES], const Arguments& a) {
    using Runs = Box::ReadRuns;
    constexpr int UNITS = (Runs::LENGTH * E + 15) / 16, LANES = Runs::LANES, GROUPS = Box::THREADS / LANES;
    constexpr int ROUNDS = (Runs::COUNT + GROUPS - 1) / GROUPS, TURNS = (UNITS + LANES - 1) / LANES;
    constexpr int BATCH = TURNS < 4 ? TURNS : 4;
    const int lane = threadIdx.x % LANES, group = threadIdx.x / LANES;
    const int length = run_length<Runs>(limit) * E;
    const u8 *const lowest = x_begin + a.x_first, *const end = x_begin + a.x_end;
#pragma unroll(TURNS == 1 && ROUNDS <= 8 ? ROUNDS : 1)
    for (int round = 0; round < ROUNDS; ++round) {
        const int r = group + round * GROUPS;
        if (ROUNDS * GROUPS != Runs::COUNT && r >= Runs::COUNT) break;
        const Place place = run_place<Runs>(r);
        const int bytes = run_inside<Runs>(place, limit) ? length : 0;
        const u8* run = x;
#pragma unroll
        for (int axis = 0; axis < AXES; ++axis) run += place.at[axis] * x_stride(a, axis);
        u8* const to = box + shared_place(place);
        const u32 shift = u32(__cvta_generic_to_global(run)) % 16;
        const u8* const aligned = run - shift;
        const bool owned = aligned >= lowest && aligned + (bytes + 31) / 16 * 16 <= end;  // all units are x's own
#pragma unroll
        for (int first = 0; first < TURNS; first += BATCH) {
            Piece<16> low[BATCH], high[BATCH];
#pragma unroll
            for (int i = 0; i < BATCH; ++i) {
                const int k = lane + (first + i) * LANES;
                low[i] = high[i] = {};  // beyond the array, so that the box is whole
                if (first + i >= TURNS || 16 * k >= bytes) continue;
                if (owned) {
                    low[i] = fetch<16>(aligned + 16 * k);
                    high[i] = fetch<16>(aligned + 16 * k + 16);
                }
            }
#pragma unroll
            for (int i = 0; i < BATCH; ++i) {
                const int k = lane + (first + i) * LANES;
                if (first + i >= TURNS || (UNITS % LANES != 0 && k >= UNITS)) continue;
                Piece<16> unit = shifted(low[i], high[i], shift);
                if (!owned && 16 * k < bytes) {
#pragma unroll
                    for (int j = 0; j < 16; ++j) {
                        if (j % 4 == 0) unit.w[j / 4] = 0;
                        if (16 * k + j < bytes) unit.w[j / 4] |= u32(fetch<1>(run + 16 * k + j).w[0]) << (8 * (j % 4));
                    }
                }
                keep(to + 16 * k, unit);
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
        // Runs that are written later are gathered whole: what is beyond the array holds zeros.
        if (!Box::WRITE_RUNS && !inside<Phase>(place, limit, s, PACK > 1 && !Box::DIRECT ? Box::PACKED : -1)) continue;
        Piece<W> element[N];
#pragma unroll
        for (int v = 0; v < N; ++v) element[v] = From::template load<W>(from[v] + source.hop(s));
#pragma unroll
        for (int i = 0; i < PACK; ++i) {
            if (PACK > 1 && !Box::WRITE_RUNS && Box::Edge::at(Box::PACKED) &&
                place.at[Box::PACKED] + step_along<Phase>(s, Box::PACKED) + i >= limit[Box::PACKED]) break;
            const Unit unit = gathered<N, PACK>(element, i);
            emit(s, i, unit);
        }
    }
}

// Runs of y from shared memory, where they begin on units, to wherever they begin: the aligned units of y that are all a
// run's own, of two units of shared memory each; and the elements before and after them.
__device__ void write_runs(u8* y, const u8* runs, const int (&limit)[AXES], const Arguments& a) {
    using Runs = Box::WriteRuns;
    constexpr int LANES = Runs::LANES, GROUPS = Box::THREADS / LANES, SIDE = 16 / E;
    constexpr int ROUNDS = (Runs::COUNT + GROUPS - 1) / GROUPS, TURNS = (Runs::LENGTH * E / 16 + LANES - 1) / LANES;
    const int lane = threadIdx.x % LANES, group = threadIdx.x / LANES;
    const int bytes = run_length<Runs>(limit) * E;
#pragma unroll(TURNS <= 1 && ROUNDS <= 4 ? ROUNDS : 1)
    for (int round = 0; round < ROUNDS; ++round) {
        const int r = group + round * GROUPS;
        if (ROUNDS * GROUPS != Runs::COUNT && r >= Runs::COUNT) break;
        const Place place = run_place<Runs>(r);
        if (!run_inside<Runs>(place, limit)) continue;
        u8* run = y;
#pragma unroll
        for (int axis = 0; axis < AXES; ++axis) run += place.at[axis] * y_stride(a, axis);
        const u8* const from = runs + r * Runs::PITCH;
        const int shift = -u32(__cvta_generic_to_global(run)) % 16;  // bytes of the run before its first aligned unit
#pragma unroll
        for (int turn = 0; turn < TURNS; ++turn) {
            const int k = lane + turn * LANES, at = shift + 16 * k;
            if (at + 16 > bytes) continue;
            store(run + at, shifted(load<16>(from + 16 * k), load<16>(from + 16 * (k + (shift != 0))), shift));
        }
        const int before = min(shift, bytes), after = before + (bytes - before) / 16 * 16;
#pragma unroll
        for (int i = lane; i < 2 * SIDE; i += LANES) {
            const int at = i < SIDE ? i * E : after + (i - SIDE) * E;
            if (at < (i < SIDE ? before : bytes)) store(run + at, load<E>(from + at));
        }
    }
}

extern "C" __global__ void __launch_bounds__(Box::THREADS)
    permute(const u8* x, u8* y, const __grid_constant__ Arguments a) {
    extern __shared__ __align__(16) u8 box[];
    const u8* const x_begin = x;
    int limit[AXES];
#pragma unroll
    for (int axis = 0; axis < AXES; ++axis) limit[axis] = Box::Chunk::at(axis);
    u32 n = blockIdx.x;
#pragma unroll
    for (int d = 0; d < Box::Numbered::SIZE; ++d) {
        const BlockAxis& axis = a.axis[d];
        const u32 rest = d + 1 < Box::Numbered::SIZE ? (__umulhi(n, axis.magic) + n) >> axis.shift : 0;
        const u32 number = n - rest * axis.blocks;
        n = rest;
        x += number * axis.x_step;
        y += number * axis.y_step;
#pragma unroll
        for (int of = 0; of < AXES; ++of) {
            if (Box::Edge::at(of) && Box::Numbered::at(d) == of)
                limit[of] = int(min(i64(Box::Chunk::at(of)), axis.extent - i64(number) * Box::Chunk::at(of)));
        }
    }

    using Phase = Box::Write;
    using Unit = Piece<Phase::UNIT * E>;
    const bool gathers = Phase::THREADS == Box::THREADS || threadIdx.x < Phase::THREADS;
    const Place place = thread_place<Phase>();
    if constexpr (!Box::DIRECT) {
        if constexpr (Box::READ_RUNS) {
            read_runs(x, x_begin, box, limit, a);
        } else {
            read_units(x, box, limit, a);
        }
        if constexpr (Box::WRITE_RUNS && Phase::RUN_UNITS == 0 && Box::WriteRuns::LENGTH * E % 16 != 0) {
            // A run's last unit is read whole.
            for (int r = threadIdx.x; r < Box::WriteRuns::COUNT; r += Box::THREADS)
                store(box + Box::BOX_BYTES + r * Box::WriteRuns::PITCH + Box::WriteRuns::LENGTH * E / 16 * 16, Piece<16>{});
        }
        __syncthreads();
    }
    if constexpr (Box::WRITE_RUNS) {
        u8* const runs = box + Box::BOX_BYTES;
        if (gathers) {
            u8* to = runs;
#pragma unroll
            for (int axis = 0; axis < AXES; ++axis) to += place.at[axis] * Box::RunPitch::at(axis);
            gather_units(FromShared{box}, limit, place, [&](int s, int i, Unit unit) {
                int hop = i * Box::RunPitch::at(Box::PACKED);
#pragma unroll
                for (int axis = 0; axis < AXES; ++axis) hop += step_along<Phase>(s, axis) * Box::RunPitch::at(axis);
                store(to + hop, unit);
            });
        }
        __syncthreads();
        write_runs(y, runs, limit, a);
    } else if (gathers) {
#pragma unroll
        for (int axis = 0; axis < AXES; ++axis) y += place.at[axis] * y_stride(a, axis);
        const auto emit = [&](int s, int i, Unit unit) {
            store(y + y_hop<Phase>(a, s) + i * y_stride(a, Box::PACKED), unit);
        };
        if constexpr (Box::DIRECT) {
            gather_units(FromGlobal{x, a}, limit, place, emit);
        } else {
            gather_units(FromShared{box}, limit, place, emit);
        }
    }
}
