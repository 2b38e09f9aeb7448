// The production family: what transpose() and permute_dims() launch. Elements are opaque; E is their size in bytes.
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

// An element of x; those of 4 bytes and more as above.
template <int E>
__device__ Element<E> fetch_element(const u8* p) {
    if constexpr (E == UNIT) {
        return fetch_unit<KEPT>(__cvta_generic_to_global(p));
    }
#if __CUDA_ARCH__ >= 800
    if constexpr (E == 4 || E == 8) {
        Element<E> element;
        const u64 keep = evict_last();
        if constexpr (E == 4) {
            asm volatile("ld.global.L2::cache_hint.u32 %0, [%1], %2;" : "=r"(element)
                         : "l"(__cvta_generic_to_global(p)), "l"(keep));
        } else {
            asm volatile("ld.global.L2::cache_hint.v2.u32 {%0, %1}, [%2], %3;" : "=r"(element.w[0]), "=r"(element.w[1])
                         : "l"(__cvta_generic_to_global(p)), "l"(keep));
        }
        return element;
    }
#endif
    return fetch<Element<E>>(p);
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

// Threads that share a row of y of `units`: a power of two, so that a turn of all threads takes all of `cols` columns or
// a multiple of `step`.
__device__ constexpr int lanes_for(int units, int threads, int cols, int step) {
    const auto fits = [=](int lanes) { return threads / lanes >= cols || threads / lanes % step == 0; };
    int lanes = 1;
    while (lanes < units && lanes < WARP && threads % (2 * lanes) == 0 && fits(2 * lanes)) lanes *= 2;
    return lanes;
}

// Word `word` of column `column` of a micro-tile: the elements of rows 4 * word / E onwards, one below the other.
// Byte permutes turn sub-word elements; the compiler shares those that two columns have in common.
template <int E, int P>
__device__ u32 column_word(const Unit (&row)[P], int column, int word) {
    if constexpr (E >= 4) {
        constexpr int WORDS = E / 4;
        return row[word / WORDS].w[column * WORDS + word % WORDS];
    } else if constexpr (E == 2) {
        const u32 a = row[2 * word].w[column / 2], b = row[2 * word + 1].w[column / 2];
        return __byte_perm(a, b, column % 2 ? 0x7632 : 0x5410);
    } else {
        const int w = column / 4, r = 4 * word;
        const u32 pairs = column % 4 < 2 ? 0x5140 : 0x7362;
        const u32 ab = __byte_perm(row[r].w[w], row[r + 1].w[w], pairs);
        const u32 cd = __byte_perm(row[r + 2].w[w], row[r + 3].w[w], pairs);
        return __byte_perm(ab, cd, column % 2 ? 0x7632 : 0x5410);
    }
}

// Write a window, the 16 bytes of y at p, from bytes that lie in shared memory in units: `unit(i)` is the address of
// unit i, and the window begins `at` bytes after unit 0; SHIFTED: within a unit. Only elements [0, count) of its row are
// the kernel's to write; the window's first is element `first`.
template <int E, bool SHIFTED, class Place, class Index>
__device__ void emit_window(u8* p, const Place& unit, int at, Index first, Index count) {
    constexpr int V = UNIT / E;
    if (first >= 0 && first + V <= count) {
        const Unit low = *unit(at / UNIT);
        emit(p, SHIFTED ? funnel<E>(low, *unit((at + UNIT - 1) / UNIT), at % UNIT) : low);
    } else if (first + V > 0 && first < count) {
#pragma unroll 1
        for (int k = int(max(-first, Index(0))); k < int(min(count - first, Index(V))); ++k) {
            const int byte = at + k * E;
            emit(p + k * E, load<Element<E>>(reinterpret_cast<const u8*>(unit(byte / UNIT)) + byte % UNIT));
        }
    }
}

// The first `left` elements of a, then the others of b.
template <int E>
__device__ Unit joined(Unit a, Unit b, int left) {
    Unit unit;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const u32 of_b = __funnelshift_lc(0u, ~0u, max(8 * (left * E - 4 * i), 0));
        unit.w[i] = (a.w[i] & ~of_b) | (b.w[i] & of_b);
    }
    return unit;
}

