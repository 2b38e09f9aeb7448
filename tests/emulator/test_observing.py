"""An observer sees who moved what from where to where; a pointer parameter may name its address space."""

import numpy as np

from cornerturn.emulator import Memory, Movement, emulate
from cornerturn.kernels.kernel import CudaSource
from cornerturn.toolchain import compile_source

STAGED = """
extern "C" __global__ void staged(const unsigned* x, uint2* y) {
    __shared__ unsigned tile[64];
    tile[threadIdx.x] = x[64 * blockIdx.x + threadIdx.x];
    __syncthreads();
    if (threadIdx.x < 32)
        y[32 * blockIdx.x + threadIdx.x] = make_uint2(tile[2 * threadIdx.x], tile[2 * threadIdx.x + 1]);
}
"""


def test_each_movement_is_told_when_it_happens() -> None:
    image = compile_source(CudaSource("staged.cu", STAGED, ("staged",))).image("staged")
    x = np.arange(128, dtype=np.uint32) + 1000
    y = np.zeros_like(x)
    memory, seen = Memory(), []
    arguments = [memory.bind(x, "x"), memory.bind(y, "y")]
    emulate(
        image.ptx,
        image.symbol,
        memory,
        grid=(2, 1, 1),
        block=(64, 1, 1),
        arguments=arguments,
        observer=seen.append,
    )
    assert np.array_equal(y, x)
    assert [(each.kind, each.memory) for each in seen[:2]] == [("load", "x"), ("store", "shared")]
    assert (seen[-1].kind, seen[-1].width, seen[-1].memory) == ("store", 8, "y")
    read, stage, *_, write = seen
    for movement, threads, element in ((read, 64, 4), (stage, 64, 4), (write, 32, 8)):
        assert np.array_equal(movement.block, np.repeat([0, 1], threads))
        assert np.array_equal(movement.thread, np.tile(np.arange(threads), 2))
        assert np.array_equal(movement.offset // element, in_memory(movement, threads))
        assert np.array_equal(movement.values.ravel(), x)


def in_memory(movement: Movement, threads: int) -> np.ndarray:
    """Shared memory starts at 0 for each block, global memory is one for all of them."""
    return movement.thread + (movement.block * threads if movement.memory != "shared" else 0)


def test_lanes_at_fault_are_left_out() -> None:
    text = 'extern "C" __global__ void k(unsigned* x) { x[threadIdx.x] = 7; }'
    image = compile_source(CudaSource("k.cu", text, ("k",))).image("k")
    memory, seen = Memory(), []
    arguments = [memory.bind(np.zeros(20, dtype=np.uint32), "x")]
    launch = {"grid": (1, 1, 1), "block": (32, 1, 1), "arguments": arguments}
    emulation = emulate(image.ptx, image.symbol, memory, observer=seen.append, **launch)
    assert [hazard.count for hazard in emulation.hazards] == [12]
    assert np.array_equal(seen[0].thread, np.arange(20))


POINTERS = """
.version 8.8
.target sm_90
.address_size 64
.visible .entry k(.param .u64 .ptr{attributes} k_param_0)
{{
    .reg .b64 %rd<2>;
    ld.param.b64 %rd1, [k_param_0];
    st.global.b32 [%rd1], 5;
    ret;
}}
"""


def test_a_pointer_parameter_may_say_where_it_points() -> None:
    for attributes in ("", " .align 4", " .global", " .global .align 16"):
        memory, x = Memory(), np.zeros(1, dtype=np.uint32)
        arguments = [memory.bind(x, "x")]
        ptx = POINTERS.format(attributes=attributes)
        emulate(ptx, "k", memory, grid=(1, 1, 1), block=(1, 1, 1), arguments=arguments)
        assert x[0] == 5


def test_only_the_chosen_blocks_run() -> None:
    image = compile_source(CudaSource("staged.cu", STAGED, ("staged",))).image("staged")
    x = np.arange(64 * 5, dtype=np.uint32) + 1
    y = np.zeros_like(x)
    memory, seen, steps = Memory(), [], []
    emulate(
        image.ptx,
        image.symbol,
        memory,
        grid=(5, 1, 1),
        block=(64, 1, 1),
        arguments=[memory.bind(x, "x"), memory.bind(y, "y")],
        observer=seen.append,
        blocks=(3, 1),
        progress=lambda done, todo: steps.append((done, todo)),
    )
    assert {block for movement in seen for block in movement.block} == {1, 3}
    assert np.array_equal(y, np.where(np.isin(np.arange(x.size) // 64, (1, 3)), x, 0))
    assert steps == [(2, 2)]


NESTED = """__device__ void put(unsigned* y, unsigned value) {
    *y = value;
}
__device__ void put_two(unsigned* y, unsigned value) {
    put(y, value);
    put(y + 32, value);
}
extern "C" __global__ void k(unsigned* x) {
    put_two(x + threadIdx.x, 7);
    x[threadIdx.x + 64] = 8;
}
"""


def test_an_inlined_access_knows_its_callers() -> None:
    image = compile_source(CudaSource("k.cu", NESTED, ("k",))).image("k")
    memory = Memory()
    arguments = [memory.bind(np.zeros(96, dtype=np.uint32), "x")]
    emulation = emulate(image.ptx, image.symbol, memory, grid=(1, 1, 1), block=(32, 1, 1), arguments=arguments)
    assert [(access.location, access.inlined_at) for access in emulation.accesses] == [
        ("k.cu:2", ("k.cu:5", "k.cu:9")),
        ("k.cu:2", ("k.cu:6", "k.cu:9")),
        ("k.cu:10", ()),
    ]
