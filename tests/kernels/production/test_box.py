"""Boxes and the walks of their threads: whatever the box, each element is read once and written once."""

import itertools
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cornerturn.kernels.production.axes import UNIT
from cornerturn.kernels.production.box import BATCH, Box, Digit

from ...any_box import any_box

BOXES = st.integers(0, 2**32).map(lambda seed: any_box(random.Random(seed)))

Place = tuple[int, ...]


def elements(box: Box) -> Iterator[Place]:
    """The coordinates of every element of a box."""
    return itertools.product(*map(range, box.extents))


def place_of(number: int, digits: Sequence[Digit], axes: int) -> list[int]:
    """What a number means."""
    at = [0] * axes
    for axis, radix, step in digits:
        number, digit = divmod(number, radix)
        at[axis] += digit * step
    assert number == 0
    return at


def walked(box: Box, reads: bool) -> Iterator[list[Place]]:
    """The elements of each unit that a thread takes in a step; a unit may go beyond its run of y."""
    phase, axes = box.read if reads else box.write, len(box.boxed)
    for thread, step in itertools.product(range(phase.threads), range(phase.steps)):
        hop = place_of(step, phase.step, axes)
        unit = []
        for v in range(phase.unit):
            if phase.run_units:
                of_run = thread % phase.run_units * phase.unit + v
                if of_run >= box.y_length:
                    break
                run: list[Digit] = [(b, box.extents[b], 1) for b in box.y_run]
                at = [
                    one + other
                    for one, other in zip(
                        place_of(of_run, run, axes),
                        place_of(thread // phase.run_units, phase.thread, axes),
                        strict=True,
                    )
                ]
            else:
                at = place_of(thread * phase.unit + v, phase.thread, axes)
            unit.append(tuple(one + more for one, more in zip(at, hop, strict=True)))
        yield unit


@given(BOXES)
@settings(max_examples=150)
def test_reads_take_each_element_once_in_units_that_x_holds_together(box: Box) -> None:
    units = list(walked(box, reads=True))
    assert sorted(itertools.chain(*units)) == sorted(elements(box))
    for unit in units if not box.reads_runs and not box.direct else ():
        addresses = [box.x + sum(i * box.axes[a][1] for i, a in zip(at, box.boxed, strict=True)) for at in unit]
        assert addresses == list(range(addresses[0], addresses[0] + box.read_unit, box.element))
        assert addresses[0] % box.read_unit == 0


@given(BOXES)
@settings(max_examples=150)
def test_writes_take_each_element_once_in_units_that_y_holds_together(box: Box) -> None:
    units = list(walked(box, reads=False))
    taken = []
    for unit, i in itertools.product(units, range(box.pack)):
        packed = [tuple(n + i * (b == box.packed) for b, n in enumerate(at)) for at in unit]
        taken += packed
        addresses = [box.y + sum(n * box.axes[a][2] for n, a in zip(at, box.boxed, strict=True)) for at in packed]
        assert addresses == [addresses[0] + n * box.element for n in range(len(unit))]
        if not box.writes_runs:
            assert addresses[0] % (box.write_unit * box.element) == 0
    assert sorted(taken) == sorted(elements(box))


@given(BOXES)
@settings(max_examples=150)
def test_elements_share_no_byte_of_shared_memory(box: Box) -> None:
    def begins(pitches: Sequence[int], skew: int) -> list[int]:
        return sorted(
            sum(n * pitch for n, pitch in zip(at, pitches, strict=True)) + at[0] // box.write_unit * skew
            for at in elements(box)
        )

    where = begins(box.pitches, box.skew)
    assert all(next_ - one >= box.element for one, next_ in itertools.pairwise(where))
    assert where[0] == 0
    assert where[-1] + box.element <= box.box_bytes
    if box.writes_runs:
        where = begins(box.run_pitches, 0)
        assert all(next_ - one >= box.element for one, next_ in itertools.pairwise(where))
        assert box.box_bytes + where[-1] + box.element <= box.shared_bytes
    assert box.direct == (box.shared_bytes == 0)


@given(BOXES)
@settings(max_examples=150)
def test_what_threads_read_into_shared_memory_and_gather_from_there_is_aligned_and_within(box: Box) -> None:
    if box.direct:
        return

    def place(at: Place) -> int:
        return sum(n * p for n, p in zip(at, box.pitches, strict=True)) + at[0] // box.write_unit * box.skew

    if box.reads_runs:
        begins = {place(at) for at in elements(box) if not any(at[b] for b in box.x_run)}
        width, whole = box.shared_unit, -(-box.x_length * box.element // UNIT) * UNIT
    else:
        begins = {place(unit[0]) for unit in walked(box, reads=True)}
        width, whole = box.shared_unit, box.read_unit
    assert not any(begin % width for begin in begins)
    assert max(begins) + whole <= box.box_bytes
    loads = [place(at) for unit in walked(box, reads=False) for at in unit]
    assert not any(load % (box.pack * box.element) for load in loads)
    assert max(loads) + box.pack * box.element <= box.box_bytes


@given(BOXES)
@settings(max_examples=150)
def test_a_block_is_whole_warps_that_hold_all_at_work(box: Box) -> None:
    assert box.threads % 32 == 0
    assert box.threads <= 1024
    assert box.threads >= box.write.threads
    if box.reads_runs or box.writes_runs:
        assert box.threads & (box.threads - 1) == 0
    elif not box.direct:
        assert box.threads >= box.read.threads
    assert 1 <= box.batch <= min(BATCH, box.read.steps)
    for length in (1, box.x_length, box.y_length, 100 * box.x_length):
        lanes = box.lanes(length)
        assert lanes & (lanes - 1) == 0
        assert 1 <= lanes <= 32
        assert box.threads % lanes == 0


@given(BOXES)
@settings(max_examples=150)
def test_runs_are_contiguous_and_boxes_cover_the_array(box: Box) -> None:
    for run, side, length in ((box.x_run, 1, box.x_length), (box.y_run, 2, box.y_length)):
        step = box.element
        for b in run:
            assert box.axes[box.boxed[b]][side] == step
            step *= box.extents[b]
        assert step == length * box.element
        assert all(box.extents[b] == box.axes[box.boxed[b]][0] for b in run[:-1])
    blocks = 1
    for (extent, _, _), chunk in zip(box.axes, box.chunks, strict=True):
        blocks *= len(range(0, extent, chunk))
    assert box.blocks == blocks
    assert sorted(box.numbered) == [a for a, axis in enumerate(box.axes) if axis[0] > box.chunks[a]]


MATRIX = Box(4, ((64, 256, 4), (64, 4, 256)), (16, 16))
BYTES = Box(1, ((64, 64, 1), (64, 1, 64)), (16, 16))


@pytest.mark.parametrize(
    ("box", "read_unit", "write_unit", "pack"),
    [
        (MATRIX, 16, 4, 1),
        (replace(MATRIX, x=4), 4, 4, 1),
        (replace(MATRIX, y=8), 16, 2, 1),
        (replace(MATRIX, chunks=(16, 5)), 4, 4, 1),  # runs of 5 words
        (replace(MATRIX, axes=((64, -256, 4), (64, -4, 256))), 4, 4, 1),  # backwards
        (replace(MATRIX, axes=((64, 512, 4), (64, 8, 256))), 4, 4, 1),  # every other element
        (BYTES, 16, 16, 4),
        (replace(BYTES, direct=True), 16, 16, 4),
        (replace(BYTES, direct=True, x=2), 2, 16, 1),  # no word of x is aligned
        (Box(2, ((64, 128, 2), (64, 2, 128)), (16, 16)), 16, 8, 2),
        (Box(16, ((64, 1024, 16), (64, 16, 1024)), (4, 4)), 16, 1, 1),
    ],
    ids=repr,
)
def test_units_are_as_wide_as_alignment_allows(box: Box, read_unit: int, write_unit: int, pack: int) -> None:
    assert (box.read_unit, box.write_unit, box.pack) == (read_unit, write_unit, pack)
    assert not box.reads_runs
    assert not box.writes_runs


@pytest.mark.parametrize(
    ("box", "reads", "writes"),
    [
        (BYTES, False, False),
        (replace(BYTES, x=1), True, False),
        (replace(BYTES, y=1), False, True),
        (replace(BYTES, x=4, y=4), False, False),  # words will do
        (replace(BYTES, chunks=(16, 7)), False, False),  # too short: 7 bytes
        (replace(BYTES, chunks=(16, 9)), True, False),
        (replace(BYTES, x=1, y=1, direct=True), False, False),
        (replace(MATRIX, x=4), False, False),
        (replace(MATRIX, x=4, read_shifted=True), True, False),
        (replace(MATRIX, y=4, write_shifted=True), False, True),
        (replace(BYTES, x=1, y=1, read_shifted=False, write_shifted=False), False, False),
    ],
    ids=repr,
)
def test_runs_are_shifted_where_their_units_are_less_than_a_word(box: Box, reads: bool, writes: bool) -> None:
    assert (box.reads_runs, box.writes_runs) == (reads, writes)