// Fill a tile of R x C elements, which begins at row `row0` and column `col0` of x's matrix, as it is to lie in y.
// A thread reads P rows of one unit, turns them in registers and stores the V columns, P elements each. Every V rows of
// y (R units) are followed by one unit of padding: lanes that store differ in the column's unit, so R + 1 units, odd, lie
// between them, and eight lanes meet eight different groups of four banks.
//
// X_UNITS: rows of x begin on units. Otherwise a thread reads two units and shifts. LEAD: rows may be negative.
template <int E, int R, int C, int P, int THREADS, bool X_UNITS, bool LEAD, int READ>
__device__ void fill_tile(Unit* shared, const u8* x, const u8* x_origin, int row0, int col0, int rows, int cols,
                          i64 pitch_in, i64 x_first, i64 x_end) {
    constexpr int V = UNIT / E, UNIT_COLS = C / V;
    constexpr bool QUADS = UNIT_COLS % 8 == 0 && R / P % 4 == 0;  // a warp reads 128 bytes of 4 rows, or of 4 times P
    constexpr int ROWS_A_TURN = P * THREADS / UNIT_COLS, LOADS = R / ROWS_A_TURN;
    constexpr int STORE_WORDS = P * E / 4;
    static_assert(STORE_WORDS >= 1 && STORE_WORDS <= 4 && R % V == 0 && C % V == 0 && R % P == 0);
    static_assert(THREADS % UNIT_COLS == 0 && R % ROWS_A_TURN == 0);
    static_assert(!QUADS || THREADS % (4 * UNIT_COLS) == 0);
    const int quad = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    constexpr int QUAD_COLS = QUADS ? UNIT_COLS / 8 : 1;
    const int unit_col = QUADS ? quad % QUAD_COLS * 8 + lane % 8 : threadIdx.x % UNIT_COLS;
    const int micro_row = QUADS ? quad / QUAD_COLS * 4 + lane / 8 : threadIdx.x / UNIT_COLS;
    const int row = row0 + micro_row * P, col = col0 + unit_col * V;
    const u8* const p = x + row * pitch_in + i64(col) * E;
    Unit read[LOADS][P];
    if constexpr (X_UNITS) {
        u64 address = __cvta_generic_to_global(p);
#pragma unroll
        for (int turn = 0; turn < LOADS; ++turn) {
#pragma unroll
            for (int i = 0; i < P; ++i) {
                const int r = row + turn * ROWS_A_TURN + i;
                const bool inside = col < cols && r < rows && (!LEAD || r >= 0);
                read[turn][i] = inside ? fetch_unit<READ>(address + (turn * ROWS_A_TURN + i) * pitch_in) : Unit{};
            }
        }
    } else {
        // The units between two that are x's own are x's own: those of a whole tile, or of this thread's rows.
        const auto owned = [&](i64 first, i64 rows_between, int width) {
            const i64 last = first + rows_between * pitch_in;
            return min(first, last) >= x_first + UNIT && max(first, last) + (width + 2 * V) * E <= x_end;
        };
        const i64 at = x - x_origin + row0 * pitch_in + i64(col0) * E;
        const bool whole_tile = owned(at, R - 1, C);
#pragma unroll
        for (int turn = 0; turn < LOADS; ++turn) {
            const int down = turn * ROWS_A_TURN;
            if (whole_tile || owned(p - x_origin + down * pitch_in, P - 1, V)) {
                load_shifted<E, P, READ>(p + down * pitch_in, pitch_in, read[turn]);
            } else {
                const int above = row + down;
                load_elements<E>(p + down * pitch_in, pitch_in, -above, rows - above, cols - col, read[turn]);
            }
        }
    }
    u8* const block = reinterpret_cast<u8*>(shared + unit_col * (R + 1)) + micro_row * P * E;
#pragma unroll
    for (int turn = 0; turn < LOADS; ++turn) {
#pragma unroll
        for (int k = 0; k < V; ++k) {
            Words<STORE_WORDS> column;
#pragma unroll
            for (int i = 0; i < STORE_WORDS; ++i) column.w[i] = column_word<E, P>(read[turn], k, i);
            store(block + (k * R + turn * ROWS_A_TURN) * E, column);
        }
    }
}

// tile: a block moves R x C elements: it fills a tile from x, and writes it by units of y.
//
// HALO (0, 1 or 2 units): not 0 where rows of y do not begin on sectors. The window that a block writes of a row of y
//   then begins up to HALO units before the tile's, on a multiple of HALO units, so that only full units are
//   written; the tile holds HALO units more than it writes. At the ends of a row of y, elements are written one by one.
//   A thread's rows of y are so far apart that all of them miss such a multiple by the same bytes.
// GROUPED: four axes number the tiles: a group's rows, its columns, the rows of groups, the columns of groups. Otherwise
//   two do: the tiles' rows, their columns.
// NEAR: axes outside of the tile that are numbered before those.
// RESIDENT: blocks a multiprocessor should hold. Fewer leave a thread the registers to keep all its reads in flight.
template <int E, int R, int C, int P, int THREADS, bool X_UNITS, int HALO, bool GROUPED, int NEAR, int READ,
          int RESIDENT, int AXES>
