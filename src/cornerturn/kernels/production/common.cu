// What the production kernels have in common, which transpose() and permute_dims() launch; each lies in a file of its own.
// Elements are opaque; E is their size in bytes.
//
// A matrix of `rows` x `cols` lies in x with its columns contiguous and goes to y with its rows contiguous. Both may
// be one of many: the axes outside of it, and the tiles themselves, are numbered along gridDim.x, fastest first.
// V = 16 / E elements make one 16-byte unit, the access of a thread at both global ends wherever rows allow it.

using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;
using i64 = long long;

constexpr int WARP = 32;
constexpr int UNIT = 16;    // bytes
constexpr int SECTOR = 32;  // bytes

// One axis outside of the tile. `magic` and `shift` divide by `extent` without a division, for numbers below 2^31
// (T. Granlund, P. Montgomery, Division by Invariant Integers using Multiplication, 1994, figure 4.1).
struct Axis {
    u32 extent, magic, shift, unused;
    i64 stride_in, stride_out;  // bytes

    __device__ u32 divide(u32 n) const { return (__umulhi(n, magic) + n) >> shift; }
};

// Room for N of them: parameters are copied at every launch.
template <int N>
struct Axes {
    u32 count, unused[3];
    Axis axis[N];
};

// Split n into a coordinate along `axis`, returned, and the number of all further axes, left in n.
__device__ u32 next_coordinate(u32& n, const Axis& axis) {
    const u32 quotient = axis.divide(n), coordinate = n - quotient * axis.extent;
    n = quotient;
    return coordinate;
}

// Move x and y to where block n of the axes [first, last) begins; n becomes its number along the axes after them.
template <int N>
__device__ void enter(const Axes<N>& axes, u32 first, u32 last, u32& n, const u8*& x, u8*& y) {
    for (u32 a = first; a < last; ++a) {
        const u32 coordinate = next_coordinate(n, axes.axis[a]);
        x += coordinate * axes.axis[a].stride_in;
        y += coordinate * axes.axis[a].stride_out;
    }
}

template <int N>
struct alignas(N >= 4 ? 16 : 4 * N) Words {
    u32 w[N];
};
using Unit = Words<4>;

template <int E> struct Opaque;
template <> struct Opaque<1> { using type = u8; };
template <> struct Opaque<2> { using type = u16; };
template <> struct Opaque<4> { using type = u32; };
template <> struct Opaque<8> { using type = Words<2>; };
template <> struct Opaque<16> { using type = Unit; };
template <int E> using Element = typename Opaque<E>::type;

template <class T> __device__ T load(const void* p) { return *static_cast<const T*>(p); }
template <class T> __device__ void store(void* p, T value) { *static_cast<T*>(p) = value; }

// The accesses of x and y, apart from those of shared memory.
template <class T> __device__ T fetch(const u8* p) { return *reinterpret_cast<const T*>(p); }
template <class T> __device__ void emit(u8* p, T value) { *reinterpret_cast<T*>(p) = value; }

// How units of x are read. KEPT: lines of x stay in L2 when others must go ("evict last"): then lines of y go first,
// and DRAM gets long runs of writes. WIDE: that, and L2 fetches the 256 bytes around a unit: the neighbouring tiles'
// blocks want them.
constexpr int PLAIN = 0, KEPT = 1, WIDE = 2;

#if __CUDA_ARCH__ >= 800
__device__ u64 evict_last() {
    u64 policy;
    asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
    return policy;
}
#endif

// The unit at a global address. Volatile, so that a thread's reads stay together: left alone, the compiler waits for
// some before it starts the others, to save registers.
template <int READ, int OFFSET = 0>
__device__ Unit fetch_unit(u64 address) {
    Unit u;
#if __CUDA_ARCH__ >= 800
    if constexpr (READ != PLAIN) {
        const u64 keep = evict_last();
        if constexpr (READ == WIDE) {
            asm volatile("ld.global.L2::cache_hint.L2::256B.v4.u32 {%0, %1, %2, %3}, [%4 + %5], %6;"
                         : "=r"(u.w[0]), "=r"(u.w[1]), "=r"(u.w[2]), "=r"(u.w[3])
                         : "l"(address), "n"(OFFSET), "l"(keep));
        } else {
            asm volatile("ld.global.L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4 + %5], %6;"
                         : "=r"(u.w[0]), "=r"(u.w[1]), "=r"(u.w[2]), "=r"(u.w[3])
                         : "l"(address), "n"(OFFSET), "l"(keep));
        }
        return u;
    }
#endif
    asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4 + %5];"
                 : "=r"(u.w[0]), "=r"(u.w[1]), "=r"(u.w[2]), "=r"(u.w[3]) : "l"(address), "n"(OFFSET));
    return u;
}

