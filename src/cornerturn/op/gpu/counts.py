"""What a box costs, counted in closed form: sectors, instructions, wavefronts, and what stays in flight."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cornerturn.kernels.grid import ceil_div
from cornerturn.kernels.production.axes import SECTOR, UNIT
from cornerturn.kernels.production.box import WORD, Box, Digit

WARP = 32
BANKS = 32
LINE = 128
"""Bytes of a line of L1: a request takes a wavefront for each line that it touches."""
SAMPLED_THREADS = 128
"""Threads whose first requests stand for all: the others differ by whole periods of the box."""
RESIDENT_THREADS, RESIDENT_BLOCKS, SHARED_TOTAL, SHARED_RESERVED = 2048, 32, 227 << 10, 1 << 10
"""What a multiprocessor holds (CUDA C++ Programming Guide, compute capability 9.0)."""
ASSEMBLED = {(1, 1): 3, (1, 4): 2, (2, 1): 1, (2, 2): 1}
"""Byte permutes per word of y, by element and pack: larger elements are words."""


@dataclass(frozen=True)
class Counts:
    """Counts of a box, per block where nothing else is said.

    Attributes:
        blocks: of the launch.
        warps: of a block.
        resident: blocks that a multiprocessor holds.
        x_sectors, y_sectors: sectors per sector that the bytes fill, on average over alignments.
        stored_sectors: the same of y, counted for each store on its own: others may write the rest of a sector.
        x_run, y_run: bytes of a run.
        covered: elements of all boxes per element of the array: 1 where no box ends beyond it.
        gaps: bytes of x that sectors hold per byte of an element, where runs of x have gaps.
        setup: elements of a thread's unit of y each of whose places is computed.
        accesses: memory instructions of warps.
        read_windows: aligned units of runs of x, over the warp's lanes.
        permutes: byte permutes of warps.
        wavefronts: of global and shared memory.
        read_waits, gather_waits: steps that a thread waits for, one after the other.
        units: that a thread reads and gathers.
    """

    blocks: int
    warps: int
    resident: int
    x_sectors: float
    y_sectors: float
    stored_sectors: float
    x_run: int
    y_run: int
    covered: float
    gaps: float
    setup: int
    accesses: float
    read_windows: float
    permutes: float
    wavefronts: float
    read_waits: int
    gather_waits: int
    units: int


def counts_of(box: Box, shared: tuple[float, float] | None = None) -> Counts:
    """Return the counts of a box.

    Args:
        box: the box.
        shared: wavefronts per request of stores to, and of loads from shared memory, or of loads from x where units are
            gathered from there; counted if omitted, which takes most of the time.
    """
    element, unit, pack = box.element, box.write_unit, box.pack
    nbytes = box.volume * element
    x_run, y_run = box.x_bytes if box.reads_runs else box.x_length * element, box.y_length * element
    stores, loads = wavefronts_per_request(box) if shared is None else shared
    gathers = box.volume / (unit * pack) / WARP
    read_windows = box.read.threads * box.read.steps / WARP if box.reads_runs else 0.0
    if box.writes_runs:
        gathers = box.write.threads * box.write.steps / WARP
    ends = _run_ends(box, gathers) * unit if box.writes_runs else 0.0
    accesses = gathers * (unit + pack) + 2 * ends
    wavefronts = gathers * unit * (max(loads, pack * element / WORD) if box.direct else loads)
    wavefronts += gathers * pack * max(1.0, unit * element / WORD) + 2 * ends
    if box.reads_runs:
        accesses += read_windows * (1 + UNIT / box.shared_unit)
        wavefronts += read_windows * (WORD + UNIT / box.shared_unit * stores)
    elif not box.direct:
        reads = nbytes / box.read_unit / WARP
        accesses += reads * (1 + box.read_unit / box.shared_unit)
        wavefronts += reads * (max(1.0, box.read_unit / WORD) + box.read_unit / box.shared_unit * stores)
    by_shared = SHARED_TOTAL // (box.shared_bytes + SHARED_RESERVED)
    resident = min(RESIDENT_BLOCKS, RESIDENT_THREADS // box.threads, by_shared)
    read_waits = box.write.steps if box.direct else ceil_div(box.read.steps, box.batch)
    return Counts(
        blocks=box.blocks,
        warps=box.threads // WARP,
        resident=max(resident, 1),
        x_sectors=_sectors(box, box.x_run, 1),
        y_sectors=_sectors(box, box.y_run, 2),
        stored_sectors=_stored_sectors(box),
        x_run=x_run,
        y_run=y_run,
        covered=math.prod(ceil_div(n, c) * c / n for (n, _, _), c in zip(box.axes, box.chunks, strict=True)),
        gaps=max(min([SECTOR, *(abs(axis[1]) for axis in box.axes if axis[0] > 1 and axis[1])]), element) / element,
        setup=0 if box.straight and not box.writes_runs else unit,
        accesses=accesses,
        read_windows=read_windows,
        permutes=gathers * unit * pack * element / WORD * ASSEMBLED.get((element, pack), 0),
        wavefronts=wavefronts,
        read_waits=read_waits,
        gather_waits=box.write.steps,
        units=box.write.steps + (0 if box.direct else box.read.steps),
    )


def _run_ends(box: Box, gathers: float) -> float:
    """Return the warps' words that hold ends of runs: boxes in which none begins and ends have none."""
    last = box.boxed[box.y_run[-1]]
    boxes = ceil_div(box.axes[last][0], box.chunks[last])
    runs = box.volume / math.prod(box.extents[b] for b in box.y_run)
    return min(gathers, 2 * runs) if boxes == 1 else min(gathers, runs) * 2 / boxes