__global__ void __launch_bounds__(THREADS, RESIDENT)
    tile(const u8* x, u8* y, int rows, int cols, i64 pitch_in, i64 pitch_out, i64 x_first, i64 x_end,
         const __grid_constant__ Axes<AXES> axes) {
    constexpr int V = UNIT / E;
    constexpr int LEAD = HALO * V;  // rows of x before the tile's own
    constexpr int UNIT_ROWS = R / V;
    extern __shared__ Unit shared[];  // C / V * (R + 1)

    const u8* const x_origin = x;
    u32 n = blockIdx.x;
    enter(axes, 0, NEAR, n, x, y);
    int row0 = next_coordinate(n, axes.axis[NEAR]), col0 = next_coordinate(n, axes.axis[NEAR + 1]);
    if (GROUPED) {
        row0 += next_coordinate(n, axes.axis[NEAR + 2]) * axes.axis[NEAR].extent;
        col0 += next_coordinate(n, axes.axis[NEAR + 3]) * axes.axis[NEAR + 1].extent;
    }
    constexpr int NUMBERED = NEAR + (GROUPED ? 4 : 2);
    if constexpr (AXES > NUMBERED) enter(axes, NUMBERED, axes.count, n, x, y);
    row0 *= R - LEAD;
    col0 *= C;

    fill_tile<E, R, C, P, THREADS, X_UNITS, HALO != 0, READ>(shared, x, x_origin, row0 - LEAD, col0, rows, cols, pitch_in,
                                                             x_first, x_end);
    __syncthreads();

    constexpr int WRITTEN = UNIT_ROWS - HALO;  // units of each row of y
    constexpr int LANES = lanes_for(WRITTEN, THREADS, C, HALO == 0 ? 1 : HALO * V);
    constexpr int COLS_A_TURN = THREADS / LANES;
    static_assert(HALO == 0 || R * E % (HALO * UNIT) == 0);
    static_assert(HALO == 0 || COLS_A_TURN >= C || COLS_A_TURN * E % (HALO * UNIT) == 0);
    const int lane = threadIdx.x % LANES, c0 = threadIdx.x / LANES;
    u8* const begin = y + (col0 + c0) * pitch_out + i64(row0) * E;
    const int before = HALO == 0 ? 0 : u32(__cvta_generic_to_global(begin)) % (HALO == 0 ? 1 : HALO * UNIT);  // bytes
#pragma unroll
    for (int span = 0; span < (WRITTEN + LANES - 1) / LANES; ++span) {
        const int u = lane + span * LANES;
        const int row = row0 - before / E + u * V;
        const int at = LEAD * E - before + u * UNIT;  // the unit's place in its row of the tile, bytes
        if (WRITTEN % LANES != 0 && u >= WRITTEN || row + V <= 0 || row >= rows) continue;
#pragma unroll
        for (int turn = 0; turn < (C + COLS_A_TURN - 1) / COLS_A_TURN; ++turn) {
            const int c = c0 + turn * COLS_A_TURN;
            if (C % COLS_A_TURN != 0 && c >= C) break;
            const Unit* const row_of_y = shared + c * UNIT_ROWS + c / V;
            u8* const p = begin - before + u * UNIT + turn * (COLS_A_TURN * pitch_out);
            if (col0 + c >= cols) break;
            if constexpr (HALO == 0) {
                emit(p, row_of_y[u]);
            } else {
                emit_window<E, true>(p, [=](int i) { return row_of_y + i; }, at, row, rows);
            }
        }
    }
}

// tile_run: the same where the rows of y are short, at most R elements, begin anywhere, and follow one another. A block
//   writes all rows of its tile as one run, by windows that begin on sectors; each holds parts of two rows at most.
//
// axes: a row of y, the tiles' columns, the others.
template <int E, int R, int C, int P, int THREADS, bool X_UNITS, int AXES>
__global__ void __launch_bounds__(THREADS)
    tile_run(const u8* x, u8* y, int cols, i64 pitch_in, i64 x_first, i64 x_end,
             const __grid_constant__ Axes<AXES> axes) {
    constexpr int V = UNIT / E;
    extern __shared__ Unit shared[];  // C / V * (R + 1)

    const u8* const x_origin = x;
    u32 n = blockIdx.x;
    const int rows = axes.axis[0].extent, col0 = next_coordinate(n, axes.axis[1]) * C;
    enter(axes, 2, axes.count, n, x, y);
    fill_tile<E, R, C, P, THREADS, X_UNITS, false, KEPT>(shared, x, x_origin, 0, col0, rows, cols, pitch_in, x_first,
                                                          x_end);
    __syncthreads();

    const auto row_of_y = [&](int c) { return shared + c * (R / V) + c / V; };
    u8* const begin = y + i64(col0) * rows * E;
    const int before = u32(__cvta_generic_to_global(begin)) % SECTOR;
    const int count = min(C, cols - col0) * rows;
    for (int window = threadIdx.x; window * V < count + before / E; window += THREADS) {
        const int first = window * V - before / E;
        u8* const p = begin + i64(first) * E;
        if (first >= 0 && first + V <= count) {
            u32 c = first;
            const int row = next_coordinate(c, axes.axis[0]), left = rows - row;
            const int at = row / V;
            Unit unit = funnel<E>(row_of_y(c)[at], row_of_y(c)[at + (row % V != 0 && at + 1 < R / V)], row % V * E);
            if (left < V) {
                const Unit next = *row_of_y(c + 1);
                unit = joined<E>(unit, funnel<E>(next, next, UNIT - left * E), left);
            }
            emit(p, unit);
        } else {
#pragma unroll 1
            for (int k = max(-first, 0); k < min(V, count - first); ++k) {
                u32 c = first + k;
                const int row = next_coordinate(c, axes.axis[0]);
                emit(p + k * E, load<Element<E>>(reinterpret_cast<const u8*>(row_of_y(c)) + row * E));
            }
        }
    }
}

