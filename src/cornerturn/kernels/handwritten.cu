// The handwritten family: fourteen transposes of 4-byte elements, each one step from the one before it.
//
// x is rows x cols and y is cols x rows, both row-major: y[c * rows + r] = x[r * cols + c].
//
// Above each kernel is its lesson, after the kernel's name: what changed against its predecessor, and
// what that does to the memory counts. Counts are for one full warp inside a large matrix. Global memory:
// 32-byte sectors per request, where 4 suffice for 4-byte accesses and 16 for float4. Shared memory:
// wavefronts per request, where 1 suffices for 4-byte accesses and 4 for float4.
// Floats are only moved, never computed with, so every bit pattern survives.

__device__ float4 load4(const float* p) {
    return *reinterpret_cast<const float4*>(p);
}

__device__ void store4(float* p, float4 v) {
    *reinterpret_cast<float4*>(p) = v;
}

// One index for every thread, split by / and %.

// f32_col2row: threads follow x, one element each: a warp reads 32 neighbours in 4 sectors and scatters them
//   over 32 rows of y, 32 sectors per store request where 4 would do.
__global__ void f32_col2row(const float* x, float* y, unsigned rows, unsigned cols) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows * cols) return;
    const unsigned r = i / cols, c = i % cols;
    y[c * rows + r] = x[i];
}

// f32_row2col: threads follow y instead of x: the waste changes ends, 32 sectors per load request and 4 per store
//   request.
__global__ void f32_row2col(const float* x, float* y, unsigned rows, unsigned cols) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows * cols) return;
    const unsigned c = i / rows, r = i % rows;
    y[i] = x[r * cols + c];
}

// f32x4_col2row: f32_col2row with one float4 read per thread: a quarter of the load requests at 16 sectors
//   each, the same sectors in all; the four scattered writes still cost 32 sectors per request.
__global__ void f32x4_col2row(const float* x, float* y, unsigned rows, unsigned cols) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows * (cols / 4)) return;
    const unsigned r = i / (cols / 4), c = 4 * (i % (cols / 4));
    const float4 v = load4(&x[r * cols + c]);
    y[(c + 0) * rows + r] = v.x;
    y[(c + 1) * rows + r] = v.y;
    y[(c + 2) * rows + r] = v.z;
    y[(c + 3) * rows + r] = v.w;
}

// f32x4_row2col: f32_row2col with one float4 write per thread: a quarter of the store requests at 16 sectors
//   each; the four scattered reads still cost 32 sectors per request, because a warp now spans 128 rows of x.
__global__ void f32x4_row2col(const float* x, float* y, unsigned rows, unsigned cols) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows / 4 * cols) return;
    const unsigned c = i / (rows / 4), r = 4 * (i % (rows / 4));
    store4(&y[c * rows + r], make_float4(x[(r + 0) * cols + c],
                                         x[(r + 1) * cols + c],
                                         x[(r + 2) * cols + c],
                                         x[(r + 3) * cols + c]));
}

// A 2-D grid of 16 x 16 threads: a warp is two rows of sixteen threads.

// f32_col2row2d: f32_col2row on a 2-D grid, no / and %: a warp takes a 2 x 16 patch of x, still 4 sectors per
//   load request, and its writes fall into 16 rows of y in pairs of neighbours, 16 sectors per request instead
//   of 32.
__global__ void f32_col2row2d(const float* x, float* y, unsigned rows, unsigned cols) {
    const unsigned c = 16 * blockIdx.x + threadIdx.x;
    const unsigned r = 16 * blockIdx.y + threadIdx.y;
    if (r < rows && c < cols) y[c * rows + r] = x[r * cols + c];
}

// f32_row2col2d: threads follow y on the same grid: 16 sectors per load request and 4 per store request.
__global__ void f32_row2col2d(const float* x, float* y, unsigned rows, unsigned cols) {
    const unsigned r = 16 * blockIdx.x + threadIdx.x;
    const unsigned c = 16 * blockIdx.y + threadIdx.y;
    if (r < rows && c < cols) y[c * rows + r] = x[r * cols + c];
}

// f32x4_col2row2d: f32_col2row2d with one float4 read per thread: a quarter of the load requests at 16 sectors
//   each; the four writes stay at 16 sectors per request where 4 would do.
__global__ void f32x4_col2row2d(const float* x, float* y, unsigned rows, unsigned cols) {
    const unsigned c = 4 * (16 * blockIdx.x + threadIdx.x);
    const unsigned r = 16 * blockIdx.y + threadIdx.y;
    if (r >= rows || c >= cols) return;
    const float4 v = load4(&x[r * cols + c]);
    y[(c + 0) * rows + r] = v.x;
    y[(c + 1) * rows + r] = v.y;
    y[(c + 2) * rows + r] = v.z;
    y[(c + 3) * rows + r] = v.w;
}

