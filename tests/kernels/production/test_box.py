"""Boxes and the walks of their threads: whatever the box, each element is read once and written once."""

import itertools
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cornerturn.kernels.production.axes import UNIT
from cornerturn.kernels.production.box import BATCH, WORD, Box, Digit

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
    """The elements of each unit that a thread takes in a step."""
    phase, axes = box.read if reads else box.write, len(box.boxed)
    for thread, step in itertools.product(range(phase.threads), range(phase.steps)):
        hop = place_of(step, phase.step, axes)
        unit = [place_of(thread * phase.unit + v, phase.thread, axes) for v in range(phase.unit)]
        yield [tuple(one + more for one, more in zip(at, hop, strict=True)) for at in unit]


def windows(box: Box, reads: bool) -> Counter[tuple[Place, int]]:
    """The runs that begin in the box, and which of their aligned windows threads take, step by step."""
    phase, axes = box.read if reads else box.write, len(box.boxed)
    found: Counter[tuple[Place, int]] = Counter()
    for thread, step in itertools.product(range(phase.threads), range(phase.steps)):
        numbers = place_of(thread, phase.thread, axes + 1), place_of(step, phase.step, axes + 1)
        *at, window = (one + more for one, more in zip(*numbers, strict=True))
        if all(n < extent for n, extent in zip(at, box.extents, strict=True)):
            found[tuple(at), window] += 1
    return found


def address(box: Box, at: Place, side: int) -> int:
    """Where an element lies in x (1) or in y (2), modulo 32 apart from its box."""
    begin = box.x if side == 1 else box.y
    return begin + sum(n * box.axes[a][side] for n, a in zip(at, box.boxed, strict=True))


def shared_place(box: Box, at: Place) -> int:
    """Where an element lies in shared memory, from the box's first one."""
    return sum(n * pitch for n, pitch in zip(at, box.pitches, strict=True)) + at[0] // box.write_unit * box.skew


@given(BOXES)
@settings(max_examples=150)
def test_reads_take_each_element_once_in_units_that_x_holds_together(box: Box) -> None:
    if box.direct or box.reads_runs:
        return
    units = list(walked(box, reads=True))
    assert sorted(itertools.chain(*units)) == sorted(elements(box))
    for unit in units:
        addresses = [address(box, at, 1) for at in unit]
        assert addresses == list(range(addresses[0], addresses[0] + box.read_unit, box.element))
        assert addresses[0] % box.read_unit == 0


@given(BOXES)
@settings(max_examples=150)
def test_writes_take_each_element_once_in_units_that_y_holds_together(box: Box) -> None:
    if box.writes_runs:
        return
    taken = []
    for unit, i in itertools.product(walked(box, reads=False), range(box.pack)):
        packed = [tuple(n + i * (b == box.packed) for b, n in enumerate(at)) for at in unit]
        taken += packed
        addresses = [address(box, at, 2) for at in packed]
        assert addresses == [addresses[0] + n * box.element for n in range(len(unit))]
        assert addresses[0] % (box.write_unit * box.element) == 0
    assert sorted(taken) == sorted(elements(box))