// rows: element by element, without shared memory. A thread moves ITEMS elements, as wide as the rows allow, and
//   consecutive threads follow the axes. The first `inner` axes number the elements of a slab, the others the slabs.
template <int E, int THREADS, int ITEMS, int AXES>
__global__ void __launch_bounds__(THREADS, 2048 / THREADS)
    rows(const u8* x, u8* y, u32 slab, u32 inner, const __grid_constant__ Axes<AXES> axes) {
    u32 block = blockIdx.x;
    const u32 first = next_coordinate(block, axes.axis[inner]) * (THREADS * ITEMS) + threadIdx.x;
    enter(axes, inner + 1, axes.count, block, x, y);
    const u8* from[ITEMS];
    u8* to[ITEMS];
    Element<E> element[ITEMS];
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) {
        u32 n = first + i * THREADS;
        from[i] = x, to[i] = y;
#pragma unroll 4
        for (u32 a = 0; a < inner; ++a) {
            const u32 coordinate = next_coordinate(n, axes.axis[a]);
            from[i] += coordinate * axes.axis[a].stride_in;
            to[i] += coordinate * axes.axis[a].stride_out;
        }
    }
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) {
        if (first + i * THREADS < slab) element[i] = fetch_element<E>(from[i]);
    }
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) {
        if (first + i * THREADS < slab) emit(to[i], element[i]);
    }
}

// What the coordinates of number n along the axes [first, last) add to an address of x.
template <int AXES>
__device__ i64 offset_in(const Axes<AXES>& axes, u32 first, u32 last, u32 n) {
    i64 offset = 0;
#pragma unroll 1
    for (u32 a = first; a < last; ++a) offset += next_coordinate(n, axes.axis[a]) * axes.axis[a].stride_in;
    return offset;
}

// ragged_rows: the axis that is contiguous in x is so in y too, and its rows begin anywhere. A thread writes a unit of y's
//   line, the longest run of rows that lie one after the other in y. A unit holds parts of two rows at most.
//
// SHIFTED: both parts are read by units, shifted and joined. Otherwise they are read element by element.
// axes: a row's elements, the further axes of a line, [inner] the line's blocks, the axes of lines.
template <int E, int THREADS, bool SHIFTED, int AXES>
__global__ void __launch_bounds__(THREADS)
    ragged_rows(const u8* x, u8* y, int elements, u32 inner, i64 x_first, i64 x_end,
                const __grid_constant__ Axes<AXES> axes) {
    constexpr int V = UNIT / E;
    const u8* const x_origin = x;
    u32 block = blockIdx.x;
    const int window = next_coordinate(block, axes.axis[inner]) * THREADS + threadIdx.x;
    enter(axes, inner + 1, axes.count, block, x, y);
    const int before = u32(__cvta_generic_to_global(y)) % SECTOR;
    const int element = window * V - before / E;  // the window's first
    u8* const p = y + i64(element) * E;
    if (element < 0 || element + V > elements) {
#pragma unroll 1
        for (int k = max(0, -element); k < min(V, elements - element); ++k) {
            u32 n = element + k;
            const u32 column = next_coordinate(n, axes.axis[0]);
            emit(p + k * E, fetch<Element<E>>(x + offset_in(axes, 1, inner, n) + column * E));
        }
        return;
    }
    u32 n = element;
    const u32 column = next_coordinate(n, axes.axis[0]);
    const int left = axes.axis[0].extent - column;  // elements of its row from there on
    const bool straddles = left < V;
    const u32 line_row = n, nearest = inner > 1 ? next_coordinate(n, axes.axis[1]) : 0;
    const i64 stride = inner > 1 ? axes.axis[1].stride_in : 0;
    const i64 row = nearest * stride + offset_in(axes, 2, inner, n);
    i64 next_row = row + stride;
    if (straddles && nearest + 1 == axes.axis[1].extent) next_row = offset_in(axes, 1, inner, line_row + 1);
    // Where the window's first would be in either row.
    const u8 *const here = x + row + column * E, *const there = x + next_row - left * E;
    if constexpr (SHIFTED) {
        // The two units around 16 bytes of x are x's own but for its ends.
        const i64 low_end = x_first + UNIT - (x - x_origin);
        const u64 room = max(x_end - x_first - 3 * UNIT, i64(-1)) + 1;
        const auto is_owned = [=](const u8* q) { return u64(q - x - low_end) < room; };
        if (is_owned(here) && (!straddles || is_owned(there))) {
            const u64 first = __cvta_generic_to_global(here), second = __cvta_generic_to_global(there);
            const u64 unit = first & ~u64(UNIT - 1), next = second & ~u64(UNIT - 1);
            const Unit low = fetch_unit<KEPT>(unit), high = fetch_unit<KEPT, UNIT>(unit);
            const Unit next_low = straddles ? fetch_unit<KEPT>(next) : Unit{};
            const Unit next_high = straddles ? fetch_unit<KEPT, UNIT>(next) : Unit{};
            emit(p, joined<E>(funnel<E>(low, high, u32(first) % UNIT), funnel<E>(next_low, next_high, u32(second) % UNIT),
                              left));
            return;
        }
    }
    Unit unit = {};
#pragma unroll
    for (int k = 0; k < V; ++k) put<E>(unit, k, fetch_element<E>((k < left ? here : there) + k * E));
    emit(p, unit);
}

// Which of the V * K elements that a thread holds becomes its result's element e.
template <int E, int K, bool INTERLEAVE>
__device__ constexpr int source_element(int e) {
    constexpr int V = UNIT / E;
    return INTERLEAVE ? e % K * V + e / K : e % V * K + e / V;
}

