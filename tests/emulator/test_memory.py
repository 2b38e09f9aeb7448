"""What threads may touch: every fault is found, named, and stops nobody else."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from cornerturn.emulator import Memory, emulate
from cornerturn.errors import EmulatorError
from cornerturn.kernels.kernel import CudaSource
from cornerturn.toolchain import compile_source

from .harness import HEADER, image_of, launch_cuda, launch_ptx


def ints(size: int) -> np.ndarray:
    return np.arange(size, dtype=np.int32)


def kernel(parameters: str, body: str) -> str:
    return f'extern "C" __global__ void kernel({parameters}) {{\n    const int i = threadIdx.x;\n    {body}\n}}'


# --- out of bounds ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "message", "thread", "count"),
    [
        ("y[i] = x[i + 8];", "4-byte load at argument0 + 128 bytes, where argument0 has 128 bytes", 24, 8),
        ("y[i + 30] = x[i];", "4-byte store at argument1 + 128 bytes, where argument1 has 128 bytes", 2, 30),
        ("y[i] = x[i - 3];", "4-byte load at 12 bytes before argument0", 0, 3),
        ("y[i - 1] = x[i];", "4-byte store at 4 bytes before argument1", 0, 1),
        ("y[i] = x[i * 100000000LL];", "4-byte load at argument0 + 400000000 bytes", 1, 31),
        ("y[i] = x[i * -100000000LL];", "4-byte load at 400000000 bytes before argument0", 1, 31),
        ("y[i] = *(int*)(long long)(i * 4);", "4-byte load at address 0x0, which belongs to no array", 0, 32),
        ("y[i] = x[(long long)i << 42];", "4-byte load at address 0x", 1, 31),
        ("*(double*)(y + 2 * (i + 15)) = 0;", "8-byte store at argument1 + 128 bytes", 1, 31),
    ],
)
def test_an_access_out_of_bounds_names_its_place(body: str, message: str, thread: int, count: int):
    x, y = ints(32), np.full(32, -1, dtype=np.int32)
    (hazard,) = launch_cuda(kernel("const int* x, int* y", body), x, y).hazards
    assert (hazard.kind, hazard.location, hazard.block) == ("out of bounds", "kernel.cu:3", (0, 0, 0))
    assert hazard.message.startswith(message)
    assert (hazard.thread, hazard.count) == ((thread, 0, 0), count)


def test_lanes_within_bounds_go_on():
    y = np.full(32, -1, dtype=np.int32)
    launch_cuda(kernel("const int* x, int* y", "y[i + 30] = x[i];"), ints(32), y)
    assert y.tolist() == [-1] * 30 + [0, 1]


def test_a_read_out_of_bounds_gives_zero():
    y = np.full(32, -1, dtype=np.int32)
    launch_cuda(kernel("const int* x, int* y", "y[i] = x[i];"), ints(16) + 5, y)
    assert y.tolist() == [*range(5, 21)] + [0] * 16


def test_a_fault_names_block_and_thread():
    text = """extern "C" __global__ void kernel(int* y) {
        const int i = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
        y[i * 12 + threadIdx.x + 2 * (threadIdx.y + 3 * threadIdx.z)] = 1;
    }"""
    (hazard,) = launch_cuda(text, np.zeros(17 * 12 + 8, np.int32), grid=(2, 3, 4), block=(2, 3, 2)).hazards
    assert (hazard.block, hazard.thread, hazard.count) == ((1, 2, 2), (0, 1, 1), 6 * 12 + 4)


def test_faults_are_listed_by_kind_and_instruction():
    text = """extern "C" __global__ void kernel(const int* x, int* y) {
        __shared__ int tile[32];
        y[threadIdx.x] = x[threadIdx.x + 1];
        y[threadIdx.x] += *(const int*)((const char*)x + 2 * threadIdx.x);
        y[threadIdx.x] += tile[threadIdx.x];
    }"""
    hazards = launch_cuda(text, ints(32), ints(32), grid=3).hazards
    assert [(h.kind, h.location, h.count) for h in hazards] == [
        ("out of bounds", "kernel.cu:3", 3),
        ("misaligned", "kernel.cu:4", 48),
        ("uninitialised read", "kernel.cu:5", 96),
    ]


def test_the_neighbour_of_an_array_is_never_hit():
    """However wrong an index is, it does not reach another array."""
    memory = Memory()
    arrays = [memory.bind(ints(8), name) for name in ("a", "b", "c")]
    image = image_of(kernel("int* b, long long at", "b[at] = 7;"))
    for at in (-(2**31), -9, -1, 8, 9, 2**31):
        emulation = emulate(
            image.ptx,
            image.symbol,
            memory,
            grid=(1, 1, 1),
            block=(1, 1, 1),
            arguments=[arrays[1], np.int64(at)],
        )
        assert [hazard.kind for hazard in emulation.hazards] == ["out of bounds"]
    assert all(np.array_equal(array.data.view(np.int32), ints(8)) for array in arrays)


PAST_THE_END = "shared memory + 128 bytes, of which there are 128"
SHARED = """extern "C" __global__ void kernel(int* y, int at) {{
    __shared__ volatile int tile[32];
    tile[threadIdx.x] = 1;
    __syncthreads();
    {body}
}}"""


@pytest.mark.parametrize(
    ("body", "at", "message", "count"),
    [
        ("y[threadIdx.x] = tile[threadIdx.x + at];", 4, f"4-byte load at {PAST_THE_END}", 4),
        ("tile[threadIdx.x + at] = 5;", 1, f"4-byte store at {PAST_THE_END}", 1),
        ("y[threadIdx.x] = tile[threadIdx.x + at];", -2, "4-byte load at 8 bytes before shared memory", 2),
        ("tile[threadIdx.x + at] = 5;", -1, "4-byte store at 4 bytes before shared memory", 1),
        ("atomicAdd((int*)tile + threadIdx.x + at, 5);", 2, f"4-byte atomic at {PAST_THE_END}", 2),
    ],
)
def test_shared_memory_ends_where_it_ends(body: str, at: int, message: str, count: int):
    (hazard,) = launch_cuda(SHARED.format(body=body), ints(32), np.int32(at), grid=2).hazards
    assert (hazard.kind, hazard.location) == ("out of bounds", "kernel.cu:5")
    assert (hazard.message, hazard.count) == (message, 2 * count)


def test_dynamic_shared_memory_is_as_large_as_the_launch_says():
    text = """extern "C" __global__ void kernel(int* y) {
        extern __shared__ int tile[];
        tile[threadIdx.x] = threadIdx.x;
        __syncthreads();
        y[threadIdx.x] = tile[31 - threadIdx.x];
    }"""
    y = ints(32)
    assert launch_cuda(text, y, shared_bytes=128).hazards == ()
    assert y.tolist() == [*reversed(range(32))]
    store, load = launch_cuda(text, ints(32), shared_bytes=64).hazards
    assert (store.count, load.count) == (16, 16)
    assert store.message == "4-byte store at shared memory + 64 bytes, of which there are 64"


def test_static_and_dynamic_shared_memory_do_not_overlap():
    text = """extern "C" __global__ void kernel(int* y) {
        __shared__ char few[3];
        extern __shared__ int4 many[];
        if (threadIdx.x < 3) few[threadIdx.x] = threadIdx.x;
        many[threadIdx.x] = make_int4(threadIdx.x, 1, 2, 3);
        __syncthreads();
        y[threadIdx.x] = many[31 - threadIdx.x].x + few[threadIdx.x % 3];
    }"""
    y = ints(32)
    assert launch_cuda(text, y, shared_bytes=512).hazards == ()
    assert y.tolist() == [31 - t + t % 3 for t in range(32)]


# --- alignment ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "what", "width", "past", "count"),
    [
        ("y[i] = *(const int*)((const char*)x + 4 * i + 2);", "4-byte load at argument0 + 2 bytes", 4, 2, 32),
        ("((short*)y)[i] = *(const short*)((const char*)x + 3);", "2-byte load at argument0 + 3 bytes", 2, 1, 32),
        ("*(int4*)(y + i % 4) = make_int4(1, 2, 3, 4);", "16-byte store at argument1 + 4 bytes", 16, 4, 24),
        ("*(double*)(y + i % 3) = 1.5;", "8-byte store at argument1 + 4 bytes", 8, 4, 11),
    ],
)
def test_addresses_are_multiples_of_the_width(body: str, what: str, width: int, past: int, count: int):
    (hazard,) = launch_cuda(kernel("const int* x, int* y", body), ints(32), ints(32)).hazards
    rule = f"the address must be a multiple of {width}, it is {past} bytes past one"
    assert hazard.message == f"{what}, where {what.split()[3]} has 128 bytes: {rule}"
    assert (hazard.kind, hazard.count) == ("misaligned", count)


def test_one_component_of_a_vector_is_read_alone():
    body = "y[i] = ((const int2*)(x + 1))[i % 4].x;"
    assert launch_cuda(kernel("const int* x, int* y", body), ints(32), ints(32)).hazards == ()


def test_misaligned_shared_memory():
    body = "*(volatile long long*)(tile + threadIdx.x % 2) = 1;"
    (hazard,) = launch_cuda(SHARED.format(body=body), ints(32), np.int32(0)).hazards
    assert (hazard.kind, hazard.thread, hazard.count) == ("misaligned", (1, 0, 0), 16)


@pytest.mark.parametrize(("skew", "vectors"), [(0, True), (4, False), (8, False), (16, True), (12, False)])
def test_a_skewed_base_breaks_vectors_only(skew: int, vectors: bool):
    image = image_of("""
    extern "C" __global__ void one(const int* x, int* y) { y[threadIdx.x] = x[threadIdx.x]; }
    extern "C" __global__ void kernel(const int4* x, int4* y) { y[threadIdx.x] = x[threadIdx.x]; }
    """)
    x, y = ints(128), np.zeros(128, np.int32)
    for entry, ok in (("one", True), ("kernel", vectors)):
        memory = Memory()
        bound = [memory.bind(x, "x", skew=skew), memory.bind(y, "y", written=False)]
        emulation = emulate(image.ptx, entry, memory, grid=(1, 1, 1), block=(32, 1, 1), arguments=bound)
        assert [h.kind for h in emulation.hazards] == ([] if ok else ["misaligned"])
        assert np.array_equal(y[:32], x[:32]) == ok
    assert np.array_equal(y, x) == vectors


def test_a_skewed_base_costs_a_sector_more():
    image = image_of(kernel("const int* x, int* y", "y[i] = x[i];"))
    memory = Memory()
    bound = [memory.bind(ints(32), "x", skew=4), memory.bind(ints(32), "y", skew=32)]
    emulation = emulate(image.ptx, image.symbol, memory, grid=(1, 1, 1), block=(32, 1, 1), arguments=bound)
    assert [(a.kind, a.sectors, a.sectors_ideal, a.lines) for a in emulation.accesses] == [
        ("load", 5, 4, 2),
        ("store", 4, 4, 2),
    ]


# --- what must not be written ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("statement", "kind", "width"),
    [
        ("x[i] = 7;", "store", 4),
        ("if (i < 8) ((int4*)x)[i] = make_int4(1, 2, 3, 4);", "store", 16),
        ("((volatile char*)x)[i] = 7;", "store", 1),
        ("atomicAdd(x + i, 7);", "atomic", 4),
        ("y[i] = atomicExch(x + i, 7);", "atomic", 4),
    ],
)
@pytest.mark.parametrize("read_only", [False, True])
def test_a_write_to_an_input_is_a_hazard_and_changes_nothing(statement: str, kind: str, width: int, read_only: bool):
    image = image_of(kernel("int* x, int* y", statement))
    memory, x = Memory(), np.arange(32, dtype=np.int32)
    x.flags.writeable = not read_only
    bound = [memory.bind(x, "x", writable=read_only), memory.bind(ints(32), "y")]
    emulation = emulate(image.ptx, image.symbol, memory, grid=(1, 1, 1), block=(32, 1, 1), arguments=bound)
    (hazard,) = emulation.hazards
    assert (hazard.kind, hazard.message) == ("write to an input", f"{width}-byte {kind} at x + 0 bytes")
    assert hazard.count == (8 if width == 16 else 32)
    assert emulation.accesses[0].requests == 1, "it is counted as the request that it is"
    assert np.array_equal(x, np.arange(32))


def test_arrays_may_be_written_unless_they_are_inputs():
    x = ints(32)
    assert launch_cuda(kernel("int* x", "x[i] = i; atomicAdd(x + i, 1);"), x).hazards == ()
    assert np.array_equal(x, np.arange(1, 33))


# --- what nobody wrote --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "count"),
    [
        ("tile[i] = i; __syncthreads(); y[i] = tile[63 - i];", 0),
        ("if (i < 40) tile[i] = i; __syncthreads(); y[i] = tile[63 - i];", 24),
        ("y[i] = tile[i]; __syncthreads(); tile[i] = i;", 64),
        ("((char*)tile)[4 * i] = 1; __syncthreads(); y[i] = tile[i];", 64),  # one byte of four
        ("((short*)tile)[2 * i] = 1; ((short*)tile)[2 * i + 1] = 1; __syncthreads(); y[i] = tile[i];", 0),
        ("y[i] = 0; if (i > 9) y[i] = tile[i];", 54),
    ],
)
def test_shared_memory_that_nobody_wrote_is_not_read_in_silence(body: str, count: int):
    hazards = launch_cuda(kernel("int* y", f"__shared__ int tile[64]; {body}"), ints(64), block=64).hazards
    assert sum(hazard.count for hazard in hazards if hazard.kind == "uninitialised read") == count


def test_a_block_does_not_see_what_another_wrote():
    text = kernel("int* y", "__shared__ int tile[32]; if (blockIdx.x == 0) tile[i] = 5; y[i] = tile[i];")
    (hazard,) = launch_cuda(text, ints(32), grid=2).hazards
    assert (hazard.kind, hazard.block, hazard.count) == ("uninitialised read", (1, 0, 0), 32)


def _unwritten(body: str, dtype: Any, size: int) -> list[int]:
    memory = Memory()
    y = memory.bind(np.zeros(size, dtype), "y", written=False)
    image = image_of(kernel(f"{ {1: 'char', 4: 'int', 8: 'double'}[np.dtype(dtype).itemsize] }* y", body))
    emulate(image.ptx, image.symbol, memory, grid=(1, 1, 1), block=(32, 1, 1), arguments=[y])
    return [int(n) for n in y.unwritten()]


@pytest.mark.parametrize(
    ("body", "dtype", "missing"),
    [
        ("y[i] = 1;", np.int32, []),
        ("if (i != 3 && i != 17) y[i] = 1;", np.int32, [3, 17]),
        ("((char*)y)[i * 4 + 1] = 1; if (i == 2) y[i] = 0;", np.int32, [n for n in range(32) if n != 2]),
        ("((int2*)y)[i / 2] = make_int2(1, 2);", np.int32, []),
        ("((int*)y)[i] = 1;", np.float64, [*range(16, 32)]),
        ("if (i < 31) y[i] = 0;", np.int8, [31]),
    ],
)
def test_output_that_nobody_wrote_is_known(body: str, dtype: Any, missing: list[int]):
    assert _unwritten(body, dtype, 32) == missing


def test_an_output_that_is_read_before_it_is_written():
    memory = Memory()
    y = memory.bind(ints(32), "y", written=False)
    image = image_of(kernel("int* y", "if (i < 16) y[i] = 1; y[i] += 1;"))
    emulation = emulate(image.ptx, image.symbol, memory, grid=(1, 1, 1), block=(32, 1, 1), arguments=[y])
    assert [(h.kind, h.count) for h in emulation.hazards] == [("uninitialised read", 16)]


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
        ({"shared_bytes": -16}, "-16 bytes of dynamic shared memory for kernel kernel: give 0 or more"),
        ({"shared_bytes": 1.5}, "1.5 bytes of dynamic shared memory for kernel kernel: give 0 or more"),
        ({"shared_bytes": 227 * 1024 + 1}, "wants 232449 bytes of shared memory per block: at most 232448"),
    ],
)
def test_a_launch_obeys_the_hardware(launch: dict[str, Any], message: str):
    with pytest.raises(EmulatorError, match=re.escape(message)):
        launch_cuda(COPY, ints(8), ints(8), np.int16(8), **launch)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((ints(8), ints(8)), "kernel kernel takes 3 arguments: 2 were given"),
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


def test_an_array_must_be_contiguous():
    with pytest.raises(EmulatorError, match=r"array x is not C-contiguous: pass numpy\.ascontiguousarray\(x\)"):
        Memory().bind(ints(16).reshape(4, 4).T, "x")