@given(BOXES)
@settings(max_examples=150)
def test_windows_hold_each_element_of_a_run_once_wherever_it_begins(box: Box) -> None:
    for side, used, run, width in (
        (1, box.reads_runs, box.x_run, UNIT),
        (2, box.writes_runs, box.y_run, WORD),
    ):
        if not used:
            continue
        taken = windows(box, reads=side == 1)
        assert set(taken.values()) == {1}
        wanted = set()
        for at in elements(box):
            begin = tuple(0 if b in run else n for b, n in enumerate(at))
            wanted.add((begin, (address(box, at, side) - address(box, begin, side) // width * width) // width))
        if side == 1:
            assert wanted <= set(taken)
        else:  # a word that begins in the halo is the next box's
            assert {(begin, k) for begin, k in wanted if k * width // box.element < box.y_length} <= set(taken)


@given(BOXES)
@settings(max_examples=150)
def test_elements_share_no_byte_of_shared_memory(box: Box) -> None:
    where = sorted(shared_place(box, at) for at in elements(box))
    assert all(next_ - one >= box.element for one, next_ in itertools.pairwise(where))
    assert where[0] == 0
    if not box.direct:
        begin = box.x % UNIT if box.reads_runs else 0
        assert begin + where[-1] + box.element <= box.shared_bytes
    assert box.direct == (box.shared_bytes == 0)


@given(BOXES)
@settings(max_examples=150)
def test_what_threads_read_into_shared_memory_and_gather_from_there_is_aligned_and_within(box: Box) -> None:
    if box.direct:
        return
    if box.reads_runs:
        begin = box.x % UNIT
        for run in {tuple(0 if b in box.x_run else n for b, n in enumerate(at)) for at in elements(box)}:
            shift = address(box, run, 1) % UNIT
            first = begin + shared_place(box, run) - shift
            assert first % box.shared_unit == 0
            assert first >= 0
            assert first + -(-(shift + box.x_bytes) // UNIT) * UNIT <= box.box_bytes
    else:
        begins = {shared_place(box, unit[0]) for unit in walked(box, reads=True)}
        assert not any(begin % box.shared_unit for begin in begins)
        assert max(begins) + box.read_unit <= box.box_bytes
    if not box.writes_runs:
        loads = [shared_place(box, at) for unit in walked(box, reads=False) for at in unit]
        assert not any(load % (box.pack * box.element) for load in loads)
        assert max(loads) + box.pack * box.element <= box.box_bytes


@given(BOXES)
@settings(max_examples=150)
def test_units_of_mirrored_runs_hold_bytes_of_one_run(box: Box) -> None:
    if not box.reads_runs:
        return
    begin, spans = box.x % UNIT, []
    for run in {tuple(0 if b in box.x_run else n for b, n in enumerate(at)) for at in elements(box)}:
        shift = address(box, run, 1) % UNIT
        first = begin + shared_place(box, run) - shift
        spans.append((first, first + -(-(shift + box.x_bytes) // UNIT) * UNIT))
    spans.sort()
    assert all(end <= next_ for (_, end), (next_, _) in itertools.pairwise(spans))


@given(BOXES)
@settings(max_examples=150)
def test_a_block_is_whole_warps_that_hold_all_at_work(box: Box) -> None:
    assert box.threads % 32 == 0
    assert box.threads <= 1024
    assert box.threads >= box.write.threads
    if not box.direct:
        assert box.threads >= box.read.threads
    assert 1 <= box.batch <= min(BATCH, box.read.steps)


@given(BOXES)
@settings(max_examples=150)
def test_runs_are_contiguous_and_boxes_cover_the_array(box: Box) -> None:
    for run, side, length, step in (
        (box.x_run, 1, box.x_length, box.x_step),
        (box.y_run, 2, box.y_length, box.element),
    ):
        hop = step
        for b in run:
            assert box.axes[box.boxed[b]][side] == hop
            hop *= (box.extents if side == 1 else box.hops)[b]
        assert hop == length * step
        assert all(box.hops[b] == box.axes[box.boxed[b]][0] for b in run[:-1])
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
        (replace(MATRIX, x=4, mirrored=True), True, False),
        (replace(MATRIX, mirrored=True), False, False),  # units of 16 bytes will do
        (replace(MATRIX, axes=((64, 512, 4), (64, 8, 256)), mirrored=True), True, False),  # every other element
        (replace(BYTES, x=1, y=1, mirrored=False), False, True),
    ],
    ids=repr,
)
def test_runs_are_taken_by_windows_where_their_units_are_less_than_a_word(box: Box, reads: bool, writes: bool) -> None:
    assert (box.reads_runs, box.writes_runs) == (reads, writes)
