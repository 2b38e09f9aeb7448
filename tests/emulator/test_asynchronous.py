"""``cp.async``: bytes that arrive when a wait says so and not before."""

from collections.abc import Iterator

import numpy as np
import pytest

from cornerturn.emulator import Access
from cornerturn.errors import EmulatorError

from .harness import launch_cuda

PRELUDE = """
template <int bytes> __device__ void fetch(void* to, const void* from) {
    const unsigned target = __cvta_generic_to_shared(to);
    const auto source = __cvta_generic_to_global(from);
    if (bytes == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(target), "l"(source) : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(target), "l"(source), "n"(bytes) : "memory");
}
__device__ void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int pending> __device__ void wait() { asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory"); }
__device__ void wait_all() { asm volatile("cp.async.wait_all;" ::: "memory"); }
"""


def copies(accesses: tuple[Access, ...]) -> Iterator[tuple[str, str, int, int, int, int]]:
    for a in accesses:
        if a.instruction.startswith("cp.async"):
            yield a.space, a.kind, a.width, a.requests, a.sectors, a.wavefronts


@pytest.mark.parametrize(("size", "element"), [(4, "int"), (8, "int2"), (16, "int4")])
def test_a_copy_is_a_global_load_and_a_shared_store(size: int, element: str):
    text = f"""{PRELUDE}
    extern "C" __global__ void kernel(const {element}* x, {element}* y) {{
        __shared__ {element} tile[64];
        fetch<{size}>(tile + threadIdx.x, x + threadIdx.x);
        wait_all();
        __syncthreads();
        y[threadIdx.x] = tile[63 - threadIdx.x];
    }}"""
    x = np.arange(64 * size // 4, dtype=np.int32)
    y = np.zeros_like(x)
    emulation = launch_cuda(text, x, y, block=64)
    assert np.array_equal(y.reshape(64, -1), x.reshape(64, -1)[::-1])
    assert emulation.hazards == ()
    assert list(copies(emulation.accesses)) == [
        ("global", "load", size, 2, 64 * size // 32, 0),
        ("shared", "store", size, 2, 0, 2 * size // 4),
    ]


STAGES = (
    PRELUDE
    + """
extern "C" __global__ void kernel(const int* x, int* y) {
    __shared__ int tile[4][32];
    for (int stage = 0; stage < 4; ++stage) {
        fetch<4>(&tile[stage][threadIdx.x], x + stage * 32 + threadIdx.x);
        commit();
    }
    WAIT;
    __syncthreads();
    for (int stage = 0; stage < READ; ++stage)
        y[stage * 32 + threadIdx.x] = tile[stage][31 - threadIdx.x];
}"""
)


@pytest.mark.parametrize(
    ("wait", "read", "missing"),
    [
        ("wait<3>()", 1, 0),
        ("wait<3>()", 2, 32),
        ("wait<1>()", 3, 0),
        ("wait<1>()", 4, 32),
        ("wait<0>()", 4, 0),
        ("wait_all()", 4, 0),
        ("", 4, 128),
    ],
)
def test_only_what_was_waited_for_is_there(wait: str, read: int, missing: int):
    x = np.arange(128, dtype=np.int32)
    y = np.zeros_like(x)
    emulation = launch_cuda(STAGES.replace("WAIT", wait).replace("READ", str(read)), x, y)
    assert sum(hazard.count for hazard in emulation.hazards) == missing
    assert {hazard.kind for hazard in emulation.hazards} == ({"uninitialised read"} if missing else set())
    present = read - missing // 32
    assert np.array_equal(y.reshape(4, 32)[:present], x.reshape(4, 32)[:present, ::-1])


def test_a_pipeline_gets_each_stage_in_its_turn():
    text = (
        PRELUDE
        + """
    extern "C" __global__ void kernel(const int* x, int* y) {
        __shared__ int tile[2][64];
        fetch<4>(&tile[0][threadIdx.x], x + threadIdx.x);
        commit();
        for (int stage = 0; stage < 5; ++stage) {
            if (stage < 4) fetch<4>(&tile[~stage & 1][threadIdx.x], x + (stage + 1) * 64 + threadIdx.x);
            commit();
            wait<1>();
            __syncthreads();
            y[stage * 64 + threadIdx.x] = tile[stage & 1][63 - threadIdx.x];
            __syncthreads();
        }
    }"""
    )
    x = np.arange(320, dtype=np.int32)
    y = np.zeros_like(x)
    assert launch_cuda(text, x, y, block=64).hazards == ()
    assert np.array_equal(y.reshape(5, 64), x.reshape(5, 64)[:, ::-1])


def test_uncommitted_copies_wait_for_wait_all():
    text = (
        PRELUDE
        + """
    extern "C" __global__ void kernel(const int* x, int* y) {
        __shared__ int tile[32];
        fetch<4>(tile + threadIdx.x, x + threadIdx.x);
        HOW;
        y[threadIdx.x] = tile[threadIdx.x];
    }"""
    )
    x = np.arange(32, dtype=np.int32)
    for how, missing in (("wait<0>()", 32), ("wait_all()", 0), ("commit(); wait<0>()", 0)):
        emulation = launch_cuda(text.replace("HOW", how), x, np.zeros_like(x))
        assert sum(hazard.count for hazard in emulation.hazards) == missing, how


def test_a_buffer_that_is_filled_again_holds_the_old_bytes_until_the_wait():
    text = (
        PRELUDE
        + """
    extern "C" __global__ void kernel(const int* x, int* y) {
        __shared__ int tile[32];
        tile[threadIdx.x] = -1;
        fetch<4>(tile + threadIdx.x, x + threadIdx.x);
        commit();
        y[threadIdx.x] = tile[threadIdx.x];
        wait<0>();
        y[threadIdx.x + 32] = tile[threadIdx.x];
    }"""
    )
    x = np.arange(32, dtype=np.int32)
    y = np.zeros(64, dtype=np.int32)
    launch_cuda(text, x, y)
    assert y.tolist() == [-1] * 32 + x.tolist()


def test_lanes_copy_or_not_each_for_itself():
    text = (
        PRELUDE
        + """
    extern "C" __global__ void kernel(const int* x, int* y) {
        __shared__ int tile[32];
        tile[threadIdx.x] = -1;
        if (threadIdx.x % 3 == 0) { fetch<4>(tile + threadIdx.x, x + threadIdx.x); commit(); wait<0>(); }
        y[threadIdx.x] = tile[threadIdx.x];
    }"""
    )
    x = np.arange(32, dtype=np.int32)
    y = np.zeros_like(x)
    launch_cuda(text, x, y)
    assert y.tolist() == [lane if lane % 3 == 0 else -1 for lane in range(32)]


SOURCE_SIZE = """
extern "C" __global__ void kernel(const int4* x, int4* y, const unsigned* sizes) {
    __shared__ int4 tile[32];
    const unsigned target = __cvta_generic_to_shared(tile + threadIdx.x);
    const auto source = __cvta_generic_to_global(x + threadIdx.x);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::
        "r"(target), "l"(source), "r"(sizes[threadIdx.x]) : "memory");
    asm volatile("cp.async.wait_all;" ::: "memory");
    y[threadIdx.x] = tile[threadIdx.x];
}"""


def test_bytes_past_the_source_size_become_zero():
    """A lane of source size 0 reads nothing: its address may lie anywhere."""
    x = np.arange(1, 16 * 4 + 1, dtype=np.int32)  # half of the lanes would read past its end
    y = np.full(128, -1, dtype=np.int32)
    sizes = np.repeat([16, 0], 16).astype(np.uint32)
    emulation = launch_cuda(SOURCE_SIZE, x, y, sizes)
    assert emulation.hazards == ()
    assert y.tolist() == x.tolist() + [0] * 64
    assert [(a.lanes, a.sectors) for a in emulation.accesses if a.width == 16][:2] == [(16, 8), (32, 0)]


def test_a_cache_policy_is_no_source_size():
    text = SOURCE_SIZE.replace("global [%0], [%1], 16, %2;", "global.L2::cache_hint [%0], [%1], 16, %3;").replace(
        '"r"(sizes[threadIdx.x])', '"r"(sizes[threadIdx.x]), "l"(0ull)'
    )
    assert "%3" in text
    x = np.arange(1, 129, dtype=np.int32)
    y = np.zeros_like(x)
    assert launch_cuda(text, x, y, np.zeros(32, dtype=np.uint32)).hazards == ()
    assert np.array_equal(y, x)


def test_every_lane_may_have_source_size_zero():
    y = np.full(128, -1, dtype=np.int32)
    emulation = launch_cuda(SOURCE_SIZE, np.zeros(4, dtype=np.int32), y, np.zeros(32, dtype=np.uint32))
    assert emulation.hazards == ()
    assert not y.any()
    assert [(a.space, a.kind) for a in emulation.accesses if a.instruction.startswith("cp")] == [("shared", "store")]


def test_a_source_size_in_between_is_refused():
    with pytest.raises(EmulatorError, match=r"kernel.cu:6: 'cp\.async.*a source size other than 0 and 16"):
        launch_cuda(SOURCE_SIZE, np.zeros(128, np.int32), np.zeros(128, np.int32), np.full(32, 8, np.uint32))


def test_a_source_out_of_bounds_is_found():
    x = np.zeros(64, dtype=np.int32)
    (hazard,) = launch_cuda(SOURCE_SIZE, x, np.zeros(128, np.int32), np.full(32, 16, np.uint32)).hazards
    assert (hazard.kind, hazard.thread, hazard.count) == ("out of bounds", (16, 0, 0), 16)
    assert hazard.message == "16-byte load at argument0 + 256 bytes, where argument0 has 256 bytes"


def test_a_copy_by_a_bulk_engine_is_refused():
    text = """extern "C" __global__ void kernel() {
        asm volatile("cp.async.bulk.commit_group;");
    }"""
    with pytest.raises(EmulatorError, match=r"kernel.cu:2: the emulator does not know .*cp\.async\.bulk"):
        launch_cuda(text)
