"""Exactly what a box counts: requests, sectors and wavefronts of the whole launch, as the emulator would count them.

Nothing is compiled and nothing runs. Blocks that differ neither in where they begin within a sector nor in where the
array ends count alike: one block of each such class is counted by the emulator's rules (docs/counting.md). The accesses
are those that ``permute.cu`` writes down. Where the compiler makes one wider access to shared memory of neighbours, as
in boxes of a few elements, the launch has fewer.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from cornerturn.kernels.production.axes import SECTOR, UNIT
from cornerturn.kernels.production.box import WORD, Box
from cornerturn.op.gpu.counts import coordinates, gathered, shared_places
from cornerturn.op.gpu.traffic import Access, ExactCounts, Flags, Integers, access, total

SINGLES = 64
"""Blocks at either end of an axis that are looked at one by one: the others are further from both ends of x."""


class _Block(NamedTuple):
    """Where a block lies: those that agree in all of this count alike.

    Attributes:
        x, y: addresses of the box's first elements, modulo what a `_Side` says.
        low, high: bytes of x before and after those of the box, as far as they matter.
        begins: no box lies before this one along the runs of y.
        limits: elements of the box within the array, along each of its axes.
    """

    x: int
    y: int
    low: int
    high: int
    begins: bool
    limits: tuple[int, ...]


class _Side(NamedTuple):
    """What of a block decides how some accesses count, besides where the array ends.

    Attributes:
        x, y: moduli of addresses.
        bounded: how near the ends of x are.
        begins: whether a box lies before this one.
    """

    x: int = 1
    y: int = 1
    bounded: bool = False
    begins: bool = False


def exact_counts(box: Box) -> ExactCounts:
    """Return what the launch of a box counts.

    Example:
        >>> exact_counts(Box(4, ((256, 1024, 4), (256, 4, 1024)), (16, 16))).global_load
        Traffic(requests=512, found=8192, ideal=8192)
    """
    # Shared memory holds x where it lies in a unit; banks tell this apart within a word.
    held = WORD if box.reads_runs else 1
    phases: list[tuple[_Side, Callable[[Box, _Block], Iterator[Access]]]] = []
    if box.direct:
        phases.append((_Side(x=SECTOR), _gathers))
    else:
        reads = _run_reads if box.reads_runs else _unit_reads
        phases.append((_Side(x=SECTOR, bounded=box.reads_runs), reads))
        phases.append((_Side(held, WORD, begins=True), _word_gathers) if box.writes_runs else (_Side(held), _gathers))
    phases.append((_Side(y=SECTOR, begins=True), _word_writes) if box.writes_runs else (_Side(y=SECTOR), _unit_writes))
    return total(
        (one, times)
        for side, accesses in phases
        for block, times in _blocks(box, side).items()
        for one in accesses(box, block)
    )


def _blocks(box: Box, side: _Side) -> Counter[_Block]:
    """Return the blocks that count differently, and how many there are of each."""
    far = 0 if side.bounded else UNIT
    found = Counter({_Block(box.x % side.x, box.y % side.y, far, far, True, box.extents): 1})
    for a in range(len(box.axes)):
        along, place = _along(box, a, side), box.boxed.index(a) if a in box.boxed else None
        before, found = found, Counter()
        for block, count in before.items():
            for (x, y, low, high, begins, limit), times in along.items():
                limits = list(block.limits)
                if place is not None:
                    limits[place] = limit
                one = _Block(
                    (block.x + x) % side.x,
                    (block.y + y) % side.y,
                    min(block.low + low, UNIT),
                    min(block.high + high, UNIT),
                    block.begins and begins,
                    tuple(limits),
                )
                found[one] += count * times
    return found


def _along(box: Box, a: int, side: _Side) -> Counter[tuple[int, int, int, int, bool, int]]:
    """Return the boxes along an axis: where each lies, as in `_Block`, and its elements."""
    (extent, x_stride, y_stride), hop = box.axes[a], box.chunks[a]
    most = box.extents[box.boxed.index(a)] if a in box.boxed else 1
    continues = side.begins and bool(box.y_run) and a == box.boxed[box.y_run[-1]]
    blocks = -(-extent // hop)
    found: Counter[tuple[int, int, int, int, bool, int]] = Counter()

    def add(n: int, times: int) -> None:
        first = n * hop
        limit = min(most, extent - first)
        low, high = first * x_stride, (extent - first - limit) * x_stride
        if x_stride < 0:
            low, high = -high, -low
        x, y = first * x_stride % side.x, first * y_stride % side.y
        found[x, y, min(low, UNIT), min(high, UNIT), not (continues and n), limit] += times

    middle = range(SINGLES, blocks - SINGLES)
    for n in range(blocks) if not middle else (*range(SINGLES), *range(middle.stop, blocks)):
        add(n, 1)
    for n in middle[:SECTOR]:  # from there on they repeat
        add(n, len(range(n, middle.stop, SECTOR)))
    return found


def _unit_reads(box: Box, block: _Block) -> Iterator[Access]:
    """Whole units of x, each at its own alignment."""
    phase, axes = box.read, len(box.boxed)
    first = coordinates(phase.thread, axes, phase.threads * phase.unit)[:: phase.unit]
    at = coordinates(phase.step, axes, phase.steps)[:, None] + first
    yield _access(box, "global_load", box.read_unit, block.x + at @ _strides(box, 1), _inside(at, block.limits))
    for part in range(0, box.read_unit, box.shared_unit):
        yield _access(box, "shared_store", box.shared_unit, shared_places(box, at) + part)


def _run_reads(box: Box, block: _Block) -> Iterator[Access]:
    """The aligned units that a run of x touches; bytes, of those that are not all x's own."""
    phase, axes = box.read, len(box.boxed)
    at = coordinates(phase.step, axes + 1, phase.steps)[:, None] + coordinates(phase.thread, axes + 1, phase.threads)
    at, window = at[..., :axes], UNIT * at[..., axes]
    begin = block.x + at @ _strides(box, 1)
    shift = begin % UNIT
    unit, end = begin - shift + window, shift + _run_bytes(box, block.limits)
    asked = _inside(at, block.limits) & (window < end)
    spans = (np.array(block.limits) - 1) * _strides(box, 1)
    lowest = block.x + int(np.minimum(spans, 0).sum()) - block.low
    highest = block.x + int(np.maximum(spans, 0).sum()) + box.element + block.high
    owned = (unit >= lowest) & (unit + UNIT <= highest)
    held = _inside(at, box.extents) & (window < shift + box.x_bytes)
    to = block.x % UNIT + shared_places(box, at) - shift + window
    yield _access(box, "global_load", UNIT, unit, asked & owned)
    for part in range(0, UNIT, box.shared_unit):
        yield _access(box, "shared_store", box.shared_unit, to + part, held)
    first, last = np.where(window == 0, shift, 0), np.minimum(UNIT, end - window)
    for turn in range(UNIT):
        single = asked & ~owned & (first + turn < last)
        yield _access(box, "global_load", 1, unit + first + turn, single)
        yield _access(box, "shared_store", 1, to + first + turn, single)