// Word `word` of the result.
template <int E, int K, bool INTERLEAVE>
__device__ u32 woven_word(const Unit (&unit)[K], int word) {
    const auto source = [](int e) { return source_element<E, K, INTERLEAVE>(e); };
    const auto word_of = [&](int e) { return unit[e * E / UNIT].w[e * E % UNIT / 4]; };
    if constexpr (E >= 4) {
        constexpr int WORDS = E / 4;
        const int from = source(word / WORDS) * WORDS + word % WORDS;
        return unit[from / 4].w[from % 4];
    } else if constexpr (E == 2) {
        const int a = source(2 * word), b = source(2 * word + 1);
        return __byte_perm(word_of(a), word_of(b), (a % 2 ? 0x32 : 0x10) | (b % 2 ? 0x7600 : 0x5400));
    } else {
        const int a = source(4 * word), b = source(4 * word + 1), c = source(4 * word + 2), d = source(4 * word + 3);
        const u32 ab = __byte_perm(word_of(a), word_of(b), a % 4 | (4 + b % 4) << 4);
        const u32 cd = __byte_perm(word_of(c), word_of(d), c % 4 | (4 + d % 4) << 4);
        return __byte_perm(ab, cd, 0x5410);
    }
}

// Where unit `unit` of records of K units lies in shared memory. Neighbouring threads take neighbouring units on one side
// and units K apart on the other; one unit of padding after every common multiple of K and eight keeps eight threads on
// eight different groups of four banks on both. Odd distances need none.
template <int K>
__device__ constexpr int padded(int unit) {
    constexpr int EVERY = K % 8 == 0 ? K : K % 4 == 0 ? 2 * K : 4 * K;
    return K % 2 != 0 ? unit : unit + unit / EVERY;
}

// weave: one short axis of K elements. Interleaving, K rows of x become records of K in y; else records of x become
//   K rows of y. A thread turns V records in registers. The side of the records is one contiguous run, which the
//   warp passes through shared memory, so that its accesses are contiguous too.
template <int E, int K, int THREADS, bool INTERLEAVE, int AXES>
__global__ void __launch_bounds__(THREADS)
    weave(const u8* x, u8* y, u32 groups, i64 pitch, const __grid_constant__ Axes<AXES> axes) {
    constexpr int HELD = padded<K>(WARP * K);
    __shared__ Unit shared[THREADS / WARP * HELD];

    u32 n = blockIdx.x;
    const u32 group0 = next_coordinate(n, axes.axis[0]) * THREADS + threadIdx.x / WARP * WARP;
    enter(axes, 1, axes.count, n, x, y);
    const u32 lane = threadIdx.x % WARP, group = group0 + lane;
    Unit* const staged = shared + threadIdx.x / WARP * HELD;
    const u32 left = group0 < groups ? (groups - group0) * K : 0;  // units of records from this warp's first on
    Unit read[K], write[K];

    if constexpr (INTERLEAVE) {
#pragma unroll
        for (int k = 0; k < K; ++k) {
            read[k] = group < groups ? fetch_element<UNIT>(x + k * pitch + i64(group) * UNIT) : Unit{};
        }
    } else {
#pragma unroll
        for (int k = 0; k < K; ++k) {
            const u32 unit = lane + k * WARP;
            read[k] = unit < left ? fetch_element<UNIT>(x + (i64(group0) * K + unit) * UNIT) : Unit{};
        }
#pragma unroll
        for (int k = 0; k < K; ++k) staged[padded<K>(lane + k * WARP)] = read[k];
        __syncwarp();
#pragma unroll
        for (int k = 0; k < K; ++k) read[k] = staged[padded<K>(lane * K + k)];
    }
#pragma unroll
    for (int word = 0; word < 4 * K; ++word) {
        write[word / 4].w[word % 4] = woven_word<E, K, INTERLEAVE>(read, word);
    }
    if constexpr (INTERLEAVE) {
#pragma unroll
        for (int k = 0; k < K; ++k) staged[padded<K>(lane * K + k)] = write[k];
        __syncwarp();
#pragma unroll
        for (int k = 0; k < K; ++k) {
            const u32 unit = lane + k * WARP;
            if (unit < left) emit(y + (i64(group0) * K + unit) * UNIT, staged[padded<K>(unit)]);
        }
    } else {
#pragma unroll
        for (int k = 0; k < K; ++k) {
            if (group < groups) emit(y + k * pitch + i64(group) * UNIT, write[k]);
        }
    }
}

