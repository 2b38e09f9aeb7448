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
