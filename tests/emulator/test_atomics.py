"""Atomics: every lane's turn counts, in ascending order."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cornerturn.errors import EmulatorError

from .harness import HEADER, launch_cuda, launch_ptx


def _signed(value: int, bits: int) -> int:
    return value - 2**bits if value >> (bits - 1) & 1 else value


UPDATES: dict[str, Callable[[int, int, int], int]] = {
    "add": lambda old, a, b: old + a,
    "min": lambda old, a, b: min(old, a),
    "max": lambda old, a, b: max(old, a),
    "and": lambda old, a, b: old & a,
    "or": lambda old, a, b: old | a,
    "xor": lambda old, a, b: old ^ a,
    "exch": lambda old, a, b: a,
    "cas": lambda old, a, b: b if old == a else old,
    "inc": lambda old, a, b: 0 if old >= a else old + 1,
    "dec": lambda old, a, b: a if old == 0 or old > a else old - 1,
}
KINDS = {
    "add": ("u32", "s32", "u64"),
    "min": ("u32", "s32", "u64", "s64"),
    "max": ("u32", "s32", "u64", "s64"),
    "and": ("b32", "b64"),
    "or": ("b32", "b64"),
    "xor": ("b32", "b64"),
    "exch": ("b32", "b64"),
    "cas": ("b16", "b32", "b64"),
    "inc": ("u32",),
    "dec": ("u32",),
}
CASES = [(name, kind) for name, kinds in KINDS.items() for kind in kinds]


def atomic_kernel(name: str, kind: str) -> str:
    """Lane t updates slot ``slots[t]`` with ``a[t]`` (and ``b[t]``) and keeps what was there before."""
    size = int(kind[1:]) // 8
    third = ", %b" if name == "cas" else ""
    return f"""{HEADER}
