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