def _stored_sectors(box: Box) -> float:
    """Return the sectors that the stores of a warp touch, each on its own, per sector that their bytes fill.

    Elements of x's run that are gathered together go to y by several stores, each with gaps for the others.
    """
    turned = box.pack > 1 and box.packed in box.y_run
    run = box.y_run[: box.y_run.index(box.packed)] if turned else box.y_run
    unit = box.write_unit * box.element
    length = max(unit, min(WARP * unit, math.prod(box.extents[b] for b in run) * box.element))
    sectors = (length + SECTOR - math.gcd(SECTOR, length)) / length
    return min(sectors, box.pack) if turned else sectors


def _sectors(box: Box, run: Sequence[int], side: int) -> float:
    """Return the sectors that a run touches per sector that its bytes fill, on average over where runs begin."""
    elements = math.prod(box.extents[b] for b in run)
    step = box.x_step if side == 1 else box.element
    length = (elements - 1) * step + box.element
    of_run = {box.boxed[b] for b in run}
    strides = [axis[side] for a, axis in enumerate(box.axes) if a not in of_run and axis[0] > 1]
    aligned = math.gcd(SECTOR, length, *strides)
    return (length + SECTOR - aligned) / length


def wavefronts_per_request(box: Box) -> tuple[float, float]:
    """Return the wavefronts of a store to, and of a load from shared memory: the mean over the first threads' steps.

    Where units are gathered from x itself: 0, and the lines that a load touches.
    """
    first = gathered(box, SAMPLED_THREADS)
    if box.direct:
        at = first @ np.array([box.axes[a][1] for a in box.boxed])
        return 0.0, _mean_over_warps(at, lambda lanes: len(np.unique(lanes // LINE)))
    width = box.pack * box.element
    loads = _mean_over_warps(shared_places(box, first), lambda lanes: _wavefronts(lanes, width))
    axes = len(box.boxed)
    if box.reads_runs:
        at = coordinates(box.read.thread, axes + 1, SAMPLED_THREADS)
        places = shared_places(box, at[:, :axes]) + at[:, axes] * UNIT
    else:
        at = coordinates(box.read.thread, axes, SAMPLED_THREADS * box.read.unit)[:: box.read.unit]
        places = shared_places(box, at)
    return _mean_over_warps(places[:, None], lambda lanes: _wavefronts(lanes, box.shared_unit)), loads


def gathered(box: Box, most_threads: int, y: int | None = None) -> NDArray[np.int64]:
    """Return where each element lies that the first threads gather first: threads x elements of a unit x axes.

    Words of runs of y hold other elements where the box begins elsewhere within a word: at ``y``, as the first box does
    if omitted.
    """
    axes, unit, phase = len(box.boxed), box.write.unit, box.write
    if not phase.windows:
        count = min(phase.threads, most_threads) * unit
        return coordinates(phase.thread, axes, count).reshape(-1, unit, axes)
    at = coordinates(phase.thread, axes + 1, min(phase.threads, most_threads))
    others, window = at[:, :axes], at[:, axes]
    shift = ((box.y if y is None else y) + others @ np.array([box.axes[a][2] for a in box.boxed])) % WORD // box.element
    first = window * unit - shift
    run: list[Digit] = [(b, box.extents[b], 1) for b in box.y_run]
    length = math.prod(box.extents[b] for b in box.y_run)
    of_run = np.clip(first[:, None] + np.arange(unit), 0, length - 1)
    both: NDArray[np.int64] = coordinates(run, axes, length)[of_run] + others[:, None]
    return both


def coordinates(digits: Sequence[Digit], axes: int, count: int) -> NDArray[np.int64]:
    """Return the coordinates that the first numbers mean: count x axes."""
    number = np.arange(min(count, math.prod(radix for _, radix, _ in digits)))
    at = np.zeros((len(number), axes), np.int64)
    for axis, radix, step in digits:
        at[:, axis] += number % radix * step
        number = number // radix
    return at


def shared_places(box: Box, at: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the bytes in shared memory at which elements lie, by their coordinates along the last axis."""
    places: NDArray[np.int64] = at @ np.array(box.pitches) + at[..., 0] // box.write_unit * box.skew
    return places


def _mean_over_warps(places: NDArray[np.int64], count: Callable[[NDArray[np.int64]], int]) -> float:
    """Return the mean over warps, and over the requests of each, of what their lanes' places count."""
    warps = range(0, len(places), WARP)
    return float(np.mean([count(places[w : w + WARP, v]) for w in warps for v in range(places.shape[1])]))


def _wavefronts(places: NDArray[np.int64], width: int) -> int:
    """Return the wavefronts of one request: per group of lanes that 128 bytes serve, the most words in one bank."""
    lanes, words = WARP * WORD // max(width, WORD), np.arange(max(width // WORD, 1))
    groups = range(0, len(places), lanes)
    touched = [np.unique((places[g : g + lanes, None] // WORD + words).ravel()) for g in groups]
    return sum(int(np.bincount(group % BANKS).max()) for group in touched)
