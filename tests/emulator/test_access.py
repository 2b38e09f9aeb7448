"""What threads may touch: every fault is found, named, and stops nobody else."""

import numpy as np
import pytest

from cornerturn.emulator import Memory, emulate
from cornerturn.wording import counted

from .harness import image_of, ints, kernel, launch_cuda

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
    rule = f"the address must be a multiple of {width}, it is {counted(past, 'byte')} past one"
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


# --- what must not be written -------------------------------------------------------------------------------------


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


def test_an_output_that_is_read_before_it_is_written():
    memory = Memory()
    y = memory.bind(ints(32), "y", written=False)
    image = image_of(kernel("int* y", "if (i < 16) y[i] = 1; y[i] += 1;"))
    emulation = emulate(image.ptx, image.symbol, memory, grid=(1, 1, 1), block=(32, 1, 1), arguments=[y])
    assert [(h.kind, h.count) for h in emulation.hazards] == [("uninitialised read", 16)]
