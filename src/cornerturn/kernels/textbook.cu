// The textbook family: from the naive transpose to asynchronous tiles, 4-byte elements.
//
// x is rows x cols and y is cols x rows, both row-major: y[c * rows + r] = x[r * cols + c].
//
// Above each kernel is its lesson, after the kernel's name: what changed against its predecessor, and
// what that does to the memory counts. Counts are for one full warp inside a large matrix. Global memory:
// 32-byte sectors per request, where 4 suffice for 4-byte accesses and 16 for float4. Shared memory:
// wavefronts per request, where 1 suffices.

// naive: 32 x 32 threads, one element each: a warp reads 32 neighbours of x in 4 sectors and writes down a
//   column of y, 32 sectors per store request where 4 would do.
__global__ void naive(const float* x, float* y, unsigned rows, unsigned cols) {
    const unsigned c = 32 * blockIdx.x + threadIdx.x;
    const unsigned r = 32 * blockIdx.y + threadIdx.y;
    if (r < rows && c < cols) y[c * rows + r] = x[r * cols + c];
}

// tiled_8: an 8 x 8 tile of x in shared memory turns the corner there, contiguous on both global ends, 4
//   sectors per request; but a warp takes 4 tile rows, and one float of padding still leaves 2 wavefronts per
//   shared request.
// tiled_16: a 16 x 16 tile: the same sectors in half as many lines, 2 per request instead of 4; a warp takes 2
//   tile rows, and one float of padding still leaves 2 wavefronts per shared request.
// tiled_32: a 32 x 32 tile: a warp is one tile row, 1 line per global request, and one float of padding now
//   spreads a tile column over all 32 banks, 1 wavefront per shared request.
template <unsigned side>
__global__ void tiled(const float* x, float* y, unsigned rows, unsigned cols) {
    __shared__ float tile[side][side + 1];
    const unsigned tx = threadIdx.x, ty = threadIdx.y;
    const unsigned row0 = side * blockIdx.y, col0 = side * blockIdx.x;

    if (row0 + ty < rows && col0 + tx < cols) tile[ty][tx] = x[(row0 + ty) * cols + col0 + tx];
    __syncthreads();
    if (row0 + tx < rows && col0 + ty < cols) y[(col0 + ty) * rows + row0 + tx] = tile[tx][ty];
}

// shared_no_padding: tiled_32 without the padding and with 32 x 8 threads, four tile rows each: the global
//   sectors stay at 4 per request, but a tile column lies in one bank, 32 wavefronts per shared load.
// shared_padding: shared_no_padding with one float of padding per tile row: a tile column spreads over all 32
//   banks, 1 wavefront per shared load instead of 32, and every other access stays as it is.
template <unsigned pitch>
__global__ void four_rows(const float* x, float* y, unsigned rows, unsigned cols) {
    __shared__ float tile[32][pitch];
    const unsigned tx = threadIdx.x, ty = threadIdx.y;
    const unsigned row0 = 32 * blockIdx.y, col0 = 32 * blockIdx.x;

#pragma unroll
    for (unsigned k = 0; k < 32; k += 8)
        if (row0 + ty + k < rows && col0 + tx < cols)
            tile[ty + k][tx] = x[(row0 + ty + k) * cols + col0 + tx];
    __syncthreads();
#pragma unroll
    for (unsigned k = 0; k < 32; k += 8)
        if (row0 + tx < rows && col0 + ty + k < cols)
            y[(col0 + ty + k) * rows + row0 + tx] = tile[tx][ty + k];
}

// tiled_vectorized: shared_padding with 8 x 32 threads and one float4 per thread on both global ends: a quarter
//   of the global requests at 16 sectors each, none wasted; the padded tile takes no float4, so it is filled
//   and read by four 4-byte accesses per thread, 1 wavefront each.
__global__ void tiled_vectorized(const float* x, float* y, unsigned rows, unsigned cols) {
    __shared__ float tile[32][32 + 1];
    const unsigned tx = 4 * threadIdx.x, ty = threadIdx.y;
    const unsigned row0 = 32 * blockIdx.y, col0 = 32 * blockIdx.x;

    if (row0 + ty < rows && col0 + tx < cols) {
        const float4 v = *reinterpret_cast<const float4*>(&x[(row0 + ty) * cols + col0 + tx]);
        tile[ty][tx + 0] = v.x;
        tile[ty][tx + 1] = v.y;
        tile[ty][tx + 2] = v.z;
        tile[ty][tx + 3] = v.w;
    }
    __syncthreads();
    if (row0 + tx < rows && col0 + ty < cols)
        *reinterpret_cast<float4*>(&y[(col0 + ty) * rows + row0 + tx]) =
            make_float4(tile[tx][ty], tile[tx + 1][ty], tile[tx + 2][ty], tile[tx + 3][ty]);
}

// Copies 4 bytes from global to shared memory with no register between; they are there only after a wait.
__device__ void copy_async(float* shared, const float* global) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;"
                 :: "r"(static_cast<unsigned>(__cvta_generic_to_shared(shared))),
                    "l"(__cvta_generic_to_global(global))
                 : "memory");
}

// Ends the group of copies that this thread has begun since its last call.
__device__ void commit_copies() {
    asm volatile("cp.async.commit_group;" ::: "memory");
}

// Waits until at most `pending` of this thread's newest groups are still under way.
template <int pending>
__device__ void wait_for_copies() {
    asm volatile("cp.async.wait_group %0;" :: "n"(pending) : "memory");
}

// tiled_async: shared_padding with cp.async into two buffers: a block walks a strip of four tiles along a row
//   of tiles and fetches the next while it writes the last; sectors and wavefronts are those of
//   shared_padding, only the waiting changes.
__global__ void tiled_async(const float* x, float* y, unsigned rows, unsigned cols) {
    constexpr unsigned tiles = 4;
    __shared__ float buffers[2][32][32 + 1];
    const unsigned tx = threadIdx.x, ty = threadIdx.y;
    const unsigned row0 = 32 * blockIdx.y, strip = 32 * tiles * blockIdx.x;

    const auto fetch = [&](unsigned i) {
        const unsigned col0 = strip + 32 * i;
#pragma unroll
        for (unsigned k = 0; k < 32; k += 8)
            if (row0 + ty + k < rows && col0 + tx < cols)
                copy_async(&buffers[i % 2][ty + k][tx], &x[(row0 + ty + k) * cols + col0 + tx]);
    };
    const auto write = [&](unsigned i) {
        const unsigned col0 = strip + 32 * i;
#pragma unroll
        for (unsigned k = 0; k < 32; k += 8)
            if (row0 + tx < rows && col0 + ty + k < cols)
                y[(col0 + ty + k) * rows + row0 + tx] = buffers[i % 2][tx][ty + k];
    };

    fetch(0);
    commit_copies();
#pragma unroll 1
    for (unsigned i = 0; i < tiles; ++i) {
        if (i + 1 < tiles) fetch(i + 1);
        commit_copies();       // an empty group after the last tile, so that the newest is always tile i + 1
        wait_for_copies<1>();  // this thread's share of tile i is there,
        __syncthreads();       // and every other thread's
        write(i);
        __syncthreads();       // the buffer of tile i is free for tile i + 2
    }
}
