"""Each record's kernel, called directly on any box that the record says it fills: bits, and the bytes around them."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

pytest.importorskip("numba")

from cornerturn.op.cpu import store
from cornerturn.op.cpu.box import Box, axes_of
from cornerturn.op.cpu.kernels import KERNELS, KernelRecord
from cornerturn.op.cpu.launch import job_of
from cornerturn.op.cpu.machine import byte_lookup, data_offset
from cornerturn.op.cpu.way import Candidate
from cornerturn.op.problem import Problem, canonical

GUARD = 128
CANARY = 0xA5
LINE = 64

Bytes = NDArray[np.uint8]


def laid(itemsize: int, shape: tuple[int, ...], axes: tuple[int, ...], pad: int = 0, step: int = 1) -> Problem:
    """The move of an array by ``axes`` into rows with ``pad`` elements between them; a negative step turns rows."""
    x = np.empty((*shape[:-1], shape[-1] * abs(step)), f"V{itemsize}")[..., ::step].transpose(axes)
    out = np.empty((*x.shape[:-1], x.shape[-1] + pad), x.dtype)[..., : x.shape[-1]]
    return canonical(itemsize, x.shape, x.strides, out.strides)


def places(problem: Problem, strides: tuple[int, ...]) -> NDArray[np.int64]:
    """Where each element lies, in bytes from the first one that is moved."""
    found = np.zeros(1, np.int64)
    for extent, stride in zip(problem.shape, strides, strict=True):
        found = (found[:, None] + np.arange(extent) * stride).reshape(-1)
    return found


def ways_of(record: KernelRecord, box: Box) -> list[Candidate]:
    """All that a record says it can do with a box."""
    ways = [(True, False), (True, True), (False, False)] if record.scratch else [(False, False), (False, True)]
    return [Candidate(record.name, box, *way, 0) for way in ways if record.fits(box, way[0])]


def buffers(problem: Problem, line_offset: int) -> tuple[Bytes, int, Bytes, int]:
    """Random bytes and canaries, and in each where the first element moved lies."""
    reach = places(problem, problem.strides_in)
    low, high = int(reach.min()), int(reach.max()) + problem.itemsize
    x = np.random.default_rng(high).integers(0, 256, high - low, np.uint8)
    size = int(places(problem, problem.strides_out).max()) + problem.itemsize
    y = np.full(size + 2 * GUARD + LINE, CANARY, np.uint8)
    return x, -low, y, GUARD + (line_offset - y.ctypes.data - GUARD) % LINE


def check(way: Candidate, problem: Problem, line_offset: int, tickets: bool = False) -> None:
    """Move by a way, all at once or ticket by ticket, and compare every byte."""
    x, source, y, target = buffers(problem, line_offset)
    element = np.arange(problem.itemsize)
    expected = y.copy()
    there = (places(problem, problem.strides_out)[:, None] + element).reshape(-1)
    expected[target + there] = x[source + (places(problem, problem.strides_in)[:, None] + element).reshape(-1)]

    kernel, job = store.kernel(way.kernel), job_of(way, problem)
    assert kernel is not None
    scratch, counter = np.zeros(job.scratch_bytes + LINE, np.uint8), np.zeros(1, np.int64)
    addresses = x.ctypes.data + source - problem.offset_in, y.ctypes.data + target - problem.offset_out
    memory = scratch.ctypes.data + -scratch.ctypes.data % LINE
    kernel(*addresses, job.numbers.ctypes.data, counter.ctypes.data if tickets else 0, memory)
    assert y.tobytes() == expected.tobytes(), way
    assert counter[0] == (job.tickets + 1 if tickets else 0)


MOVES: dict[str, list[tuple[Problem, tuple[int, ...]]]] = {
    **{
        f"tiles_{item}": [(laid(item, (40, 50), (1, 0)), (21, 33)), (laid(item, (9, 70), (1, 0), pad=3), (6, 20))]
        for item in (1, 2, 4, 8, 16)
    },
    **{
        f"records_{item}": [(laid(item, (5, 6, 7), (2, 1, 0)), (4, 3, 5)), (laid(item, (30, 8), (1, 0)), (7, 3))]
        for item in (1, 2, 4, 8, 16)
    },
    "vectors": [(laid(1, (3, 50), (1, 0)), (3, 20)), (laid(2, (50, 5), (1, 0), step=-1), (40, 5))],
    "runs": [(laid(8, (6, 5, 20), (1, 0, 2), pad=1), (10, 4, 2)), (laid(1, (3000,), (0,)), (100,))],
}


@pytest.mark.parametrize("name", KERNELS)
def test_every_kernel_fills_boxes_in_every_way_that_its_record_allows(name: str) -> None:
    if name == "vectors" and not byte_lookup():
        pytest.skip("this processor looks up no bytes")
    for problem, chunks in MOVES[name]:
        axes = axes_of(problem)
        assert all(chunk <= axis.extent for chunk, axis in zip(chunks, axes, strict=True))
        box = Box(problem.itemsize, axes, chunks)
        ways = ways_of(KERNELS[name], box)
        assert ways
        for way in ways:
            for line_offset in (0, 20):
                check(way, problem, line_offset)
                check(way, problem, line_offset, tickets=True)


@st.composite
def boxes(draw: st.DrawFn) -> tuple[Problem, Box]:
    """Any box of any move of some thousand elements."""
    shape: list[int] = []
    for _ in range(draw(st.integers(1, 4))):
        shape.append(draw(st.integers(1, max(1, min(90, 8000 // math.prod(shape))))))
    axes = tuple(draw(st.permutations(range(len(shape)))))
    item = draw(st.sampled_from([1, 2, 3, 4, 8, 16]))
    problem = laid(item, tuple(shape), axes, draw(st.sampled_from([0, 0, 1])), draw(st.sampled_from([1, 1, -1, 2])))
    chunks = [draw(st.integers(1, axis.extent) | st.just(axis.extent)) for axis in axes_of(problem)]
    return problem, Box(problem.itemsize, axes_of(problem), tuple(chunks))


@settings(max_examples=150)
@given(boxes(), st.integers(0, 63), st.booleans())
def test_any_box_that_a_record_allows(problem_and_box: tuple[Problem, Box], line_offset: int, tickets: bool) -> None:
    problem, box = problem_and_box
    for record in KERNELS.values():
        for way in ways_of(record, box):
            event(way.kernel)
            assert record.nanoseconds(box) > 0
            check(way, problem, line_offset, tickets)


@pytest.mark.skipif(not data_offset(), reason="arrays do not hold the address of their elements where they used to")
def test_objects_may_stand_for_the_addresses_of_their_elements() -> None:
    problem = laid(4, (40, 50), (1, 0))
    x: Any = np.arange(2000, dtype=np.uint32).reshape(40, 50)
    y: Any = np.zeros((50, 40), np.uint32)
    way = Candidate("tiles_4", Box(4, axes_of(problem), (20, 30)), False, False, 0)
    kernel, job = store.kernel(way.kernel), job_of(way, problem, data_offset())
    assert kernel is not None
    kernel(id(x), id(y), job.numbers.ctypes.data, 0, 0)
    assert (y == x.T).all()


@pytest.mark.parametrize(
    ("name", "item", "chunks", "scratch"),
    [
        ("tiles_4", 4, (3, 40), True),  # no square fits
        ("tiles_4", 2, (40, 40), True),
        ("records_4", 2, (8, 8), True),
        ("vectors", 16, (40, 40), True),
        ("runs", 4, (40, 40), False),  # of one element
    ],
)
def test_what_does_not_fit_is_not_tried(name: str, item: int, chunks: tuple[int, ...], scratch: bool) -> None:
    assert not KERNELS[name].fits(Box(item, axes_of(laid(item, (40, 50), (1, 0))), chunks), scratch)