// ragged_weave: the same where rows or runs of records begin anywhere, or end within a unit. Reads are shifted as in a
//   ragged tile, and y is written by windows that begin on sectors: a block holds HALO groups of V records before its
//   own, and the whole block exchanges units.
//
// X_UNITS: the rows of x, or its runs of records, begin on units. HALO: 0 where those of y do, else 2.
template <int E, int K, int THREADS, bool INTERLEAVE, bool X_UNITS, int HALO, int AXES>
__global__ void __launch_bounds__(THREADS)
    ragged_weave(const u8* x, u8* y, int records, i64 pitch, i64 x_first, i64 x_end,
                 const __grid_constant__ Axes<AXES> axes) {
    constexpr int V = UNIT / E;
    constexpr int OWN = THREADS - HALO;  // groups that a block writes
    __shared__ Unit staged[padded<K>(THREADS * K) + 1];

    const u8* const x_origin = x;
    u32 n = blockIdx.x;
    const int first = next_coordinate(n, axes.axis[0]) * OWN;
    enter(axes, 1, axes.count, n, x, y);
    const int t = threadIdx.x, group = first - HALO + t;
    const i64 x_at = x - x_origin;
    const auto owned = [&](i64 low, i64 high) { return x_at + low >= x_first && x_at + high <= x_end; };
    Unit read[K], write[K];

    if constexpr (INTERLEAVE) {
        const i64 at = i64(group) * UNIT, last = at + (K - 1) * pitch;
        const int wanted = group < 0 ? 0 : min(V, records - group * V);
        if (!owned(min(at, last) - UNIT, max(at, last) + 2 * UNIT) || wanted <= 0) {
            load_elements<E, K>(x + at, pitch, 0, K, wanted, read);
        } else if constexpr (X_UNITS) {
            const u64 address = __cvta_generic_to_global(x + at);
#pragma unroll
            for (int k = 0; k < K; ++k) read[k] = fetch_unit<KEPT>(address + k * pitch);
        } else {
            load_shifted<E, K, KEPT>(x + at, pitch, read);
        }
    } else {
        const int skew = X_UNITS ? 0 : u32(__cvta_generic_to_global(x)) % UNIT;  // of the run, bytes
        const i64 run = i64(records) * (K * E), begin = i64(first - HALO) * (K * UNIT) - skew;
        const auto fetch_run = [&](int unit) {
            const i64 at = begin + unit * UNIT;
            if (at >= run) return Unit{};
            if (owned(at, at + UNIT)) return fetch_unit<KEPT>(__cvta_generic_to_global(x + at));
            return fetch_part<E>(x + at, int(max(-at, i64(0))) / E, int(min(run - at, i64(UNIT))) / E);
        };
#pragma unroll
        for (int k = 0; k < K; ++k) read[k] = fetch_run(t + k * THREADS);
#pragma unroll
        for (int k = 0; k < K; ++k) staged[padded<K>(t + k * THREADS)] = read[k];
        if (!X_UNITS && t == 0) staged[padded<K>(THREADS * K)] = fetch_run(THREADS * K);
        __syncthreads();
#pragma unroll
        for (int k = 0; k < K; ++k) read[k] = staged[padded<K>(t * K + k)];
        if constexpr (!X_UNITS) {
            const Unit next = staged[padded<K>((t + 1) * K)];
#pragma unroll
            for (int k = 0; k < K; ++k) read[k] = funnel<E>(read[k], k + 1 < K ? read[k + 1] : next, skew);
        }
        __syncthreads();
    }
#pragma unroll
    for (int word = 0; word < 4 * K; ++word) {
        write[word / 4].w[word % 4] = woven_word<E, K, INTERLEAVE>(read, word);
    }
#pragma unroll
    for (int k = 0; k < K; ++k) staged[INTERLEAVE ? padded<K>(t * K + k) : k * THREADS + t] = write[k];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < K; ++k) {
        const int window = INTERLEAVE ? t + k * THREADS : t;
        if (window >= (INTERLEAVE ? OWN * K : OWN)) continue;
        const i64 own = i64(first) * (INTERLEAVE ? K * UNIT : UNIT);  // bytes of the row of y before the block's
        u8* const begin = y + (INTERLEAVE ? 0 : k * pitch) + own;
        const int before = HALO == 0 ? 0 : u32(__cvta_generic_to_global(begin)) % SECTOR;
        const int at = HALO * (INTERLEAVE ? K * UNIT : UNIT) - before + window * UNIT;
        const auto unit = [&](int i) { return staged + (INTERLEAVE ? padded<K>(i) : k * THREADS + i); };
        const i64 element = (own - before) / E + window * V;
        emit_window<E, HALO != 0>(begin - before + window * UNIT, unit, at, element, i64(records) * (INTERLEAVE ? K : 1));
    }
}

// Write a window, the 16 bytes of y at p, element by element from where `source` finds them. Only elements [0, count) of
// its row are the kernel's to write; the window's first is element `first`.
template <int E, class Source>
__device__ void emit_gathered(u8* p, const Source& source, i64 first, i64 count) {
    constexpr int V = UNIT / E;
    if (first >= 0 && first + V <= count) {
        Unit unit = {};
#pragma unroll
        for (int k = 0; k < V; ++k) put<E>(unit, k, source(k));
        emit(p, unit);
    } else {
#pragma unroll 1
        for (int k = int(max(-first, i64(0))); k < int(min(count - first, i64(V))); ++k) emit(p + k * E, source(k));
    }
}

// shuffle: many small blocks of `volume` elements, contiguous in x and in y, each permuted within itself. A thread block
//   takes a run of them: units of x go to shared memory as they are, with one unit of padding after every eight; units of
//   y are gathered from there, by a table of where each element of a block comes from.
//
// axes: a block, its `inner` axes, the thread blocks of a line, the axes of lines. `elements` has a line, `chunk` a
// thread block.
constexpr int SHUFFLE_VOLUME = 1024;

