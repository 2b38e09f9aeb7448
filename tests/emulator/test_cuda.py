"""What CUDA C++ kernels that move data are made of: each piece compiled by NVRTC, its result against Python."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from .harness import launch_cuda

COUNT = 64


def words(dtype: str) -> list[int]:
    """Numbers of every magnitude, and with every bit pattern near the ends."""
    bits = 8 * np.dtype(dtype).itemsize
    mixed = [(0x9E3779B97F4A7C15 * (n + 1) >> 7) % 2**bits >> n % bits for n in range(COUNT - 4)]
    return [*mixed, 0, 1, 2 ** (bits - 1), 2**bits - 1]


def signed(value: int, bits: int) -> int:
    return value - 2**bits if value >> (bits - 1) else value


def permute(a: int, b: int, selector: int) -> int:
    both = a.to_bytes(4, "little") + b.to_bytes(4, "little")
    return int.from_bytes([both[selector >> 4 * k & 7] for k in range(4)], "little")


# Of x[i] of a C++ type: the statement that makes y[i], and the bits of y[i] from the bits v of x[i], w of x[0] and i.
ELEMENTWISE: dict[str, tuple[str, str, Callable[[int, int, int], int]]] = {
    "__ldg": ("unsigned", "y[i] = __ldg(x + i);", lambda v, w, i: v),
    "streaming": ("unsigned", "__stcs(y + i, __ldcs(x + i));", lambda v, w, i: v),
    "cache hints": (
        "unsigned",
        "__stwt(y + i, __ldcg(x + i) + __ldca(x + i) * 2 + __ldcv(x + i) * 4 + __ldlu(x + i) * 8);",
        lambda v, w, i: 15 * v,
    ),
    "volatile": ("volatile unsigned", "y[i] = x[i];", lambda v, w, i: v),
    "bytes": ("unsigned char", "y[i] = x[i] * 3 - 200;", lambda v, w, i: v * 3 - 200),
    "signed bytes": ("signed char", "y[i] = x[i] >> 2;", lambda v, w, i: signed(v, 8) >> 2),
    "shorts": ("short", "y[i] = x[i] / 3;", lambda v, w, i: int(signed(v, 16) / 3)),
    "reversed halves": ("unsigned short", "y[i] = __brev(x[i]) >> 16;", lambda v, w, i: int(f"{v:016b}"[::-1], 2)),
    "64-bit shifts": (
        "long long",
        "y[i] = x[i] >> i ^ x[i] << (i & 7);",
        lambda v, w, i: signed(v, 64) >> i ^ v << (i & 7),
    ),
    "64-bit division": (
        "long long",
        "y[i] = x[i] / (i + 3) * 1000 + x[i] % (i + 3);",
        lambda v, w, i: quotient(signed(v, 64), i + 3) * 1000 + remainder(signed(v, 64), i + 3),
    ),
    "unsigned division by a constant": ("unsigned", "y[i] = x[i] / 7 + x[i] % 10;", lambda v, w, i: v // 7 + v % 10),
    "__umulhi": ("unsigned", "y[i] = __umulhi(x[i], x[0]);", lambda v, w, i: v * w >> 32),
    "__mul64hi": ("long long", "y[i] = __mul64hi(x[i], x[0]);", lambda v, w, i: signed(v, 64) * signed(w, 64) >> 64),
    "counting bits": (
        "unsigned",
        "y[i] = __popc(x[i]) + 100 * __clz(x[i]) + 10000 * __ffs(x[i]);",
        lambda v, w, i: v.bit_count() + 100 * (32 - v.bit_length()) + 10000 * (v & -v).bit_length(),
    ),
    "__byte_perm": (
        "unsigned",
        "y[i] = __byte_perm(x[i], x[0], 0x6240 + i);",
        lambda v, w, i: permute(v, w, 0x6240 + i),
    ),
    "__funnelshift_l": (
        "unsigned",
        "y[i] = __funnelshift_l(x[i], x[0], i);",
        lambda v, w, i: (w << 32 | v) << i % 32 >> 32,
    ),
    "__funnelshift_rc": (
        "unsigned",
        "y[i] = __funnelshift_rc(x[i], x[0], i);",
        lambda v, w, i: (w << 32 | v) >> min(i, 32),
    ),
    "exchanging neighbour bits": (
        "unsigned",
        "y[i] = (x[i] & 0xaaaaaaaa) >> 1 | (x[i] & 0x55555555) << 1;",
        lambda v, w, i: (v & 0xAAAAAAAA) >> 1 | (v & 0x55555555) << 1,
    ),
    "bytes within a word": ("unsigned", "y[i] = __vadd4(x[i], x[0]);", lambda v, w, i: add_bytes(v, w)),
    "bit casts": ("float", "y[i] = __int_as_float(__float_as_int(x[i]) ^ 1 << 31);", lambda v, w, i: v ^ 1 << 31),
    "double words": (
        "double",
        "y[i] = __hiloint2double(__double2loint(x[i]), __double2hiint(x[i]));",
        lambda v, w, i: v >> 32 | v << 32,
    ),
    "bool": ("unsigned char", "y[i] = !x[i];", lambda v, w, i: int(v == 0)),
    "a lambda": (
        "int",
        "auto twice = [=](int v) { return 2 * v + i; }; y[i] = twice(x[i]);",
        lambda v, w, i: 2 * v + i,
    ),
    "a template": ("int", "y[i] = scaled<3>(x[i]);", lambda v, w, i: 3 * v),
    "fences": ("int", "y[i] = 1; __threadfence(); __syncwarp(); __nanosleep(9); y[i] = x[i];", lambda v, w, i: v),
    "an assertion": ("int", "assert(i < 64); y[i] = x[i];", lambda v, w, i: v),
}
DTYPES = {"char": "u1", "short": "u2", "int": "u4", "unsigned": "u4", "float": "u4", "long long": "u8", "double": "u8"}
PRELUDE = "template <int factor> __device__ int scaled(int v) { return factor * v; }"


def quotient(a: int, b: int) -> int:
    return abs(a) // b * (1 if a >= 0 else -1)


def remainder(a: int, b: int) -> int:
    return a - quotient(a, b) * b


def add_bytes(a: int, b: int) -> int:
    return sum(((a >> k) + (b >> k) & 255) << k for k in (0, 8, 16, 24))


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_elementwise(name: str):
    kind, statement, function = ELEMENTWISE[name]
    dtype = next(DTYPES[word] for word in DTYPES if kind.endswith(word))
    values = words(dtype)
    y = np.zeros(COUNT, dtype=dtype)
    text = f"""{PRELUDE}
    extern "C" __global__ void kernel(const {kind}* __restrict__ x, {kind}* __restrict__ y) {{
        const int i = blockIdx.x * blockDim.x + threadIdx.x;
        {statement}
    }}"""
    emulation = launch_cuda(text, np.array(values, dtype=dtype), y, grid=2)
    assert y.tolist() == [function(v, values[0], i) % 2 ** (8 * y.itemsize) for i, v in enumerate(values)]
    assert emulation.hazards == ()


@pytest.mark.parametrize(
    ("kind", "element", "lanes"),
    [
        ("uchar2", "u1", "xy"),
        ("uchar4", "u1", "xyzw"),
        ("short2", "i2", "xy"),
        ("ushort4", "u2", "xyzw"),
        ("float2", "f4", "xy"),
        ("float4", "f4", "xyzw"),
        ("int4", "i4", "xyzw"),
        ("double2", "f8", "xy"),
        ("longlong2", "i8", "xy"),
    ],
)
def test_vectors_move_whole(kind: str, element: str, lanes: str):
    reverse = ", ".join(f"v.{lane}" for lane in reversed(lanes))
    text = f"""extern "C" __global__ void kernel(const {kind}* x, {kind}* y) {{
        __shared__ {kind} tile[32];
        tile[threadIdx.x] = x[threadIdx.x];
        __syncthreads();
        const {kind} v = tile[31 - threadIdx.x];
        y[threadIdx.x] = {kind}{{{reverse}}};
    }}"""
    x = np.arange(32 * len(lanes)).astype(element)
    y = np.zeros_like(x)
    emulation = launch_cuda(text, x, y)
    assert np.array_equal(y, x[::-1])
    width = len(lanes) * x.itemsize
    assert [(access.space, access.kind, access.width) for access in emulation.accesses] == [
        ("global", "load", width),
        ("shared", "store", width),
        ("shared", "load", width),
        ("global", "store", width),
    ]


# Whole transposes, each with another way to find its way.
TRANSPOSES: dict[str, tuple[str, dict[str, Any]]] = {
    "one index, 64 bits": (
        """const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
           if (i < (long long)rows * cols) y[i % cols * rows + i / cols] = x[i];""",
        {"grid": 32, "block": 128},
    ),
    "grid-stride loop": (
        """for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < rows * cols; i += gridDim.x * blockDim.x)
               y[i % cols * rows + i / cols] = x[i];""",
        {"grid": 3, "block": 96},
    ),
    "a tile in dynamic shared memory": (
        """extern __shared__ float tile[];
           const int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 32;
           for (int k = threadIdx.y; k < 32; k += 8)
               if (r + k < rows && c < cols) tile[k * 33 + threadIdx.x] = x[(r + k) * cols + c];
           __syncthreads();
           for (int k = threadIdx.y; k < 32; k += 8) {
               const int down = blockIdx.x * 32 + k, along = r + threadIdx.x;
               if (down < cols && along < rows) y[down * rows + along] = tile[threadIdx.x * 33 + k];
           }""",
        {"grid": (3, 2), "block": (32, 8), "shared_bytes": 32 * 33 * 4},
    ),
    "a volatile tile, one warp a block": (
        """__shared__ volatile float tile[32][33];
           const int c = blockIdx.x * 32, r = blockIdx.y * 32, t = threadIdx.x;
           for (int k = 0; k < 32; ++k)
               if (r + k < rows && c + t < cols) tile[k][t] = x[(r + k) * cols + c + t];
           __syncwarp();
           for (int k = 0; k < 32 && c + k < cols; ++k)
               if (r + t < rows) y[(c + k) * rows + r + t] = tile[t][k];""",
        {"grid": (3, 2), "block": 32},
    ),
    "three-dimensional blocks": (
        """const int c = blockIdx.x * 32 + threadIdx.z * 8 + threadIdx.x, r = blockIdx.y * 8 + threadIdx.y;
           if (r < rows && c < cols) y[c * rows + r] = x[r * cols + c];""",
        {"grid": (3, 7), "block": (8, 8, 4)},
    ),
}


@pytest.mark.parametrize("name", TRANSPOSES)
def test_transposes(name: str):
    body, launch = TRANSPOSES[name]
    rows, cols = 50, 70
    text = f'extern "C" __global__ void kernel(const float* x, float* y, int rows, int cols) {{ {body} }}'
    x = np.arange(rows * cols, dtype=np.float32).reshape(rows, cols)
    y = np.zeros((cols, rows), dtype=np.float32)
    emulation = launch_cuda(text, x, y, np.int32(rows), np.int32(cols), **launch)
    assert np.array_equal(y, x.T)
    assert emulation.hazards == ()