// f32x4_row2col2d: f32_row2col2d with one float4 write per thread: a quarter of the store requests at 16
//   sectors each; the four reads stay at 16 sectors per request where 4 would do.
__global__ void f32x4_row2col2d(const float* x, float* y, unsigned rows, unsigned cols) {
    const unsigned r = 4 * (16 * blockIdx.x + threadIdx.x);
    const unsigned c = 16 * blockIdx.y + threadIdx.y;
    if (r >= rows || c >= cols) return;
    store4(&y[c * rows + r], make_float4(x[(r + 0) * cols + c],
                                         x[(r + 1) * cols + c],
                                         x[(r + 2) * cols + c],
                                         x[(r + 3) * cols + c]));
}

// f32_diagonal2d: f32_row2col2d with its blocks renumbered along diagonals, so that blocks which run together
//   spread over rows and columns: the order of the addresses changes, the counts do not, 16 and 4 sectors per
//   request, and a GPU that hashes its addresses over the memory gains nothing.
__global__ void f32_diagonal2d(const float* x, float* y, unsigned rows, unsigned cols) {
    const unsigned r = 16 * blockIdx.x + threadIdx.x;
    const unsigned c = 16 * ((blockIdx.x + blockIdx.y) % gridDim.x) + threadIdx.y;
    if (r < rows && c < cols) y[c * rows + r] = x[r * cols + c];
}

// A tile of x staged in shared memory by 16 x 16 threads: both global ends can be contiguous.
// (row, col) is where a thread fills the tile, (r, c) the tile column from which it takes four rows.

// f32x4_shared_col2row2d: a 16 x 64 tile of x, read by float4, in shared memory: each thread takes 4 rows of
//   a tile column and four neighbours write 64 bytes of a row of y, 16 sectors per request on both ends and
//   none wasted; but the four lie in one bank, 4 wavefronts per shared load where 1 would do.
__global__ void f32x4_shared_col2row2d(const float* x, float* y, unsigned rows, unsigned cols) {
    __shared__ alignas(16) float tile[16][64];
    const unsigned tx = threadIdx.x, ty = threadIdx.y;
    const unsigned row0 = 16 * blockIdx.y, col0 = 64 * blockIdx.x;

    // A warp fills 4 tile rows of 32 columns, a quarter of it one row.
    const unsigned row = tx / 8 + 2 * (ty % 8), col = 4 * (tx % 8) + 32 * (ty / 8);
    if (row0 + row < rows && col0 + col < cols)
        store4(&tile[row][col], load4(&x[(row0 + row) * cols + col0 + col]));
    __syncthreads();

    // Four neighbours take the 16 rows of a column: with a pitch of 64 all in bank c % 32.
    const unsigned r = 4 * (tx % 4), c = tx / 4 + 16 * (ty % 4) + 4 * (ty / 4);
    if (row0 + r < rows && col0 + c < cols)
        store4(&y[(col0 + c) * rows + row0 + r],
               make_float4(tile[r][c], tile[r + 1][c], tile[r + 2][c], tile[r + 3][c]));
}

// f32x4_shared_row2col2d: a 64 x 16 tile of x, read by four 4-byte loads per thread at 4 sectors each: each
//   thread takes 4 rows of a tile column, but neighbours take neighbouring columns, so that their float4s
//   land in 16 rows of y, 32 half-used sectors per store request; shared stores and loads cost 2 wavefronts
//   where 1 would do.
__global__ void f32x4_shared_row2col2d(const float* x, float* y, unsigned rows, unsigned cols) {
    __shared__ float tile[64][16];
    const unsigned tx = threadIdx.x, ty = threadIdx.y;
    const unsigned row0 = 64 * blockIdx.y, col0 = 16 * blockIdx.x;

    // A warp fills two tile rows that lie 16 apart: with a pitch of 16 in the same banks.
#pragma unroll
    for (unsigned k = 0; k < 4; ++k) {
        const unsigned row = 16 * (ty % 4) + 4 * k + ty / 4, col = tx;
        if (row0 + row < rows && col0 + col < cols) tile[row][col] = x[(row0 + row) * cols + col0 + col];
    }
    __syncthreads();

    // Neighbours take neighbouring columns, and half a warp the rows 16 below: the same banks again.
    const unsigned r = 16 * (ty % 4) + 4 * (ty / 4), c = tx;
    if (row0 + r < rows && col0 + c < cols)
        store4(&y[(col0 + c) * rows + row0 + r],
               make_float4(tile[r][c], tile[r + 1][c], tile[r + 2][c], tile[r + 3][c]));
}

