"""Exactly what a box counts: requests, sectors and wavefronts of the whole launch, as the emulator would count them.

Nothing is compiled and nothing runs. Blocks that differ neither in where they begin within a sector nor in where the
array ends count alike: one block of each such class is counted by the emulator's rules (docs/counting.md). The accesses
are those that ``permute.cu`` writes down. Where the compiler makes one wider access to shared memory of neighbours, as
in boxes of a few elements, the launch has fewer.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cornerturn.emulator import counting
from cornerturn.kernels.production.axes import SECTOR, UNIT
from cornerturn.kernels.production.box import Box
from cornerturn.op.gpu.counts import WARP, coordinates, gathered, shared_places

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]

LOW, HIGH = UNIT, 2 * UNIT
"""A shifted read of a run reaches less than so many bytes before the run, and beyond its end."""
SINGLES = 64
"""Blocks at either end of an axis that are looked at one by one: the others are further from both ends of x."""


class Traffic(NamedTuple):
    """The loads or the stores of one memory space: the passes they take, and the fewest that would do.

    Attributes:
        requests: warp-level memory instructions.
        found, ideal: 32-byte sectors of global memory, wavefronts of shared memory.
    """

    requests: int
    found: int
    ideal: int

    def plus(self, other: "Traffic", times: int) -> "Traffic":
        """Return the sum with ``times`` another."""
        return Traffic(*(one + times * each for one, each in zip(self, other, strict=True)))


NOTHING = Traffic(0, 0, 0)


@dataclass(frozen=True)
class ExactCounts:
    """The accesses of a launch, by memory space and direction."""

    global_load: Traffic
    global_store: Traffic
    shared_load: Traffic
    shared_store: Traffic


@dataclass(frozen=True)
class _Access:
    """What the threads of a block ask for in some instructions: instructions x threads.

    Attributes:
        place: a field of `ExactCounts`.
        width: bytes per lane.
        addresses: of each thread.
        active: whether it takes part.
    """

    place: str
    width: int
    addresses: Integers
    active: Flags

    def traffic(self) -> Traffic:
        addresses, active = self.addresses.reshape(-1, WARP), self.active.reshape(-1, WARP)
        asked = active.any(axis=1)
        addresses, active = addresses[asked], active[asked]
        if not len(active):
            return NOTHING
        if self.place.startswith("global"):
            found, unit = counting.sectors(addresses, active), counting.SECTOR_BYTES
        else:
            found = counting.wavefronts(addresses, active, self.width, load=self.place == "shared_load")
            unit = counting.BANKS * counting.BANK_BYTES
        ideal = np.minimum(counting.ideal(active, self.width, unit), found)
        return Traffic(len(active), int(found.sum()), int(ideal.sum()))


class _Block(NamedTuple):
    """Where a block lies: those that agree in all of this count alike.

    Attributes:
        at: address of the box's first element modulo 32, in the array of one side.
        low, high: bytes of the array before and after those of the box, as far as they matter.
        limits: elements of the box within the array, along each of its axes.
    """

    at: int
    low: int
    high: int
    limits: tuple[int, ...]


class _Side(NamedTuple):
    """What decides how blocks count: where they lie in x or in y, or only where the array ends."""

    column: int | None  # of an axis: its stride
    bounded: bool = False  # it matters how near the ends of the array are


def exact_counts(box: Box) -> ExactCounts:
    """Return what the launch of a box counts.

    Example:
        >>> exact_counts(Box(4, ((256, 1024, 4), (256, 4, 1024)), (16, 16))).global_load
        Traffic(requests=512, found=8192, ideal=8192)
    """
    in_x, in_y, nowhere = _Side(1, box.reads_runs), _Side(2), _Side(None)
    phases: list[tuple[_Side, Callable[[Box, _Block], Iterator[_Access]]]] = []
    if box.direct:
        phases.append((in_x, _gathers))
    else:
        phases += [(in_x, _shifted_reads if box.reads_runs else _unit_reads), (nowhere, _gathers)]
    if box.writes_runs:
        phases += [(nowhere, _emitted), (nowhere, _zeros), (in_y, _shifted_writes)]
    else:
        phases.append((in_y, _emitted))
    total = {field.name: NOTHING for field in fields(ExactCounts)}
    for side, accesses in phases:
        for block, times in _blocks(box, side).items():
            for access in accesses(box, block):
                total[access.place] = total[access.place].plus(access.traffic(), times)
    return ExactCounts(**total)


def _blocks(box: Box, side: _Side) -> Counter[_Block]:
    """Return the blocks that count differently, and how many there are of each."""
    begin = {None: 0, 1: box.x, 2: box.y}[side.column]
    far = (0, 0) if side.bounded else (LOW, HIGH)
    found = Counter({_Block(begin, *far, box.extents): 1})
    for a in range(len(box.axes)):
        along, place = _along(box, a, side), box.boxed.index(a) if a in box.boxed else None
        before, found = found, Counter()
        for block, count in before.items():
            for (step, low, high, limit), times in along.items():
                limits = list(block.limits)
                if place is not None:
                    limits[place] = limit
                at = (block.at + step) % SECTOR
                found[_Block(at, min(block.low + low, LOW), min(block.high + high, HIGH), tuple(limits))] += (
                    count * times
                )
    return found


def _along(box: Box, a: int, side: _Side) -> Counter[tuple[int, int, int, int]]:
    """Return the boxes along an axis: where each begins, modulo 32, how far it is from both ends, and its elements."""
    extent, chunk = box.axes[a][0], box.chunks[a]
    stride = 0 if side.column is None else box.axes[a][side.column]
    blocks = -(-extent // chunk)
    found: Counter[tuple[int, int, int, int]] = Counter()

    def add(n: int, times: int) -> None:
        limit = min(chunk, extent - n * chunk)
        low, high = n * chunk * stride, (extent - n * chunk - limit) * stride
        if stride < 0:
            low, high = -high, -low
        found[n * chunk * stride % SECTOR, min(low, LOW), min(high, HIGH), limit] += times

    middle = range(SINGLES, blocks - SINGLES)
    for n in range(blocks) if not middle else (*range(SINGLES), *range(middle.stop, blocks)):
        add(n, 1)
    for n in middle[:SECTOR]:  # from there on they repeat
        add(n, len(range(n, middle.stop, SECTOR)))
    return found


def _unit_reads(box: Box, block: _Block) -> Iterator[_Access]:
    phase, axes = box.read, len(box.boxed)
    first = coordinates(phase.thread, axes, phase.threads * phase.unit)[:: phase.unit]
    at = coordinates(phase.step, axes, phase.steps)[:, None] + first
    yield _access(box, "global_load", box.read_unit, block.at + at @ _strides(box, 1), _inside(at, block.limits))
    for part in range(0, box.read_unit, box.shared_unit):
        yield _access(box, "shared_store", box.shared_unit, shared_places(box, at) + part)


def _shifted_reads(box: Box, block: _Block) -> Iterator[_Access]:
    """Two aligned units for each unit of a run; bytes, where those are not all x's own."""
    length = box.x_length * box.element
    r, k, at = _by_lanes(box, [b for b in box.x_order if b not in box.x_run], box.x_length, -(-length // UNIT))
    runs = r < box.volume // box.x_length
    nbytes = np.where(runs & _inside(at, block.limits), _bytes_within(box, box.x_run, block.limits), 0)
    begin = block.at + at @ _strides(box, 1)
    aligned = begin // UNIT * UNIT
    spans = (np.array(block.limits) - 1) * _strides(box, 1)
    lowest = block.at + int(np.minimum(spans, 0).sum()) - block.low
    end = block.at + int(np.maximum(spans, 0).sum()) + box.element + block.high
    owned = (aligned >= lowest) & (aligned + (nbytes + 2 * UNIT - 1) // UNIT * UNIT <= end)
    for more in (0, UNIT):
        yield _access(box, "global_load", UNIT, aligned + UNIT * k + more, owned & (UNIT * k < nbytes))
    for j in range(UNIT):
        yield _access(box, "global_load", 1, begin + UNIT * k + j, ~owned & (UNIT * k + j < nbytes))
    for part in range(0, UNIT, box.shared_unit):
        to = shared_places(box, at) + UNIT * k + part
        yield _access(box, "shared_store", box.shared_unit, to, runs & (UNIT * k < length))


def _gathers(box: Box, block: _Block) -> Iterator[_Access]:
    """Each element of a unit, or the word of x that it lies in, from shared memory or from x."""
    phase, axes = box.write, len(box.boxed)
    first = gathered(box, phase.threads)
    steps = coordinates(phase.step, axes, phase.steps)[:, None]
    active = _gathering(box, block, steps + first[:, 0])
    # One unit that goes beyond its run begins again with the run's first elements, which the thread has by then.
    for v in range(min(phase.unit, box.y_length) if phase.run_units == 1 else phase.unit):
        if box.direct:
            addresses, place = block.at + (steps + first[:, v]) @ _strides(box, 1), "global_load"
        else:
            addresses, place = shared_places(box, steps) + shared_places(box, first[:, v]), "shared_load"
        yield _access(box, place, box.pack * box.element, addresses, active)


def _emitted(box: Box, block: _Block) -> Iterator[_Access]:
    """Units, to y or to where its runs lie before they are written."""
    phase, axes = box.write, len(box.boxed)
    at = coordinates(phase.step, axes, phase.steps)[:, None] + gathered(box, phase.threads)[:, 0]
    active = _gathering(box, block, at)
    for i in range(box.pack):
        part = at + np.eye(axes, dtype=np.int64)[box.packed] * i
        width = phase.unit * box.element
        if box.writes_runs:
            yield _access(box, "shared_store", width, box.box_bytes + part @ np.array(box.run_pitches), active)
        else:
            within = part[..., box.packed] < block.limits[box.packed] if box.pack > 1 else True
            yield _access(box, "global_store", width, block.at + part @ _strides(box, 2), active & within)


def _zeros(box: Box, block: _Block) -> Iterator[_Access]:
    """The last unit of each run of y, which is read whole, where gathers do not fill it."""
    nbytes = box.y_length * box.element
    if box.run_units or nbytes % UNIT == 0:
        return
    runs = box.volume // box.y_length
    r = np.arange(-(-runs // box.threads) * box.threads).reshape(-1, box.threads)
    yield _access(box, "shared_store", UNIT, box.box_bytes + r * box.run_pitch + nbytes // UNIT * UNIT, r < runs)


def _shifted_writes(box: Box, block: _Block) -> Iterator[_Access]:
    """The aligned units that are all a run's own, of two units of shared memory; and the elements around them."""
    length, side = box.y_length * box.element, UNIT // box.element
    outside = [b for b in range(len(box.boxed)) if b not in box.y_run]
    r, k, at = _by_lanes(box, outside, box.y_length, length // UNIT)
    active = (r < box.volume // box.y_length) & _inside(at, block.limits)
    nbytes = _bytes_within(box, box.y_run, block.limits)
    begin, stored = block.at + at @ _strides(box, 2), box.box_bytes + r * box.run_pitch
    shift = -begin % UNIT
    whole = active & (shift + UNIT * k + UNIT <= nbytes)
    yield _access(box, "shared_load", UNIT, stored + UNIT * k, whole)
    yield _access(box, "shared_load", UNIT, stored + UNIT * (k + (shift != 0)), whole)
    yield _access(box, "global_store", UNIT, begin + shift + UNIT * k, whole)
    _, i, _ = _by_lanes(box, outside, box.y_length, 2 * side)
    before = np.minimum(shift, nbytes)
    after = before + (nbytes - before) // UNIT * UNIT
    from_begin = np.where(i < side, i * box.element, after + (i - side) * box.element)
    single = active & (i < 2 * side) & (from_begin < np.where(i < side, before, nbytes))
    yield _access(box, "shared_load", box.element, stored + from_begin, single)
    yield _access(box, "global_store", box.element, begin + from_begin, single)


def _by_lanes(box: Box, outside: Sequence[int], length: int, count: int) -> tuple[Integers, Integers, Integers]:
    """Return, by round, turn and thread, its run, which of ``count`` parts of it, and the run's coordinates."""
    lanes, runs = box.lanes(length), box.volume // length
    groups, thread = box.threads // lanes, np.arange(box.threads)
    r = (np.arange(-(-runs // groups))[:, None] * groups + thread // lanes)[:, None]
    k = np.arange(-(-count // lanes))[:, None] * lanes + thread % lanes
    at = coordinates([(b, box.extents[b], 1) for b in outside], len(box.boxed), runs)
    return r, k[None], at[np.minimum(r, runs - 1)]


def _gathering(box: Box, block: _Block, at: Integers) -> Flags:
    """Return whether units are gathered, by the coordinates of their first elements."""
    if box.writes_runs:
        return np.ones(at.shape[:-1], bool)
    limits = list(block.limits)
    if box.pack > 1 and not box.direct:
        limits[box.packed] = box.extents[box.packed]  # what is beyond them is gathered, and not written
    return _inside(at, limits)


def _inside(at: Integers, limits: Sequence[int]) -> Flags:
    return np.asarray((at < np.array(limits)).all(axis=-1))


def _bytes_within(box: Box, run: Sequence[int], limits: Sequence[int]) -> int:
    """Return the bytes of a run within the array: its last axis may end early."""
    return math.prod(limits[b] for b in run) * box.element


def _strides(box: Box, side: int) -> Integers:
    return np.array([box.axes[a][side] for a in box.boxed])


def _access(box: Box, place: str, width: int, addresses: Integers, active: Flags | bool = True) -> _Access:
    """Return an access of the first threads of a block, along the last axis; the others take no part."""
    addresses, taking = np.broadcast_arrays(addresses, active)
    addresses, taking = (array.reshape(-1, array.shape[-1]) for array in (addresses, taking))
    others = ((0, 0), (0, box.threads - addresses.shape[1]))
    return _Access(place, width, np.pad(addresses, others), np.pad(taking, others))