template <int E, int THREADS, int AXES>
__global__ void __launch_bounds__(THREADS)
    shuffle(const u8* x, u8* y, u32 inner, i64 elements, int chunk, i64 x_first, i64 x_end,
            const __grid_constant__ Axes<AXES> axes) {
    constexpr int V = UNIT / E, READS = 4;
    extern __shared__ Unit shared[];
    __shared__ u16 from[SHUFFLE_VOLUME + V];  // bytes; a window reaches into the next block

    const u8* const x_origin = x;
    const int volume = axes.axis[0].extent;
    for (int i = threadIdx.x; i < volume + V; i += THREADS) {
        u32 block = i;
        const u32 within = next_coordinate(block, axes.axis[0]);
        from[i] = block * volume * E + offset_in(axes, 1, inner + 1, within);
    }
    u32 n = blockIdx.x;
    const i64 begin = i64(next_coordinate(n, axes.axis[inner + 1])) * chunk;
    enter(axes, inner + 2, axes.count, n, x, y);
    x += begin * E, y += begin * E;
    const int count = min(i64(chunk), elements - begin);
    const int skew = u32(__cvta_generic_to_global(x)) % UNIT, before = u32(__cvta_generic_to_global(y)) % SECTOR;
    const int units = (skew + count * E + UNIT - 1) / UNIT;
    for (int u0 = threadIdx.x; u0 < units; u0 += THREADS * READS) {
        Unit read[READS];
#pragma unroll
        for (int i = 0; i < READS; ++i) {
            const int unit = u0 + i * THREADS;
            if (unit >= units) break;
            const u8* const p = x - skew + unit * UNIT;
            if (p - x_origin >= x_first && p - x_origin + UNIT <= x_end) {
                read[i] = fetch_unit<KEPT>(__cvta_generic_to_global(p));
            } else {
                read[i] = fetch_part<E>(p, unit == 0 ? skew / E : 0, skew / E + count - unit * V);
            }
        }
#pragma unroll
        for (int i = 0; i < READS; ++i) {
            const int unit = u0 + i * THREADS;
            if (unit < units) shared[unit + unit / 8] = read[i];
        }
    }
    __syncthreads();
    for (int window = threadIdx.x; window * V < count + before / E; window += THREADS) {
        const int first = window * V - before / E;
        u32 block = max(first, 0);
        const u16* const table = from + next_coordinate(block, axes.axis[0]) - max(-first, 0);
        const u32 base = skew + block * volume * E;
        emit_gathered<E>(y + first * E, [&](int k) {
            const u32 byte = base + table[k];
            return load<Element<E>>(reinterpret_cast<const u8*>(shared) + byte + byte / (8 * UNIT) * UNIT);
        }, i64(first), i64(count));
    }
}

// records: a matrix of records of a few elements, which stay in order: x's rows and y's rows hold records. A block takes
//   `tall` x `wide` of them: units of x's rows go to shared memory as they are, and units of y are gathered from there,
//   by a table of where each element of a row of y comes from. As in a ragged tile, windows begin on sectors, and `lead`
//   records precede the tile's own.
//
// axes: a record, the units of a row in shared memory, four windows of a row of y, the tile's rows, its columns, others.
constexpr int RECORDS_TABLE = 1024;

template <int E, int THREADS, int AXES>
__global__ void __launch_bounds__(THREADS)
    records(const u8* x, u8* y, int rows, int cols, int tall, int wide, int lead, i64 pitch_in, i64 pitch_out,
            i64 x_first, i64 x_end, const __grid_constant__ Axes<AXES> axes) {
    constexpr int V = UNIT / E, READS = 4;
    extern __shared__ Unit shared[];
    __shared__ u16 from[RECORDS_TABLE];

    const u8* const x_origin = x;
    const int record = axes.axis[0].extent, units = axes.axis[1].extent;
    const int pitch = units | 1;
    u32 n = blockIdx.x;
    const int row0 = next_coordinate(n, axes.axis[3]) * tall, col0 = next_coordinate(n, axes.axis[4]) * wide;
    enter(axes, 5, axes.count, n, x, y);
    x += (row0 - lead) * pitch_in + i64(col0) * (record * E);
    const int height = min(tall, rows - row0) + lead, width = min(wide, cols - col0);
    const u32 x_skew = __cvta_generic_to_global(x), pitch_skew = pitch_in;  // modulo a unit
    for (int e = threadIdx.x; e < height * record; e += THREADS) {
        u32 row = e;
        const int within = next_coordinate(row, axes.axis[0]);
        from[e] = row * pitch * UNIT + (x_skew + row * pitch_skew) % UNIT + within * E;
    }
    for (int u0 = threadIdx.x; u0 < height * units; u0 += THREADS * READS) {
        Unit read[READS];
#pragma unroll
        for (int i = 0; i < READS; ++i) {
            u32 row = u0 + i * THREADS;
            if (row >= height * units) break;
            const int unit = next_coordinate(row, axes.axis[1]);
            const int skew = (x_skew + row * pitch_skew) % UNIT;
            const u8* const p = x + row * pitch_in - skew + unit * UNIT;
            const bool wanted = row0 - lead + int(row) >= 0 && unit * UNIT < skew + width * record * E;
            if (wanted && p - x_origin >= x_first && p - x_origin + UNIT <= x_end) {
                read[i] = fetch_unit<KEPT>(__cvta_generic_to_global(p));
            } else {
                const int last = wanted ? skew / E + width * record - unit * V : 0;
                read[i] = fetch_part<E>(p, unit == 0 ? skew / E : 0, last);
            }
        }
#pragma unroll
        for (int i = 0; i < READS; ++i) {
            u32 row = u0 + i * THREADS;
            if (row >= height * units) break;
            const int unit = next_coordinate(row, axes.axis[1]);
            shared[row * pitch + unit] = read[i];
        }
    }
    __syncthreads();
    // A warp takes four windows of eight rows of y each: whole sectors, from bytes that lie close together.
    for (int w = threadIdx.x; w < (width + 7) / 8 * 32 * int(axes.axis[2].extent); w += THREADS) {
        u32 eight = w / 32;
        const int window = next_coordinate(eight, axes.axis[2]) * 4 + w % 4, c = eight * 8 + w / 4 % 8;
        if (c >= width) continue;
        u8* const begin = y + (col0 + i64(c)) * pitch_out + i64(row0) * (record * E);
        const int before = u32(__cvta_generic_to_global(begin)) % SECTOR;
        const int first = window * V - before / E;
        const u16* const table = from + lead * record + first;
        emit_gathered<E>(begin + first * E, [&](int k) {
            return load<Element<E>>(reinterpret_cast<const u8*>(shared) + table[k] + c * (record * E));
        }, i64(row0) * record + first, min(i64(rows), i64(row0) + tall) * record);
    }
}