def _gathers(box: Box, block: _Block) -> Iterator[Access]:
    """Each element of a unit, or the word of x that it lies in, from shared memory or from x."""
    phase, axes = box.write, len(box.boxed)
    first = gathered(box, phase.threads)
    steps = coordinates(phase.step, axes, phase.steps)[:, None]
    active = _gathering(box, block, steps + first[:, 0])
    for v in range(phase.unit):
        if box.direct:
            addresses, place = block.x + (steps + first[:, v]) @ _strides(box, 1), "global_load"
        else:
            addresses = _source(box, block) + shared_places(box, steps) + shared_places(box, first[:, v])
            place = "shared_load"
        yield _access(box, place, box.pack * box.element, addresses, active)


def _unit_writes(box: Box, block: _Block) -> Iterator[Access]:
    """Whole units of y."""
    phase, axes = box.write, len(box.boxed)
    at = coordinates(phase.step, axes, phase.steps)[:, None] + gathered(box, phase.threads)[:, 0]
    active = _gathering(box, block, at)
    for i in range(box.pack):
        part = at + np.eye(axes, dtype=np.int64)[box.packed] * i
        within = part[..., box.packed] < block.limits[box.packed] if box.pack > 1 else True
        to = block.y + part @ _strides(box, 2)
        yield _access(box, "global_store", phase.unit * box.element, to, active & within)