// f32x4_shared_bcf_col2row2d: f32x4_shared_col2row2d with one float of padding per tile row, so that the rows
//   of a column lie in different banks: 1 wavefront per shared load; the padding breaks the 16-byte alignment,
//   so the tile is filled by four scalar stores, also 1 wavefront each, and the global sectors stay the same.
__global__ void f32x4_shared_bcf_col2row2d(const float* x, float* y, unsigned rows, unsigned cols) {
    __shared__ float tile[16][64 + 1];
    const unsigned tx = threadIdx.x, ty = threadIdx.y;
    const unsigned row0 = 16 * blockIdx.y, col0 = 64 * blockIdx.x;

    // A warp fills 4 tile rows of 32 columns: with a pitch of 65 its banks (row + col) % 32 all differ.
    const unsigned row = tx / 8 + 2 * (ty % 8), col = 4 * (tx % 8) + 32 * (ty / 8);
    if (row0 + row < rows && col0 + col < cols) {
        const float4 v = load4(&x[(row0 + row) * cols + col0 + col]);
        tile[row][col + 0] = v.x;
        tile[row][col + 1] = v.y;
        tile[row][col + 2] = v.z;
        tile[row][col + 3] = v.w;
    }
    __syncthreads();

    // A warp takes 16 rows of columns c to c + 3 and c + 16 to c + 19: its banks (r + c) % 32 all differ.
    const unsigned r = 4 * (tx % 4), c = tx / 4 + 16 * (ty % 4) + 4 * (ty / 4);
    if (row0 + r < rows && col0 + c < cols)
        store4(&y[(col0 + c) * rows + row0 + r],
               make_float4(tile[r][c], tile[r + 1][c], tile[r + 2][c], tile[r + 3][c]));
}

// f32x4_shared_bcf_row2col2d: f32x4_shared_row2col2d with one float of padding per tile row: 1 wavefront per
//   shared store and 1 per shared load, where there were 2; the global sectors stay the same, half of the
//   store's wasted.
__global__ void f32x4_shared_bcf_row2col2d(const float* x, float* y, unsigned rows, unsigned cols) {
    __shared__ float tile[64][16 + 1];
    const unsigned tx = threadIdx.x, ty = threadIdx.y;
    const unsigned row0 = 64 * blockIdx.y, col0 = 16 * blockIdx.x;

    // A warp fills two tile rows that lie 16 apart: with a pitch of 17 also 16 banks apart.
#pragma unroll
    for (unsigned k = 0; k < 4; ++k) {
        const unsigned row = 16 * (ty % 4) + 4 * k + ty / 4, col = tx;
        if (row0 + row < rows && col0 + col < cols) tile[row][col] = x[(row0 + row) * cols + col0 + col];
    }
    __syncthreads();

    // Neighbours take neighbouring columns, and half a warp the rows 16 below: again 16 banks apart.
    const unsigned r = 16 * (ty % 4) + 4 * (ty / 4), c = tx;
    if (row0 + r < rows && col0 + c < cols)
        store4(&y[(col0 + c) * rows + row0 + r],
               make_float4(tile[r][c], tile[r + 1][c], tile[r + 2][c], tile[r + 3][c]));
}

// f32x4_shared_bcf_merge_write_row2col2d: f32x4_shared_bcf_row2col2d with the tile read back along y: eight
//   neighbours take consecutive float4s of one row of y and write 128 bytes in one run, 16 sectors per store
//   request instead of 32; shared memory stays free of conflicts, and no sector is wasted on either end.
__global__ void f32x4_shared_bcf_merge_write_row2col2d(const float* x, float* y, unsigned rows,
                                                       unsigned cols) {
    __shared__ float tile[64][16 + 1];
    const unsigned tx = threadIdx.x, ty = threadIdx.y;
    const unsigned row0 = 64 * blockIdx.y, col0 = 16 * blockIdx.x;

    // A warp fills two tile rows that lie 16 apart: with a pitch of 17 also 16 banks apart.
#pragma unroll
    for (unsigned k = 0; k < 4; ++k) {
        const unsigned row = 16 * (ty % 4) + 4 * k + ty / 4, col = tx;
        if (row0 + row < rows && col0 + col < cols) tile[row][col] = x[(row0 + row) * cols + col0 + col];
    }
    __syncthreads();

    // Eight neighbours take 32 rows of a column, a warp four columns: its banks (r + c) % 32 all differ.
    const unsigned r = 4 * (tx % 8) + 32 * (ty / 8), c = tx / 8 + 2 * (ty % 8);
    if (row0 + r < rows && col0 + c < cols)
        store4(&y[(col0 + c) * rows + row0 + r],
               make_float4(tile[r][c], tile[r + 1][c], tile[r + 2][c], tile[r + 3][c]));
}