// box: any axes, any strides. A block moves a box that is a contiguous run, or a few axes, in x and in y alike,
//   element by element through shared memory. Element e of a side's order is e = hi * low count + lo; a table for lo
//   and one for hi hold what each adds to the address and to the place in shared memory.
template <int N>
struct Side {
    u32 low, high;       // entries of the two tables
    u32 magic, shift;    // divide by `low`
    u32 low_axes, axes;  // axes of the low table, of both
    u32 axis[N];         // which axes of the box, fastest first
};

struct BoxAxis {
    u32 extent, magic, shift;  // of the box
    u32 place;                 // elements between neighbours in shared memory
    u32 whole;                 // the axis's own extent
    u32 tiles, tiles_magic, tiles_shift;
    i64 stride_in, stride_out;  // bytes
};

template <int N>
struct Box {
    u32 volume, axes, unused[2];
    Side<N> in, out;
    BoxAxis axis[N];
};

struct Entry {
    i64 offset;  // bytes
    int place;   // elements; negative outside of the array
};

__device__ u32 divide(u32 n, u32 magic, u32 shift) { return (__umulhi(n, magic) + n) >> shift; }

template <int TABLE, bool IN, int N>
__device__ void fill(Entry* table, const Box<N>& box, const u32* start) {
    const Side<N>& side = IN ? box.in : box.out;
    for (u32 t = threadIdx.x; t < side.low + side.high; t += blockDim.x) {
        const bool low = t < side.low;
        u32 n = low ? t : t - side.low;
        Entry entry = {0, 0};
        for (u32 a = low ? 0 : side.low_axes; a < (low ? side.low_axes : side.axes); ++a) {
            const u32 which = side.axis[a];
            const BoxAxis& axis = box.axis[which];
            const u32 quotient = divide(n, axis.magic, axis.shift), coordinate = n - quotient * axis.extent;
            n = quotient;
            entry.offset += coordinate * (IN ? axis.stride_in : axis.stride_out);
            entry.place = entry.place < 0 || start[which] + coordinate >= axis.whole
                              ? -1 : entry.place + int(coordinate * axis.place);
        }
        table[low ? t : TABLE + t - side.low] = entry;
    }
}

template <int E, int VOLUME, int TABLE, int THREADS, int AXES>
__global__ void __launch_bounds__(THREADS) box(const u8* x, u8* y, const __grid_constant__ Box<AXES> box) {
    __shared__ Element<E> staged[VOLUME + VOLUME / 32];
    __shared__ Entry in[2 * TABLE], out[2 * TABLE];
    __shared__ u32 start[AXES];

    u32 block = blockIdx.x;
    for (u32 a = 0; a < box.axes; ++a) {
        const BoxAxis& axis = box.axis[a];
        const u32 quotient = divide(block, axis.tiles_magic, axis.tiles_shift);
        const u32 first = (block - quotient * axis.tiles) * axis.extent;
        block = quotient;
        x += first * axis.stride_in;
        y += first * axis.stride_out;
        if (threadIdx.x == 0) start[a] = first;
    }
    __syncthreads();
    fill<TABLE, true>(in, box, start);
    fill<TABLE, false>(out, box, start);
    __syncthreads();
#pragma unroll 4
    for (u32 e = threadIdx.x; e < box.volume; e += THREADS) {
        const u32 high = divide(e, box.in.magic, box.in.shift);
        const Entry a = in[e - high * box.in.low], b = in[TABLE + high];
        const u32 place = u32(a.place + b.place);
        if ((a.place | b.place) >= 0) staged[place + place / 32] = fetch<Element<E>>(x + a.offset + b.offset);
    }
    __syncthreads();
#pragma unroll 4
    for (u32 e = threadIdx.x; e < box.volume; e += THREADS) {
        const u32 high = divide(e, box.out.magic, box.out.shift);
        const Entry a = out[e - high * box.out.low], b = out[TABLE + high];
        const u32 place = u32(a.place + b.place);
        if ((a.place | b.place) >= 0) emit(y + a.offset + b.offset, staged[place + place / 32]);
    }
}