class _Words(NamedTuple):
    """The aligned words of runs of y that the threads of a block write.

    Attributes:
        first: element of its run that each thread's word begins with, maybe one before the run.
        begin, end: those of the word's elements that are the run's.
        at: coordinates of runs, by step and thread.
        active: by step and thread, whether there is something to write.
    """

    first: Integers
    begin: Integers
    end: Integers
    at: Integers
    active: Flags


def _words(box: Box, block: _Block) -> _Words:
    phase, axes = box.write, len(box.boxed)
    thread = coordinates(phase.thread, axes + 1, phase.threads)
    runs, window = thread[:, :axes], thread[:, axes]
    first = phase.unit * window - (block.y + runs @ _strides(box, 2)) % WORD // box.element
    length = math.prod(block.limits[b] for b in box.y_run)
    begin, end = np.maximum(-first, 0), np.minimum(length - first, phase.unit)
    taken = (begin < end) & (first < box.y_length) & ((first >= 0) | block.begins)
    at = coordinates(phase.step, axes + 1, phase.steps)[:, None, :axes] + runs
    return _Words(first, begin, end, at, taken & _inside(at, block.limits))


def _word_gathers(box: Box, block: _Block) -> Iterator[Access]:
    """Each element of a word: of whole ones, and of those that hold a run's end."""
    words, axes = _words(box, block), len(box.boxed)
    steps = coordinates(box.write.step, axes + 1, box.write.steps)[:, None, :axes]
    elements = gathered(box, box.write.threads, block.y).swapaxes(0, 1)
    whole = words.end - words.begin == box.write.unit
    places = [_source(box, block) + shared_places(box, steps) + shared_places(box, each) for each in elements]
    for addresses in places:
        yield _access(box, "shared_load", box.element, addresses, words.active & whole)
    for addresses, single in zip(places, _singles(words, box.write.unit), strict=True):
        yield _access(box, "shared_load", box.element, addresses, single)


def _word_writes(box: Box, block: _Block) -> Iterator[Access]:
    """Whole words, and single elements of the others."""
    words = _words(box, block)
    to = block.y + words.at @ _strides(box, 2) + words.first * box.element
    whole = words.end - words.begin == box.write.unit
    yield _access(box, "global_store", WORD, to, words.active & whole)
    for v, single in enumerate(_singles(words, box.write.unit)):
        yield _access(box, "global_store", box.element, to + v * box.element, single)


def _singles(words: _Words, unit: int) -> list[Flags]:
    """Return who writes each element of a word alone."""
    ends = words.active & (words.end - words.begin < unit)
    return [ends & (words.begin <= v) & (v < words.end) for v in range(unit)]


def _source(box: Box, block: _Block) -> int:
    """Return where in shared memory the box's first element lies, as far as banks tell."""
    return block.x if box.reads_runs else 0


def _gathering(box: Box, block: _Block, at: Integers) -> Flags:
    """Return whether units are gathered, by the coordinates of their first elements."""
    limits = list(block.limits)
    if box.pack > 1 and not box.direct:
        limits[box.packed] = box.extents[box.packed]  # what is beyond them is gathered, and not written
    return _inside(at, limits)


def _inside(at: Integers, limits: Sequence[int]) -> Flags:
    return np.asarray((at < np.array(limits)).all(axis=-1))


def _run_bytes(box: Box, limits: Sequence[int]) -> int:
    """Return the bytes of a run of x within the array: its last axis may end early."""
    return (math.prod(limits[b] for b in box.x_run) - 1) * box.x_step + box.element


def _strides(box: Box, side: int) -> Integers:
    return np.array([box.axes[a][side] for a in box.boxed])


def _access(box: Box, place: str, width: int, addresses: Integers, active: Flags | bool = True) -> Access:
    return access(box.threads, place, width, addresses, active)
