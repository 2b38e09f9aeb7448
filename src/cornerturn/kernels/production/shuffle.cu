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
