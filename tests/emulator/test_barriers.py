"""Barriers: they wait for every thread that has not exited, and say so when that never happens."""

import numpy as np
import pytest

from cornerturn.errors import EmulatorError

from .harness import launch_cuda, launch_ptx


def test_a_barrier_orders_the_warps_of_a_block():
    text = """extern "C" __global__ void kernel(const int* x, int* y) {
        __shared__ int tile[256];
        tile[threadIdx.x] = x[blockIdx.x * 256 + threadIdx.x];
        __syncthreads();
        y[blockIdx.x * 256 + threadIdx.x] = tile[255 - threadIdx.x];
    }"""
    x = np.arange(1024, dtype=np.int32)
    y = np.zeros_like(x)
    emulation = launch_cuda(text, x, y, grid=4, block=256)
    assert np.array_equal(y, x.reshape(4, 256)[:, ::-1].reshape(-1))
    assert emulation.hazards == ()


def test_a_barrier_in_a_loop_is_met_once_a_turn():
    text = """extern "C" __global__ void kernel(int* y) {
        __shared__ int from[64], to[64];
        from[threadIdx.x] = threadIdx.x;
        for (int step = 1; step < 64; step *= 2) {
            __syncthreads();
            to[threadIdx.x] = from[threadIdx.x] + (threadIdx.x >= step ? from[threadIdx.x - step] : 0);
            __syncthreads();
            from[threadIdx.x] = to[threadIdx.x];
        }
        y[threadIdx.x] = from[threadIdx.x];
    }"""
    y = np.zeros(64, dtype=np.int32)
    assert launch_cuda(text, y, block=64).hazards == ()
    assert y.tolist() == np.cumsum(np.arange(64)).tolist()


@pytest.mark.parametrize("last", [1, 31, 32, 40, 64])
def test_threads_that_exited_are_not_waited_for(last: int):
    text = """extern "C" __global__ void kernel(int* y, int last) {
        __shared__ int tile[64];
        if (threadIdx.x >= last) return;
        tile[threadIdx.x] = threadIdx.x;
        __syncthreads();
        y[threadIdx.x] = tile[last - 1 - threadIdx.x];
    }"""
    y = np.full(64, -1, dtype=np.int32)
    assert launch_cuda(text, y, np.int32(last), block=64).hazards == ()
    assert y.tolist() == [*reversed(range(last)), *[-1] * (64 - last)]


def test_threads_may_do_other_work_and_exit_before_a_barrier():
    text = """extern "C" __global__ void kernel(int* y) {
        __shared__ int tile[64];
        if (threadIdx.x >= 32) { atomicAdd(y + 32, 1); return; }
        tile[threadIdx.x] = threadIdx.x;
        __syncthreads();
        y[threadIdx.x] = tile[31 - threadIdx.x];
    }"""
    y = np.zeros(33, dtype=np.int32)
    assert launch_cuda(text, y, block=64).hazards == ()
    assert y.tolist() == [*reversed(range(32)), 32]


@pytest.mark.parametrize(
    ("some", "block", "waiting", "absent"),
    [("threadIdx.x < 16", 32, 16, 16), ("threadIdx.x == 0", 1024, 1, 1023), ("threadIdx.x < 32", 64, 32, 32)],
)
def test_threads_that_go_on_without_a_barrier_are_a_hazard(some: str, block: int, waiting: int, absent: int):
    text = f"""extern "C" __global__ void kernel(int* y) {{
        if ({some})
            __syncthreads();
        y[threadIdx.x] = 1;
    }}"""
    y = np.zeros(block, dtype=np.int32)
    (hazard,) = launch_cuda(text, y, block=block).hazards
    assert (hazard.kind, hazard.location, hazard.count) == ("barrier not reached by all", "kernel.cu:3", absent)
    assert hazard.message.startswith("1 thread waits here " if waiting == 1 else f"{waiting} threads wait here ")
    assert hazard.thread == (waiting, 0, 0)
    assert y.all(), "the threads go on all the same"