.visible .entry kernel(.param .u64 pm, .param .u64 ps, .param .u64 pa, .param .u64 pb, .param .u64 pd) {{
    .reg .u32 %t, %slot; .reg .u64 %at; .reg .{kind} %a, %b, %d;
    mov.u32 %t, %tid.x;
    ld.param.u64 %at, [ps]; mad.wide.u32 %at, %t, 4, %at; ld.global.u32 %slot, [%at];
    ld.param.u64 %at, [pa]; mad.wide.u32 %at, %t, {size}, %at; ld.global.{kind} %a, [%at];
    ld.param.u64 %at, [pb]; mad.wide.u32 %at, %t, {size}, %at; ld.global.{kind} %b, [%at];
    ld.param.u64 %at, [pm]; mad.wide.u32 %at, %slot, {size}, %at;
    atom.global.{name}.{kind} %d, [%at], %a{third};
    ld.param.u64 %at, [pd]; mad.wide.u32 %at, %t, {size}, %at; st.global.{kind} [%at], %d;
    ret;
}}"""


@pytest.mark.parametrize(("name", "kind"), CASES)
@settings(max_examples=5)
@given(data=st.data())
def test_lanes_take_their_turns(name: str, kind: str, data: st.DataObject):
    bits = int(kind[1:])
    word = st.one_of(st.integers(0, 3), st.integers(0, 3), st.integers(0, 2**bits - 1))
    values = st.lists(word, min_size=32, max_size=32)
    a, b, initial = data.draw(values), data.draw(values), data.draw(values)[:4]
    slots = data.draw(st.lists(st.integers(0, 3), min_size=32, max_size=32))

    expected, before = list(initial), []
    number = (lambda v: _signed(v, bits)) if kind[0] == "s" else (lambda v: v)
    for lane, slot in enumerate(slots):
        before.append(expected[slot])
        expected[slot] = UPDATES[name](number(expected[slot]), number(a[lane]), number(b[lane])) % 2**bits

    dtype = f"u{bits // 8}"
    memory, old = np.array(initial, dtype), np.zeros(32, dtype)
    arrays = (memory, np.array(slots, np.uint32), np.array(a, dtype), np.array(b, dtype), old)
    emulation = launch_ptx(atomic_kernel(name, kind), "kernel", *arrays)
    assert memory.tolist() == expected
    assert old.tolist() == before
    assert emulation.hazards == ()


def test_red_keeps_nothing():
    text = f"""{HEADER}
    .visible .entry kernel(.param .u64 p) {{
        .reg .u64 %at; ld.param.u64 %at, [p];
        red.relaxed.gpu.global.add.u32 [%at], 2;
        red.global.max.s32 [%at+4], -3;
        ret;
    }}"""
    memory = np.array([5, -7], dtype=np.int32)
    launch_ptx(text, "kernel", memory, grid=3)
    assert memory.tolist() == [5 + 2 * 96, -3]


def test_atomics_in_shared_memory_and_at_generic_addresses():
    text = """__device__ __forceinline__ void bump(int* p) { atomicAdd(p, 1); }
    extern "C" __global__ void kernel(const int* x, int* y) {
        __shared__ int bins[8];
        if (threadIdx.x < 8) bins[threadIdx.x] = 0;
        __syncthreads();
        const int value = x[blockIdx.x * blockDim.x + threadIdx.x];
        bump(value & 8 ? y + 8 : bins + value);
        __syncthreads();
        if (threadIdx.x < 8) atomicAdd(y + threadIdx.x, bins[threadIdx.x]);
    }"""
    x = np.random.default_rng(0).integers(0, 16, 512).astype(np.int32)
    y = np.zeros(9, dtype=np.int32)
    emulation = launch_cuda(text, x, y, grid=4, block=128)
    assert y.tolist() == [*np.bincount(x, minlength=16)[:8], np.count_nonzero(x & 8)]
    assert emulation.hazards == ()
    assert {access.space for access in emulation.accesses if access.kind == "atomic"} == {"shared", "global"}


def test_an_atomic_is_counted_as_one_access():
    text = 'extern "C" __global__ void kernel(int* y) { atomicAdd(y + threadIdx.x / 16 * 64, 1); }'
    y = np.zeros(128, dtype=np.int32)
    (access,) = launch_cuda(text, y, block=64).accesses
    assert (access.kind, access.space, access.width) == ("atomic", "global", 4)
    assert (access.requests, access.lanes, access.sectors, access.lines) == (2, 64, 4, 4)


def test_an_atomic_on_memory_that_nobody_wrote_is_found():
    text = 'extern "C" __global__ void kernel(int* y) { __shared__ int n; FIRST; y[threadIdx.x] = atomicAdd(&n, 1); }'
    y = np.zeros(32, dtype=np.int32)
    (hazard,) = launch_cuda(text.replace("FIRST", ""), y).hazards
    assert (hazard.kind, hazard.count) == ("uninitialised read", 32)
    assert hazard.message == "4-byte read of bytes that no thread wrote"
    assert launch_cuda(text.replace("FIRST", "atomicExch(&n, 5)"), y).hazards == ()
    assert y.tolist() == [*range(5, 37)]


@pytest.mark.parametrize(
    ("line", "left"),
    [
        ("atom.global.add.L2::cache_hint.u32 %r, [%at], 5, %policy;", 12),
        ("atom.global.cas.L2::cache_hint.b32 %r, [%at], 7, 5, %policy;", 5),
        ("red.global.max.L2::cache_hint.u32 [%at], 9, %policy;", 9),
    ],
)
def test_a_cache_policy_is_no_value(line: str, left: int):
    text = f"""{HEADER}
    .visible .entry kernel(.param .u64 p) {{
        .reg .u64 %at, %policy; .reg .b32 %r; ld.param.u64 %at, [p];
        createpolicy.fractional.L2::evict_last.b64 %policy, 1.0; {line} ret;
    }}"""
    y = np.full(1, 7, dtype=np.uint32)
    assert launch_ptx(text, "kernel", y, block=1).hazards == ()
    assert y[0] == left


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("atom.global.add.f32 %f, [%at], %f;", "only atomics on integers are emulated"),
        ("red.global.add.noftz.f16x2 [%at], %r;", r"modifier \.noftz"),
    ],
)
def test_other_atomics_are_refused(line: str, reason: str):
    text = f"""{HEADER}
    .visible .entry kernel(.param .u64 p) {{
        .reg .u64 %at; .reg .f32 %f; .reg .b32 %r; ld.param.u64 %at, [p]; {line} ret;
    }}"""
    with pytest.raises(EmulatorError, match=f"the emulator does not know the instruction '.*': {reason}"):
        launch_ptx(text, "kernel", np.zeros(1, dtype=np.int32))
