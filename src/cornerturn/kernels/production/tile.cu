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

// Fill a tile of R x C elements, which begins at row `row0` and column `col0` of x's matrix, as it is to lie in y.
// A thread reads P rows of one unit, turns them in registers and stores the V columns, P elements each. Every V rows of
// y (R units) are followed by one unit of padding: lanes that store differ in the column's unit, so R + 1 units, odd, lie
// between them, and eight lanes meet eight different groups of four banks.
//
// X_UNITS: rows of x begin on units. Otherwise a thread reads two units and shifts. LEAD: rows may be negative.
//
// `TileShape.broken_rule` says which R, C, P and THREADS go together.
template <int E, int R, int C, int P, int THREADS, bool X_UNITS, bool LEAD, int READ>
__device__ void fill_tile(Unit* shared, const u8* x, const u8* x_origin, int row0, int col0, int rows, int cols,
                          i64 pitch_in, i64 x_first, i64 x_end) {
    constexpr int V = UNIT / E, UNIT_COLS = C / V;
    constexpr bool QUADS = UNIT_COLS % 8 == 0 && R / P % 4 == 0;  // a warp reads 128 bytes of 4 rows, or of 4 times P
    constexpr int ROWS_A_TURN = P * THREADS / UNIT_COLS, LOADS = R / ROWS_A_TURN;
    constexpr int STORE_WORDS = P * E / 4;
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
                emit_window<E>(p, [=](int i) { return row_of_y + i; }, at, row, rows);
            }
        }
    }
}
