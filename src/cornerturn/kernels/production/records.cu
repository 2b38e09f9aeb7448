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
