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
            read[k] = group < groups ? fetch_unit<KEPT>(__cvta_generic_to_global(x + k * pitch + i64(group) * UNIT)) : Unit{};
        }
    } else {
#pragma unroll
        for (int k = 0; k < K; ++k) {
            const u32 unit = lane + k * WARP;
            read[k] = unit < left ? fetch_unit<KEPT>(__cvta_generic_to_global(x + (i64(group0) * K + unit) * UNIT)) : Unit{};
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
