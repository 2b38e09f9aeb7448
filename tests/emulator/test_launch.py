"""What a launch is made of: where variables and parameters lie, and what the hardware demands."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from cornerturn.emulator import Memory, emulate
from cornerturn.errors import EmulatorError
from cornerturn.kernels.kernel import CudaSource
from cornerturn.toolchain import compile_source

from .harness import HEADER, image_of, ints, kernel, launch_cuda, launch_ptx

# --- where variables lie ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("declarations", "parameters", "body", "expected"),
    [
        (
            "__constant__ float scale = 2.5f; __constant__ double more[2] = {0.5, 1.5};",
            "int* y",
            "y[i] = int(scale * i + more[i % 2]);",
            lambda t: int(2.5 * t + (0.5, 1.5)[t % 2]),
        ),
        (
            "__constant__ short table[4] = {-1, 2, -3};",
            "int* y",
            "y[i] = table[i % 4];",
            lambda t: (-1, 2, -3, 0)[t % 4],
        ),
        ("__device__ int table[3] = {7, 8, 9};", "int* y", "y[i] = table[i % 3]++;", lambda t: 7 + t % 3),
        (
            "",
            "int* y",
            'static const char text[] = "transpose"; y[i] = text[i % 9];',
            lambda t: ord("transpose"[t % 9]),
        ),
        ("__device__ int other = 5; __device__ int* pointer = &other;", "int* y", "y[i] = i;", lambda t: t),
        (
            "",
            "int* y",
            "int own[8]; for (int k = 0; k < 8; ++k) own[(k * 3 + i) & 7] = k * i; y[i] = own[(y[i] * 5) & 7];",
            lambda t: next(k * t for k in range(8) if (k * 3 + t) % 8 == t * 5 % 8),
        ),
        (
            "struct Own { int n; int k[4]; };",
            "int* y",
            "Own a{}; for (int k = 0; k < 4; ++k) if (i >> k & 1) a.k[a.n++] = k; y[i] = a.n ? a.k[a.n - 1] : -1;",
            lambda t: (t & 15).bit_length() - 1,
        ),
    ],
)
def test_variables(declarations: str, parameters: str, body: str, expected: Callable[[int], int]):
    y = ints(32)
    emulation = launch_cuda(f"{declarations}\n{kernel(parameters, body)}", y)
    assert y.tolist() == [expected(t) for t in range(32)]
    assert [h for h in emulation.hazards if h.kind != "race"] == []


def test_a_variable_that_is_a_pointer_is_refused_where_it_is_used():
    text = f"__device__ int other = 5; __device__ int* pointer = &other;\n{kernel('int* y', 'y[i] = *pointer;')}"
    with pytest.raises(EmulatorError, match=r"pointer is initialised with generic\(other\): only numbers are emulated"):
        launch_cuda(text, ints(32))


PARAMETERS = np.dtype([("a", "i4"), ("b", "f8"), ("c", "i2", 5), ("d", "u1")], align=True)


@pytest.mark.parametrize("how", ["Given p", "const __grid_constant__ Given p"])
def test_a_structure_passed_by_value(how: str):
    text = "struct Given { int a; double b; short c[5]; unsigned char d; };\n" + kernel(
        f"{how}, int* y, short last", "y[i] = p.a + int(p.b) + p.c[i % 5] + p.d + last;"
    )
    given = np.array([(100, 20.75, [1, 2, 3, 4, 5], 200)], dtype=PARAMETERS)
    y = ints(32)
    emulation = launch_cuda(text, given.tobytes(), y, np.int16(-7))
    assert y.tolist() == [100 + 20 + t % 5 + 1 + 200 - 7 for t in range(32)]
    assert {access.kind for access in emulation.accesses if access.space == "global"} == {"store"}


def test_a_generic_address_finds_its_memory():
    text = """__device__ __forceinline__ void put(int* to, int value) { *to = value; }
    extern "C" __global__ void kernel(int* y, int where) {
        __shared__ int tile[64];
        int own[4] = {1, 2, 3, 4};
        tile[threadIdx.x + 32] = 9;
        int* to = where == 0 ? y : where == 1 ? tile : own;
        if (where == 3) to = threadIdx.x & 1 ? y : tile;
        put(to + (where == 2 ? threadIdx.x & 3 : threadIdx.x), threadIdx.x * 3);
        __syncthreads();
        y[threadIdx.x] = to[where == 2 ? threadIdx.x & 3 : threadIdx.x] + own[(where + 1) & 3];
    }"""
    image = image_of(text)
    assert re.search(r"\bst\.(b|u)32", image.ptx), "the address must be generic for this test to mean anything"
    spaces = {0: {"global"}, 1: {"shared"}, 2: {"local"}, 3: {"global", "shared"}}
    for where, expected in spaces.items():
        y = np.full(32, -1, dtype=np.int32)
        emulation = launch_ptx(image.ptx, image.symbol, y, np.int32(where))
        own = (where + 1) & 3
        kept = [4 if own == 3 else own + 1] * 32
        if where == 2:
            kept = [t // 4 * 0 + (t - t % 4 + 3) * 3 if t % 4 == 3 else 4 for t in range(32)]
        assert y.tolist() == [3 * t + k for t, k in zip(range(32), kept, strict=True)]
        generic = {a.space for a in emulation.accesses if re.match(r"st\.(b|u)32", a.instruction)}
        assert generic == expected
        assert emulation.hazards == ()


# --- launches -----------------------------------------------------------------------------------------------------

COPY = kernel("const int* x, int* y, short n", "if (i < n) y[i] = x[i];")


@pytest.mark.parametrize(
    ("launch", "message"),
    [
        ({"block": 0}, "block (0, 1, 1) of kernel kernel: along x it must be between 1 and 1024"),
        ({"block": (1, 1, 65)}, "along z it must be between 1 and 64"),
        ({"block": (32, 33)}, "has 1056 threads: at most 1024"),
        ({"grid": (1, 65536)}, "grid (1, 65536, 1) of kernel kernel: along y it must be between 1 and 65535"),
        ({"grid": (1, 1, 0)}, "along z it must be between 1 and 65535"),
        ({"grid": 2**31}, "along x it must be between 1 and 2147483647"),
        ({"shared_bytes": -16}, "for kernel kernel must be 0 bytes or more: got -16"),
        ({"shared_bytes": 1.5}, "for kernel kernel must be 0 bytes or more: got 1.5"),
        ({"shared_bytes": 227 * 1024 + 1}, "wants 232449 bytes of shared memory per block: at most 232448"),
    ],
)
def test_a_launch_obeys_the_hardware(launch: dict[str, Any], message: str):
    with pytest.raises(EmulatorError, match=re.escape(message)):
        launch_cuda(COPY, ints(8), ints(8), np.int16(8), **launch)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((ints(8), ints(8)), "kernel kernel takes 3 arguments: got 2"),
        ((ints(8), ints(8), np.int32(8)), "argument 2 of kernel kernel has 4 bytes: the parameter takes 2"),
        ((ints(8), ints(8), 8), "argument 2 of kernel kernel is 8: give an Allocation, a NumPy scalar"),
        ((ints(8), None, np.int16(8)), "argument 1 of kernel kernel is None: give an Allocation, a NumPy scalar"),
        ((ints(8), np.int32(0), np.int16(8)), "argument 1 of kernel kernel has 4 bytes: the parameter takes 8"),
    ],
)
def test_arguments_fit_their_parameters(arguments: tuple[Any, ...], message: str):
    with pytest.raises(EmulatorError, match=re.escape(message)):
        launch_cuda(COPY, *arguments)


def test_launch_bounds_are_kept():
    text = COPY.replace("void kernel", "void __launch_bounds__(64) kernel")
    assert launch_cuda(text, ints(64), ints(64), np.int16(8), block=64).hazards == ()
    with pytest.raises(EmulatorError, match=r"at most 64 threads per block \(__launch_bounds__\): block .* has 96"):
        launch_cuda(text, ints(96), ints(96), np.int16(8), block=96)


@pytest.mark.parametrize("name", ["grid", "block"])
@pytest.mark.parametrize("extent", [(1, 1), (1, 1, 1, 1), (1.0, 1, 1), ("1", 1, 1), (None, 1, 1), 1, "abc", None])
def test_a_launch_has_three_integers(name: str, extent: Any):
    launch = {"grid": (1, 1, 1), "block": (1, 1, 1), name: extent}
    message = f"{name} {extent!r} of kernel kernel: give three integers, along x, y and z"
    with pytest.raises(EmulatorError, match=re.escape(message)):
        emulate(HEADER + ".visible .entry kernel() { ret; }", "kernel", Memory(), arguments=(), **launch)


def test_messages_name_kernels_and_variables_as_the_source_does():
    text = "namespace a { __device__ int table[4]; __global__ void turn(int* y, int i) { y[0] = table[i]; } }"
    image = compile_source(CudaSource("own.cu", text, ("a::turn",))).image("a::turn")
    memory = Memory()
    arguments = [memory.bind(ints(1), "y"), np.int32(9)]
    launch = {"arguments": arguments, "block": (1, 1, 1)}
    (hazard,) = emulate(image.ptx, image.symbol, memory, grid=(1, 1, 1), **launch).hazards
    assert "a::table + 36 bytes, where a::table has 16 bytes" in hazard.message
    with pytest.raises(EmulatorError, match=r"^grid \(0, 1, 1\) of kernel a::turn: "):
        emulate(image.ptx, image.symbol, memory, grid=(0, 1, 1), **launch)


def test_a_launch_takes_integers_of_numpy():
    y = ints(64)
    image = image_of(kernel("int* y", "y[blockIdx.x * 32 + i] = 1;"))
    extents = {"grid": (np.uint8(2), 1, 1), "block": [np.int16(32), np.int64(1), 1]}
    memory = Memory()
    emulate(image.ptx, image.symbol, memory, arguments=[memory.bind(y, "y")], shared_bytes=np.int32(16), **extents)
    assert y.all()


@pytest.mark.parametrize(
    ("directives", "clustered"),
    [
        (".explicitcluster .reqnctapercluster 2, 1, 1", True),
        (".reqnctapercluster 1, 2", True),
        (".explicitcluster", True),
        (".reqnctapercluster 1, 1, 1", False),
        (".explicitcluster .reqnctapercluster 1", False),
        (".maxclusterrank 8", False),
    ],
)
def test_clusters_are_refused(directives: str, clustered: bool):
    text = HEADER + f".visible .entry kernel() {directives} {{ ret; }}"
    if not clustered:
        launch_ptx(text, "kernel", grid=2)
        return
    with pytest.raises(EmulatorError, match="kernel kernel wants clusters of blocks"):
        launch_ptx(text, "kernel", grid=2)


def test_a_kernel_that_the_compiler_clusters_is_refused():
    with pytest.raises(EmulatorError, match=r"clusters of blocks \(__cluster_dims__\): they are not emulated"):
        launch_cuda(COPY.replace("void kernel", "void __cluster_dims__(2, 1, 1) kernel"), ints(8), ints(8), np.int16(8))


def test_a_required_block_is_kept():
    text = HEADER + ".visible .entry kernel() .reqntid 16, 2 { ret; }"
    launch_ptx(text, "kernel", block=(16, 2))
    with pytest.raises(EmulatorError, match=re.escape("was compiled for blocks of (16, 2) threads: got (32, 1, 1)")):
        launch_ptx(text, "kernel", block=32)