def test_blocks_do_not_wait_for_each_other():
    text = """extern "C" __global__ void kernel(int* y) {
        if (blockIdx.x % 2) __syncthreads();
        y[blockIdx.x * 32 + threadIdx.x] = 1;
    }"""
    y = np.zeros(160, dtype=np.int32)
    launch_cuda(text, y, grid=5)
    assert y.all()


# Two warps hand a value over at barrier 1 while the other two meet at barrier 2.
NAMED = """.version 8.5
.target sm_90
.visible .entry kernel(.param .u64 p) {
    .reg .u64 %at; .reg .u32 %t, %slot, %v, %pair; .reg .pred %first;
    .shared .align 4 .b32 tile[128];
    ld.param.u64 %at, [p];
    mov.u32 %t, %tid.x;
    mad.wide.u32 %at, %t, 4, %at;
    shl.b32 %slot, %t, 2;
    st.shared.u32 [%slot], %t;
    shr.u32 %pair, %t, 6;
    add.u32 %pair, %pair, 1;
    bar.sync %pair, COUNT;
    xor.b32 %slot, %slot, 128;
    ld.shared.u32 %v, [%slot];
    st.global.u32 [%at], %v;
    ret;
}"""


def test_named_barriers_count_their_own_threads():
    y = np.zeros(128, dtype=np.uint32)
    assert launch_ptx(NAMED.replace("COUNT", "64"), "kernel", y, block=128).hazards == ()
    assert y.tolist() == [t ^ 32 for t in range(128)]


def test_a_named_barrier_that_expects_too_many_is_an_error():
    expected = r"64 at 'bar\.sync %pair, 96' \(\?\), where barrier 1 expects 96, and 64 at .* barrier 2 "
    with pytest.raises(EmulatorError, match=expected):
        launch_ptx(NAMED.replace("COUNT", "96"), "kernel", np.zeros(128, dtype=np.uint32), block=128)


def test_a_barrier_that_some_threads_never_reach_names_the_lines():
    text = """extern "C" __global__ void kernel(volatile int* y) {
        if (threadIdx.x < 40) {
            y[threadIdx.x] = 1;
            __syncthreads();
        } else {
            asm volatile("bar.sync 1;");
            y[threadIdx.x] = 2;
        }
    }"""
    with pytest.raises(EmulatorError) as error:
        launch_cuda(text, np.zeros(64, dtype=np.int32), grid=2, block=64)
    message = str(error.value)
    assert "a barrier can never complete: of 64 threads of block (0, 0, 0) that have not exited" in message
    assert "40 at" in message and "(kernel.cu:4)" in message
    assert "24 at" in message and "(kernel.cu:6)" in message


TWO_BARRIERS = """extern "C" __global__ void kernel(volatile int* y) {
        if (threadIdx.x & %d) {
            y[threadIdx.x] = 1;
            __syncthreads();
        } else {
            y[threadIdx.x] = 2;
            __syncthreads();
        }
    }"""


def test_lanes_of_a_warp_at_different_barriers_are_a_hazard():
    y = np.zeros(64, dtype=np.int32)
    (hazard,) = launch_cuda(TWO_BARRIERS % 1, y, block=64).hazards
    assert hazard.kind == "divergent barrier"
    assert {hazard.location} <= {"kernel.cu:4", "kernel.cu:7"}
    assert "kernel.cu:4" in hazard.message and "kernel.cu:7" in hazard.message
    assert y.tolist() == [2, 1] * 32, "the threads go on all the same"


def test_whole_warps_at_different_barriers_are_none():
    assert launch_cuda(TWO_BARRIERS % 32, np.zeros(64, dtype=np.int32), block=64).hazards == ()


@pytest.mark.parametrize("statement", ["bar.arrive 1, 64;", "barrier.cluster.arrive;", "bar.red.popc.u32 %t, 0, %p;"])
def test_other_barriers_are_refused(statement: str):
    text = f""".version 8.5
    .target sm_90
    .visible .entry kernel() {{ .reg .u32 %t; .reg .pred %p; {statement} ret; }}"""
    with pytest.raises(EmulatorError, match=r"the emulator does not know the instruction '.*': only bar\.sync"):
        launch_ptx(text, "kernel", block=64)
