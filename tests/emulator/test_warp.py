"""Lanes that see each other: shuffles, votes, reductions, against the ISA's own pseudo-code in Python."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cornerturn.errors import EmulatorError

from .harness import HEADER, disagreements, launch_cuda, launch_ptx, run_instruction
from .tables.notation import Case
from .tables.other_lanes import OTHER_LANES

LANES = range(32)


def plain_shuffle(mode: str, lane: int, b: int, c: int) -> tuple[int, bool]:
    """The lane that is read and the predicate (PTX ISA, shfl.sync, semantics)."""
    segment, clamp, b = c >> 8 & 31, c & 31, b & 31
    last = lane & segment | clamp & ~segment
    source = {"up": lane - b, "down": lane + b, "bfly": lane ^ b, "idx": lane & segment | b & ~segment}[mode]
    inside = source >= last if mode == "up" else source <= last
    return (source if inside else lane), inside


@pytest.mark.parametrize("mode", ["up", "down", "bfly", "idx"])
@settings(max_examples=30)
@given(
    b=st.lists(st.integers(0, 40), min_size=32, max_size=32),
    logarithm=st.integers(0, 5),
    clamp=st.sampled_from([0, 31, 7]),
)
def test_shuffles(mode: str, b: list[int], logarithm: int, clamp: int):
    c = (32 - 2**logarithm) << 8 | clamp
    values = [1000 + lane for lane in LANES]
    rows = list(zip(values, b, [c] * 32, strict=True))
    moved = run_instruction("b32 = b32, b32, b32", f"shfl.sync.{mode}.b32 %d, %a, %b, %c, -1;", rows)
    inside = run_instruction("pred = b32, b32, b32", f".reg .b32 %e; shfl.sync.{mode}.b32 %e|%d, %a, %b, %c, -1;", rows)
    expected = [plain_shuffle(mode, lane, b[lane], c) for lane in LANES]
    assert moved == [values[source] for source, _ in expected]
    assert inside == [int(flag) for _, flag in expected]


def test_a_shuffle_of_half_a_warp():
    text = """extern "C" __global__ void kernel(const int* x, int* y) {
        if (threadIdx.x < 16) y[threadIdx.x] = __shfl_xor_sync(0xffff, x[threadIdx.x], 5);
    }"""
    x, y = np.arange(32, dtype=np.int32), np.full(32, -1, dtype=np.int32)
    assert launch_cuda(text, x, y).hazards == ()
    assert y.tolist() == [lane ^ 5 for lane in range(16)] + [-1] * 16


def test_a_tile_is_transposed_through_registers():
    text = """extern "C" __global__ void kernel(const float* x, float* y) {
        float row[32];
        for (int k = 0; k < 32; ++k) row[k] = x[k * 32 + threadIdx.x];
        #pragma unroll
        for (int half = 16; half > 0; half /= 2)
            #pragma unroll
            for (int k = 0; k < 32; ++k)
                if (!(k & half)) {
                    const bool upper = threadIdx.x & half;
                    const float sent = __shfl_xor_sync(~0u, upper ? row[k] : row[k + half], half);
                    if (upper) row[k] = sent; else row[k + half] = sent;
                }
        for (int k = 0; k < 32; ++k) y[k * 32 + threadIdx.x] = row[k];
    }"""
    x = np.arange(1024, dtype=np.float32).reshape(32, 32)
    y = np.zeros_like(x)
    emulation = launch_cuda(text, x, y)
    assert np.array_equal(y, x.T)
    assert emulation.hazards == ()
    assert {(access.space, access.sectors) for access in emulation.accesses} == {("global", 4)}


def test_a_matrix_of_halves_is_transposed():
    text = """extern "C" __global__ void kernel(const unsigned* x, unsigned* y) {
        unsigned turned;
        asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(turned) : "r"(x[threadIdx.x]));
        y[threadIdx.x] = turned;
    }"""
    x = np.arange(128, dtype=np.uint16).reshape(2, 8, 8)
    y = np.zeros_like(x)
    launch_cuda(text, x, y, block=64)
    assert np.array_equal(y, x.swapaxes(1, 2))


def test_a_source_lane_that_is_elsewhere_is_a_hazard():
    text = """extern "C" __global__ void kernel(const int* x, int* y) {
        if (threadIdx.x < 16)
            y[threadIdx.x] = __shfl_sync(0xffff, x[threadIdx.x], threadIdx.x + 8);
    }"""
    (hazard,) = launch_cuda(text, np.arange(32, dtype=np.int32), np.zeros(32, dtype=np.int32)).hazards
    assert (hazard.kind, hazard.location, hazard.thread, hazard.count) == (
        "inactive source lane",
        "kernel.cu:3",
        (8, 0, 0),
        8,
    )


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("__any_sync(~0u, x[i] == 3)", lambda x: [int(3 in x)] * 32),
        ("__any_sync(~0u, x[i] == 99)", lambda x: [0] * 32),
        ("__all_sync(~0u, x[i] < 50)", lambda x: [int(max(x) < 50)] * 32),
        ("__all_sync(~0u, x[i] != 3)", lambda x: [0] * 32),
        ("(int)__ballot_sync(~0u, x[i] & 1)", lambda x: [sum((v & 1) << k for k, v in enumerate(x))] * 32),
        ("(int)__activemask()", lambda x: [-1] * 32),
        ("__reduce_add_sync(~0u, x[i])", lambda x: [sum(x)] * 32),
        ("__reduce_min_sync(~0u, x[i] - 20)", lambda x: [min(x) - 20] * 32),
        ("__reduce_max_sync(~0u, x[i])", lambda x: [max(x)] * 32),
        (
            "(int)__reduce_and_sync(~0u, (unsigned)x[i] | 5)",
            lambda x: [int(np.bitwise_and.reduce(np.array(x) | 5))] * 32,
        ),
        ("(int)__reduce_or_sync(~0u, (unsigned)x[i])", lambda x: [int(np.bitwise_or.reduce(x))] * 32),
        ("(int)__reduce_xor_sync(~0u, (unsigned)x[i])", lambda x: [int(np.bitwise_xor.reduce(x))] * 32),
    ],
)
def test_votes_and_reductions(call: str, expected: object):
    text = f"""extern "C" __global__ void kernel(const int* x, int* y) {{
        const int i = threadIdx.x;
        y[i] = {call};
    }}"""
    x = (np.arange(32) * 7 % 37).astype(np.int32)
    y = np.zeros(32, dtype=np.int32)
    launch_cuda(text, x, y)
    bits = [value - 2**32 if value >= 2**31 else value for value in expected(x.tolist())]  # type: ignore[operator]
    assert y.tolist() == bits


def test_each_warp_and_each_arm_votes_for_itself():
    text = """extern "C" __global__ void kernel(unsigned* y) {
        const int i = threadIdx.x;
        if (i & 1)
            y[i] = __ballot_sync(0xaaaaaaaa, i & 2) | __activemask() << 1 >> 1;
        else
            y[i] = __ballot_sync(0x55555555, i & 32) + 1;
    }"""
    y = np.zeros(64, dtype=np.uint32)
    assert launch_cuda(text, y, block=64).hazards == ()
    assert y.tolist() == [0x2AAAAAAA | 0x88888888 if i & 1 else (0x55555555 if i & 32 else 0) + 1 for i in range(64)]


def test_groups_within_a_warp_answer_for_themselves():
    """Lanes of different masks may execute one instruction together (cooperative groups of 8 here)."""
    text = """extern "C" __global__ void kernel(const int* x, int* y) {
        const int i = threadIdx.x;
        const unsigned mask = 0xffu << (i & 24);
        y[i] = __ballot_sync(mask, x[i] & 1);
        y[i + 32] = __any_sync(mask, x[i] > 20);
        y[i + 64] = __all_sync(mask, x[i] > 6);
        y[i + 96] = __reduce_add_sync(mask, x[i]);
        int leads;
        asm volatile("{ .reg .pred p; .reg .b32 who; elect.sync who|p, %1; selp.b32 %0, 1, 0, p; }"
                     : "=r"(leads) : "r"(mask));
        y[i + 128] = leads;
    }"""
    x, y = np.arange(32, dtype=np.int32), np.zeros(160, dtype=np.int32)
    launch_cuda(text, x, y)
    ballot, some, every, total, leads = y.view(np.uint32).reshape(5, 32).tolist()
    assert ballot == [0xAA << (lane & 24) for lane in LANES]
    assert some == [int(lane >= 16) for lane in LANES]
    assert every == [int(lane >= 8) for lane in LANES]
    assert total == [sum(range(lane & 24, (lane & 24) + 8)) for lane in LANES]
    assert leads == [int(lane % 8 == 0) for lane in LANES]


def test_uniform_vote():
    rows = [(7, 0)] * 31 + [(7, 1)]
    same = run_instruction("pred = b32, pred", "vote.sync.uni.pred %d, %b, -1;", [(7, 1)] * 32)
    mixed = run_instruction("pred = b32, pred", "vote.sync.uni.pred %d, %b, -1;", rows)
    negated = run_instruction("b32 = b32, pred", "vote.sync.ballot.b32 %d, !%b, -1;", rows)
    assert (same, mixed, negated) == ([1] * 32, [0] * 32, [0x7FFF_FFFF] * 32)


def test_one_lane_is_elected():
    text = f"""{HEADER}
    .visible .entry kernel(.param .u64 p) {{
        .reg .u64 %at; .reg .u32 %t, %who; .reg .pred %p, %leader;
        ld.param.u64 %at, [p]; mov.u32 %t, %tid.x; mad.wide.u32 %at, %t, 4, %at;
        setp.lt.u32 %p, %t, 5;
        @%p bra done;
        elect.sync %who|%leader, 0xffffffe0;
        @%leader add.u32 %who, %who, 100;
        st.global.u32 [%at], %who;
    done:
        ret;
    }}"""
    y = np.zeros(32, dtype=np.uint32)
    launch_ptx(text, "kernel", y)
    assert y.tolist() == [0] * 5 + [105] + [5] * 26


@pytest.mark.parametrize(
    "call",
    ["__shfl_sync(~0u, x[i], 0)", "__ballot_sync(~0u, x[i])", "__reduce_add_sync(~0u, x[i])", "(__syncwarp(), 1)"],
)
def test_a_mask_that_names_an_absent_lane_is_an_error(call: str):
    text = f"""extern "C" __global__ void kernel(const int* x, volatile int* y) {{
        const int i = threadIdx.x;
        if (i & 1)
            y[i] = {call};
        else
            y[i] = 2;
    }}"""
    with pytest.raises(EmulatorError, match=r"kernel.cu:4: .*: lanes 0x55555555 of .* do not reach it"):
        launch_cuda(text, np.arange(32, dtype=np.int32), np.zeros(32, dtype=np.int32))


def test_a_lane_outside_of_its_own_mask_is_an_error():
    text = 'extern "C" __global__ void kernel(int* y) { y[threadIdx.x] = __ballot_sync(0xffff, threadIdx.x & 1); }'
    with pytest.raises(EmulatorError, match=r"kernel.cu:1: .*: lanes 0xffff0000 of .* not named"):
        launch_cuda(text, np.zeros(32, dtype=np.int32))


def test_exited_lanes_may_stand_in_a_mask():
    text = """extern "C" __global__ void kernel(int* y) {
        if (threadIdx.x >= 20) return;
        y[threadIdx.x] = __popc(__ballot_sync(~0u, 1));
    }"""
    y = np.zeros(32, dtype=np.int32)
    launch_cuda(text, y)
    assert y.tolist() == [20] * 20 + [0] * 12


def test_lanes_past_the_end_of_the_block_are_absent():
    text = """extern "C" __global__ void kernel(int* y) {
        y[threadIdx.x] = __popc(__ballot_sync(__activemask(), 1)) + 100 * __popc(__activemask());
    }"""
    y = np.zeros(40, dtype=np.int32)
    launch_cuda(text, y, block=40)
    assert y.tolist() == [3232] * 32 + [808] * 8


@pytest.mark.parametrize(
    "line",
    [
        "match.any.sync.b32 %r, %r, -1",
        "vote.all.pred %p, %p",
        "shfl.idx.b32 %r, %r, 0, 31",
        "redux.sync.min.f32 %r, %r, -1",
    ],
)
def test_other_forms_are_refused(line: str):
    with pytest.raises(EmulatorError, match=f"does not know the instruction '{re.escape(line)}'"):
        launch_ptx(f"{HEADER} .visible .entry kernel() {{ .reg .b32 %r; .reg .pred %p; {line}; ret; }}", "kernel")


@pytest.mark.parametrize("case", OTHER_LANES, ids=lambda case: case.lines)
def test_meaning(case: Case):
    found = disagreements(case)
    assert not found, "\n".join(found)
