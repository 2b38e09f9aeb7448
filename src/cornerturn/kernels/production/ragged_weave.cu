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
