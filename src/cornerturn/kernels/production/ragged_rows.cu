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