// The 16 bytes that begin `bytes` (a multiple of E below 16) into the 32 bytes low:high.
template <int E>
__device__ Unit funnel(Unit low, Unit high, u32 bytes) {
    u32 w[8] = {low.w[0], low.w[1], low.w[2], low.w[3], high.w[0], high.w[1], high.w[2], high.w[3]};
    if constexpr (E <= 8) {
#pragma unroll
        for (int i = 0; i < 6; ++i) w[i] = bytes & 8 ? w[i + 2] : w[i];
    }
    if constexpr (E <= 4) {
#pragma unroll
        for (int i = 0; i < 5; ++i) w[i] = bytes & 4 ? w[i + 1] : w[i];
    }
    if constexpr (E <= 2) {
#pragma unroll
        for (int i = 0; i < 4; ++i) w[i] = __funnelshift_r(w[i], w[i + 1], 8 * bytes);
    }
    return {w[0], w[1], w[2], w[3]};
}

// V elements at each of P rows, by aligned 16-byte reads that begin up to 15 bytes before them and end up to 16 after.
template <int E, int P, int READ>
__device__ void load_shifted(const u8* p, i64 pitch, Unit (&read)[P]) {
    u64 address = __cvta_generic_to_global(p);
    u32 shift[P];
    Unit low[P], high[P];
#pragma unroll
    for (int i = 0; i < P; ++i) {
        shift[i] = u32(address) % UNIT;
        const u64 first = address & ~u64(UNIT - 1);
        low[i] = fetch_unit<READ>(first);
        high[i] = fetch_unit<READ, UNIT>(first);
        address += pitch;
    }
#pragma unroll
    for (int i = 0; i < P; ++i) read[i] = funnel<E>(low[i], high[i], shift[i]);
}

// Set element k of a unit that holds zeros there.
template <int E>
__device__ void put(Unit& unit, int k, Element<E> element) {
    if constexpr (E == UNIT) {
        unit = element;
    } else if constexpr (E == 8) {
        unit.w[2 * k] = element.w[0], unit.w[2 * k + 1] = element.w[1];
    } else {
        unit.w[k * E / 4] |= u32(element) << (8 * (k * E % 4));
    }
}

// Elements [first, last) of the 16 bytes at p, which begin on an element; zeros in place of the others.
template <int E>
__device__ Unit fetch_part(const u8* p, int first, int last) {
    Unit unit = {};
#pragma unroll
    for (int k = 0; k < UNIT / E; ++k) {
        if (k >= first && k < last) put<E>(unit, k, fetch<Element<E>>(p + k * E));
    }
    return unit;
}

// The same for rows from which that would leave x, element by element: rows [first, last), `wanted` elements of each.
template <int E, int P>
__device__ void load_elements(const u8* p, i64 pitch, int first, int last, int wanted, Unit (&read)[P]) {
#pragma unroll
    for (int i = 0; i < P; ++i) read[i] = fetch_part<E>(p + i * pitch, 0, i < first || i >= last ? 0 : wanted);
}

// Write a window, the 16 bytes of y at p, from bytes that lie in shared memory in units: `unit(i)` is the address of
// unit i, and the window begins `at` bytes after unit 0. Only elements [0, count) of its row are
// the kernel's to write; the window's first is element `first`.
template <int E, class Place, class Index>
__device__ void emit_window(u8* p, const Place& unit, int at, Index first, Index count) {
    constexpr int V = UNIT / E;
    if (first >= 0 && first + V <= count) {
        const Unit low = *unit(at / UNIT);
        emit(p, funnel<E>(low, *unit((at + UNIT - 1) / UNIT), at % UNIT));
    } else if (first + V > 0 && first < count) {
#pragma unroll 1
        for (int k = int(max(-first, Index(0))); k < int(min(count - first, Index(V))); ++k) {
            const int byte = at + k * E;
            emit(p + k * E, load<Element<E>>(reinterpret_cast<const u8*>(unit(byte / UNIT)) + byte % UNIT));
        }
    }
}
