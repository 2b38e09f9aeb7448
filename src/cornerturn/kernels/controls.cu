// The controls: what a transpose is measured against.

// copy: moves the same bytes without turning the corner, 16 bytes per thread in and out, 16 sectors per request
//   on both ends and none wasted: the roof that no transpose can pass.
__global__ void copy(const float* x, float* y, unsigned rows, unsigned cols) {
    const size_t n = size_t(rows) * cols, vectors = n / 4;
    const size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < vectors) {
        reinterpret_cast<float4*>(y)[i] = reinterpret_cast<const float4*>(x)[i];
    } else if (i < vectors + n % 4) {  // the last n % 4 elements, one per thread
        const size_t tail = 4 * vectors + (i - vectors);
        y[tail] = x[tail];
    }
}

// view: x.T itself, the same memory with its strides exchanged: nothing moves, nothing is counted, and
//   whoever reads it contiguously pays for the transpose then.
