"""Lanes that part and meet again: CUDA C++ through NVRTC against the same program in Python, one lane at a time."""

import re
from collections.abc import Callable

import numpy as np
import pytest

from cornerturn.emulator import machine
from cornerturn.errors import EmulatorError

from .harness import HEADER, image_of, launch_cuda, launch_ptx

THREADS = 96


def _collatz(v: int, i: int) -> int:
    steps = 0
    while v > 1:
        v = 3 * v + 1 if v & 1 else v // 2
        steps += 1
    return steps


def _nested(v: int, i: int) -> int:
    total = 0
    for a in range(v % 5):
        for b in range(i % 7):
            if a == b:
                continue
            if a + b > 6:
                break
            total += 10 * a + b
    return total


def _switch(v: int, i: int) -> int:
    return {0: i * 3, 1: i + 7, 2: i ^ 5, 3: i - 9, 4: v // (i + 1), 5: v % (i + 1), 6: v << (i % 8)}.get(v % 9, -1)


def _fall_through(v: int, i: int) -> int:
    total = 0
    for case in range(v % 4, 3):
        total += (100, 10, 1)[case]
    return total


def _branches(v: int, i: int) -> int:
    if v & 1:
        return 1000 + i if v & 2 else 2000 + v
    return 3000 - i if i & 4 else 4000


def _search(v: int, i: int) -> int:
    for n in range(2, v):
        if v % n == 0:
            return n
    return -i


def _short_circuit(v: int, i: int) -> int:
    return 1 if (v > 3 and 60 // v > i % 16) or i % 5 == 0 else 2


def _two_exits(v: int, i: int) -> int:
    n = v
    while True:
        n += 3
        if n % 7 == 0:
            return n
        n += 1
        if n % 5 == 0:
            return -n


def _do_while(v: int, i: int) -> int:
    total = 0
    while True:
        total += v
        v -= 5
        if v <= i % 11:
            return total


PROGRAMS: dict[str, tuple[str, Callable[[int, int], int]]] = {
    "a loop of different lengths": ("while (v > 1) { v = v & 1 ? 3 * v + 1 : v / 2; ++out; }", _collatz),
    "nested loops, break and continue": (
        """for (int a = 0; a < v % 5; ++a)
               for (int b = 0; b < i % 7; ++b) {
                   if (a == b) continue;
                   if (a + b > 6) break;
                   out += 10 * a + b;
               }""",
        _nested,
    ),
    "switch": (
        """switch (v % 9) {
               case 0: out = i * 3; break;
               case 1: out = i + 7; break;
               case 2: out = i ^ 5; break;
               case 3: out = i - 9; break;
               case 4: out = v / (i + 1); break;
               case 5: out = v % (i + 1); break;
               case 6: out = v << (i % 8); break;
               default: out = -1;
           }""",
        _switch,
    ),
    "switch that falls through": (
        "switch (v % 4) { case 0: out += 100; case 1: out += 10; case 2: out += 1; default:; }",
        _fall_through,
    ),
    "nested branches": (
        """if (v & 1) { if (v & 2) out = 1000 + i; else out = 2000 + v; }
           else if (i & 4) out = 3000 - i;
           else out = 4000;""",
        _branches,
    ),
    "early return": (
        "for (int n = 2; n < v; ++n) if (v % n == 0) { y[i] = n; return; } out = -i;",
        _search,
    ),
    "short circuit": ("out = (v > 3 && 60 / v > i % 16) || i % 5 == 0 ? 1 : 2;", _short_circuit),
    "a loop with two exits": (
        "int n = v; for (;;) { n += 3; if (n % 7 == 0) { out = n; break; } ++n; if (n % 5 == 0) { out = -n; break; } }",
        _two_exits,
    ),
    "do while": ("do { out += v; v -= 5; } while (v > i % 11);", _do_while),
    "goto": (
        "again: out += i; if (--v > 0) goto again;",
        lambda v, i: i * max(v, 1),
    ),
}


def source(body: str) -> str:
    return f"""extern "C" __global__ void kernel(const int* x, int* y) {{
        const int i = blockIdx.x * blockDim.x + threadIdx.x;
        int v = x[i], out = 0;
        {body}
        y[i] = out;
    }}"""


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_lane_goes_its_own_way(name: str):
    body, program = PROGRAMS[name]
    x = np.random.default_rng(1).integers(0, 60, 2 * THREADS).astype(np.int32)
    y = np.zeros_like(x)
    emulation = launch_cuda(source(body), x, y, grid=2, block=THREADS)
    assert y.tolist() == [program(int(v), i) for i, v in enumerate(x)]
    assert emulation.hazards == ()
    store = [access for access in emulation.accesses if access.kind == "store"]
    assert sum(access.lanes for access in store) == len(x)
    if "return" not in name:
        assert [access.requests for access in store] == [len(x) // 32], "the warps are whole again when they store"


# --- what is counted where lanes part -----------------------------------------------------------------------------

_MIXED = np.tile([0, 1], 32).astype(np.int32)  # both ways in each of two warps
_APART = np.repeat([0, 1], 32).astype(np.int32)  # one way a warp


def stores_by_line(text: str, x: np.ndarray) -> dict[int, tuple[int, int]]:
    """Requests and lanes of every store, by its line of the text."""
    emulation = launch_cuda(text, x, np.zeros(256, dtype=np.int32), block=len(x))
    stores = (access for access in emulation.accesses if access.kind == "store")
    return {int(a.location.split(":")[1]): (a.requests, a.lanes) for a in stores}


TWO_ARMS = """extern "C" __global__ void kernel(const int* x, volatile int* y) {
    if (x[threadIdx.x])
        y[threadIdx.x] = 1;
    else
        y[threadIdx.x + 64] = 2;
    y[threadIdx.x + 128] = 3;
}"""


def test_each_arm_is_a_request_and_what_follows_is_whole():
    assert stores_by_line(TWO_ARMS, _MIXED) == {3: (2, 32), 5: (2, 32), 6: (2, 64)}
    assert stores_by_line(TWO_ARMS, _APART) == {3: (1, 32), 5: (1, 32), 6: (2, 64)}
    assert stores_by_line(TWO_ARMS, 0 * _MIXED) == {5: (2, 64), 6: (2, 64)}


def test_lanes_meet_again_wherever_the_text_puts_that():
    """The block where the arms meet comes before one of them."""
    text = f"""{HEADER}
    .visible .entry kernel(.param .u64 p) {{
        .reg .u64 %at; .reg .u32 %t; .reg .pred %p;
        ld.param.u64 %at, [p]; mov.u32 %t, %tid.x; setp.lt.u32 %p, %t, 9;
        mad.wide.u32 %at, %t, 4, %at;
        @%p bra far;
        st.global.u32 [%at], 1;
    meet:
        st.global.u32 [%at+128], 2;
        ret;
    far:
        st.global.u32 [%at], 3;
        bra meet;
    }}"""
    y = np.zeros(64, dtype=np.uint32)
    accesses = launch_ptx(text, "kernel", y).accesses
    assert y.tolist() == [3] * 9 + [1] * 23 + [2] * 32
    assert [(access.requests, access.lanes) for access in accesses] == [(1, 23), (1, 32), (1, 9)]


def test_a_lane_may_run_off_the_end():
    text = f"""{HEADER}
    .visible .entry kernel(.param .u64 p) {{
        .reg .u64 %at; .reg .u32 %t; .reg .pred %p;
        ld.param.u64 %at, [p]; mov.u32 %t, %tid.x; setp.lt.u32 %p, %t, 40;
        mad.wide.u32 %at, %t, 4, %at;
        @!%p bra last;
        bar.sync 0;
    last:
        st.global.u32 [%at], 1;
    }}"""
    y = np.zeros(64, dtype=np.uint32)
    launch_ptx(text, "kernel", y, block=64)
    assert y.all()


def test_a_loop_counts_the_lanes_that_are_still_in_it():
    text = """extern "C" __global__ void kernel(const int* x, volatile int* y) {
        for (int n = 0; n < x[threadIdx.x]; ++n)
            y[threadIdx.x] = n;
        y[threadIdx.x + 64] = 1;
    }"""
    trips = np.arange(32, dtype=np.int32) % 4
    assert stores_by_line(text, trips) == {3: (3, 8 * (1 + 2 + 3)), 4: (1, 32)}


def test_a_lane_that_returned_takes_no_part():
    text = """extern "C" __global__ void kernel(const int* x, volatile int* y) {
        if (x[threadIdx.x]) return;
        y[threadIdx.x] = 1;
    }"""
    assert stores_by_line(text, _MIXED) == {3: (2, 32)}
    assert stores_by_line(text, _APART) == {3: (1, 32)}


def test_a_block_that_is_no_multiple_of_a_warp():
    text = """extern "C" __global__ void kernel(const int* x, volatile int* y) {
        y[threadIdx.x + threadIdx.y * 7] = 1;
    }"""
    y = np.zeros(64, dtype=np.int32)
    emulation = launch_cuda(text, y, y, block=(7, 5))
    assert y.tolist() == [1] * 35 + [0] * 29
    assert [(a.requests, a.lanes, a.sectors) for a in emulation.accesses] == [(2, 35, 5)]


def test_instructions_are_counted_by_warp_and_by_lane():
    text = """.version 8.5
    .target sm_90
    .visible .entry kernel() {
        .reg .pred %p; .reg .u32 %r;
        mov.u32 %r, %tid.x;
        setp.lt.u32 %p, %r, 8;
        @%p add.u32 %r, %r, 1;
        @!%p bra skip;
        add.u32 %r, %r, 2;
    skip:
        ret;
    }"""
    emulation = launch_ptx(text, "kernel", grid=3, block=48)
    assert emulation.warp_instructions == 3 * (2 * 5 + 1), "the branched-over line only where a lane takes it"
    assert emulation.lane_instructions == 3 * (48 * 3 + 8 + 8 + (48 - 8))


def test_a_launch_larger_than_one_wave_gives_each_block_its_own_place():
    text = """extern "C" __global__ void kernel(unsigned* y) {
        const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
        y[block * 64 + threadIdx.x + 4 * (threadIdx.y + 4 * threadIdx.z)] = block << 8 | threadIdx.z << 4 | threadIdx.y;
    }"""
    grid, block = (5, 31, 11), (4, 4, 4)
    y = np.zeros(5 * 31 * 11 * 64, dtype=np.uint32)
    launch_cuda(text, y, grid=grid, block=block)
    blocks, z, rows = np.ogrid[: 5 * 31 * 11, :4, :4]
    assert np.array_equal(y.reshape(-1, 4, 4, 4), np.repeat((blocks << 8 | z << 4 | rows)[..., None], 4, axis=3))


@pytest.mark.parametrize("body", ["for (int n = 0; n != limit; ++n) y[0] = n;", "while (y[0]++ != limit);"])
def test_a_loop_may_be_long_but_not_without_end(body: str, monkeypatch: pytest.MonkeyPatch):
    text = f"""extern "C" __global__ void kernel(volatile int* y, int limit) {{
        #pragma unroll 1
        {body}
    }}"""
    monkeypatch.setattr(machine, "MAX_TURNS", 1500)
    launch_cuda(text, np.zeros(1, dtype=np.int32), np.int32(1400), block=1)
    with pytest.raises(EmulatorError, match=r"^kernel.cu:3: a loop of kernel kernel has not ended after 1500 turns"):
        launch_cuda(text, np.zeros(1, dtype=np.int32), np.int32(1600), block=1)


def test_a_loop_of_many_turns_is_in_bounds():
    assert machine.MAX_TURNS > 65536


def test_trap_names_the_thread():
    text = 'extern "C" __global__ void kernel(const int* x) {\n    if (x[threadIdx.x] == 41) __trap();\n}'
    with pytest.raises(EmulatorError, match=r"kernel.cu:2: trap executed by thread \(41, 0, 0\) of block \(0, 0, 0\)"):
        launch_cuda(text, np.arange(64, dtype=np.int32), block=64)


def test_programs_do_branch():
    """The compiler may turn a branch into a select; these tests mean nothing then."""
    branching = [name for name, (body, _) in PROGRAMS.items() if re.search(r"@!?%p\d+ bra", image_of(source(body)).ptx)]
    assert len(branching) >= 8
