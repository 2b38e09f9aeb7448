// box: any axes, any strides. A block moves a box that is a contiguous run, or a few axes, in x and in y alike,
//   element by element through shared memory. Element e of a side's order is e = hi * low count + lo; a table for lo
//   and one for hi hold what each adds to the address and to the place in shared memory.
template <int N>
struct Side {
    u32 low, high;       // entries of the two tables
    u32 magic, shift;    // divide by `low`
    u32 low_axes, axes;  // axes of the low table, of both
    u32 axis[N];         // which axes of the box, fastest first
};

struct BoxAxis {
    u32 extent, magic, shift;  // of the box
    u32 place;                 // elements between neighbours in shared memory
    u32 whole;                 // the axis's own extent
    u32 tiles, tiles_magic, tiles_shift;
    i64 stride_in, stride_out;  // bytes
};

template <int N>
struct Box {
    u32 volume, axes, unused[2];
    Side<N> in, out;
    BoxAxis axis[N];
};

struct Entry {
    i64 offset;  // bytes
    int place;   // elements; negative outside of the array
};

__device__ u32 divide(u32 n, u32 magic, u32 shift) { return (__umulhi(n, magic) + n) >> shift; }

template <int TABLE, bool IN, int N>
__device__ void fill(Entry* table, const Box<N>& box, const u32* start) {
    const Side<N>& side = IN ? box.in : box.out;
    for (u32 t = threadIdx.x; t < side.low + side.high; t += blockDim.x) {
        const bool low = t < side.low;
        u32 n = low ? t : t - side.low;
        Entry entry = {0, 0};
        for (u32 a = low ? 0 : side.low_axes; a < (low ? side.low_axes : side.axes); ++a) {
            const u32 which = side.axis[a];
            const BoxAxis& axis = box.axis[which];
            const u32 quotient = divide(n, axis.magic, axis.shift), coordinate = n - quotient * axis.extent;
            n = quotient;
            entry.offset += coordinate * (IN ? axis.stride_in : axis.stride_out);
            entry.place = entry.place < 0 || start[which] + coordinate >= axis.whole
                              ? -1 : entry.place + int(coordinate * axis.place);
        }
        table[low ? t : TABLE + t - side.low] = entry;
    }
}

template <int E, int VOLUME, int TABLE, int THREADS, int AXES>
__global__ void __launch_bounds__(THREADS) box(const u8* x, u8* y, const __grid_constant__ Box<AXES> box) {
    __shared__ Element<E> staged[VOLUME + VOLUME / 32];
    __shared__ Entry in[2 * TABLE], out[2 * TABLE];
    __shared__ u32 start[AXES];

    u32 block = blockIdx.x;
    for (u32 a = 0; a < box.axes; ++a) {
        const BoxAxis& axis = box.axis[a];
        const u32 quotient = divide(block, axis.tiles_magic, axis.tiles_shift);
        const u32 first = (block - quotient * axis.tiles) * axis.extent;
        block = quotient;
        x += first * axis.stride_in;
        y += first * axis.stride_out;
        if (threadIdx.x == 0) start[a] = first;
    }
    __syncthreads();
    fill<TABLE, true>(in, box, start);
    fill<TABLE, false>(out, box, start);
    __syncthreads();
#pragma unroll 4
    for (u32 e = threadIdx.x; e < box.volume; e += THREADS) {
        const u32 high = divide(e, box.in.magic, box.in.shift);
        const Entry a = in[e - high * box.in.low], b = in[TABLE + high];
        const u32 place = u32(a.place + b.place);
        if ((a.place | b.place) >= 0) staged[place + place / 32] = fetch<Element<E>>(x + a.offset + b.offset);
    }
    __syncthreads();
#pragma unroll 4
    for (u32 e = threadIdx.x; e < box.volume; e += THREADS) {
        const u32 high = divide(e, box.out.magic, box.out.shift);
        const Entry a = out[e - high * box.out.low], b = out[TABLE + high];
        const u32 place = u32(a.place + b.place);
        if ((a.place | b.place) >= 0) emit(y + a.offset + b.offset, staged[place + place / 32]);
    }
}
