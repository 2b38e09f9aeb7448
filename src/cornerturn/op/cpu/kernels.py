"""The CPU kernels: what the planner and the engine know of each, in one record per kernel.

A record says when its kernel may fill a box, what that takes, and what the kernel reads of the job. Nothing here needs
Numba: a kernel is compiled when the engine asks for it.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cornerturn.op.cpu.box import Box, Table
from cornerturn.op.cpu.machine import LINE_BYTES, byte_lookup

VECTOR_BYTES = 16
SOURCES_MAX = 8  # vectors of the input that one of the output may be put together from
SOURCES_KNOWN = 3  # up to here the kernel has code for each number of them
LOOP_NANOSECONDS = 2.0
RUN_BYTES_MIN = 64  # shorter runs are moved as records


@dataclass(frozen=True)
class Filling:
    """How a kernel fills a box, in numbers.

    Attributes:
        loops: pairs of offsets, in the input and in what is filled: a kernel fills the box in so many steps.
        numbers: what the kernel reads beyond the common part of a job; a table stands for the place where it begins.
    """

    loops: Table
    numbers: tuple[int | NDArray[Any], ...]


@dataclass(frozen=True)
class KernelRecord:
    """What is known of one kernel.

    Attributes:
        name: as plans and guides write it; the compiled kernel is kept under it.
        lesson: what it does, in a few words.
        build: returns the kernel's Python function, for Numba to compile.
        fits: whether it can fill a box, into scratch memory or at once into the output.
        nanoseconds: about what filling a box takes, from the first cache.
        filling: the numbers it reads, to fill scratch memory or the output.
        scratch: whether it may fill scratch memory.
        columns: bytes of a column that it writes before it goes on to the next column; 0: it writes in order.
        reads: bytes that it reads before it goes on to another row; 0: a record.
    """

    name: str
    lesson: str
    build: Callable[[], Callable[..., None]]
    fits: Callable[[Box, bool], bool]
    nanoseconds: Callable[[Box], float]
    filling: Callable[[Box, bool], Filling]
    scratch: bool = True
    columns: int = 0
    reads: int = 0


def _targets(box: Box, scratch: bool) -> list[int]:
    return box.scratch_strides if scratch else box.strides_out


def _pairs(box: Box, axes: tuple[int, ...], targets: list[int]) -> Table:
    return np.stack([box.offsets(axes, box.strides_in), box.offsets(axes, targets)], axis=1)


# Tiles


@dataclass(frozen=True)
class _Tile:
    """A square that a kernel transposes in registers: elements along a side, and about what it takes."""

    side: int
    nanoseconds: float


_TILES = {
    1: (_Tile(16, 14.5), _Tile(4, 2.1)),
    2: (_Tile(16, 15.5), _Tile(4, 2.1)),
    4: (_Tile(8, 5.2), _Tile(4, 2.5)),
    8: (_Tile(8, 9.0), _Tile(4, 2.6)),
    16: (_Tile(4, 4.4), _Tile(2, 1.5)),
}
"""By bytes of an element: the large square, and the one for short axes."""


def _tiles_record(item: int) -> KernelRecord:
    large, small = _TILES[item]

    def count(box: Box, tile: _Tile) -> int:
        rows, cols = (box.elements(axes) for axes in box.matrix)
        return -(-rows // tile.side) * -(-cols // tile.side)

    def legal(box: Box, tile: _Tile) -> bool:
        return min(box.elements(axes) for axes in box.matrix) >= tile.side

    def best(box: Box) -> _Tile:
        return min((tile for tile in (large, small) if legal(box, tile)), key=lambda t: count(box, t) * t.nanoseconds)

    def build() -> Callable[..., None]:
        from cornerturn.op.cpu import fill

        return fill.tiles(item, large.side, small.side)

    def filling(box: Box, scratch: bool) -> Filling:
        rows, cols = box.matrix
        targets = _targets(box, scratch)
        back = [number for number in cols if box.strides_in[number] < 0]
        turned = {number: (-1 if number in back else 1) * targets[number] for number in cols}
        loops = _pairs(box, box.rest(rows, cols), targets)
        loops += [sum((box.chunks[n] - 1) * table[n] for n in back) for table in (box.strides_in, targets)]
        row_offsets, col_offsets = box.offsets(rows, box.strides_in), box.offsets(cols, turned)
        is_small = int(best(box) is small)
        return Filling(loops, (len(row_offsets), row_offsets, len(col_offsets), col_offsets, is_small))

    def nanoseconds(box: Box) -> float:
        tile = best(box)
        loops = box.elements(box.rest(*box.matrix))
        return loops * (LOOP_NANOSECONDS + count(box, tile) * tile.nanoseconds)

    return KernelRecord(
        f"tiles_{item}",
        "two axes change places, square by square in registers",
        build,
        lambda box, scratch: box.item == item and legal(box, small),
        nanoseconds,
        filling,
        columns=large.side * item,
        reads=large.side * item,
    )


# Records: runs of bytes that stay together, single elements among them


def _width(nbytes: int) -> int:
    """Return the bytes that one load takes of a record."""
    return min(VECTOR_BYTES, 1 << (nbytes - 1).bit_length())


def _records_axes(box: Box) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Axes along which records follow each other in what is filled, and all others."""
    record = box.record
    inner = tuple(number for number in box.y_run if number not in record)
    return inner, box.rest(record, inner)


def _records_record(width: int) -> KernelRecord:
    def fits(box: Box, scratch: bool) -> bool:
        nbytes = box.record_bytes
        return _width(nbytes) == width and (scratch or nbytes >= width)

    def nanoseconds(box: Box) -> float:
        nbytes = box.record_bytes
        inner, outer = _records_axes(box)
        each = 0.33 if nbytes == width else 0.45 + 0.4 * -(-nbytes // width)
        return box.elements(outer) * (LOOP_NANOSECONDS + box.elements(inner) * each)

    def build() -> Callable[..., None]:
        from cornerturn.op.cpu import fill

        return fill.records(width)

    def filling(box: Box, scratch: bool) -> Filling:
        nbytes = box.record_bytes
        inner, outer = _records_axes(box)
        offsets = box.offsets(inner, box.strides_in)
        safe = box.high_in - width
        return Filling(_pairs(box, outer, _targets(box, scratch)), (len(offsets), offsets, nbytes, safe))

    return KernelRecord(
        f"records_{width}",
        "elements are gathered one by one",
        build,
        fits,
        nanoseconds,
        filling,
    )


# Vectors put together out of a few of the input


@dataclass(frozen=True)
class _Pattern:
    """The vectors of a part of the output's first run, which repeats.

    Attributes:
        axes: the axes of this part.
        goals: where in it each vector goes; the last one is moved inwards.
        sources: source by source, where in the input the vectors begin that hold the bytes of each.
        masks: which byte of a source comes to which place, or 128.
    """

    axes: tuple[int, ...]
    goals: Table
    sources: Table
    masks: NDArray[np.uint8]

    def nanoseconds(self, box: Box) -> float:
        """About what a box takes."""
        vectors, sources = map(int, self.sources.shape)
        each = 0.35 + 0.31 * sources + (1.4 if sources > SOURCES_KNOWN else 0)
        return box.elements(box.rest(self.axes)) * (LOOP_NANOSECONDS + vectors * each)


@lru_cache(maxsize=256)
def _pattern(box: Box) -> _Pattern | None:
    """Return the pattern that takes the least; None where vectors need too many sources."""
    found = [_pattern_of(box, box.y_run[:length]) for length in range(1, len(box.y_run) + 1)]
    fitting = [pattern for pattern in found if pattern]
    return min(fitting, key=lambda pattern: pattern.nanoseconds(box), default=None)


def _pattern_of(box: Box, axes: tuple[int, ...]) -> _Pattern | None:
    steps = [(box.chunks[number] - 1) * box.strides_in[number] for number in axes]
    low, high = sum(min(0, step) for step in steps), sum(max(0, step) for step in steps) + box.item
    nbytes = box.elements(axes) * box.item
    if min(nbytes, high - low) < VECTOR_BYTES:
        return None
    goals = np.minimum(np.arange(0, nbytes, VECTOR_BYTES), nbytes - VECTOR_BYTES)
    bytes_in = (box.offsets(axes, box.strides_in)[:, None] + np.arange(box.item)).reshape(-1)
    places = bytes_in[goals[:, None] + np.arange(VECTOR_BYTES)]
    sources: list[Table] = []
    left, gone = places, np.int64(1 << 62)
    while (left < gone).any():
        if len(sources) == SOURCES_MAX:
            return None
        lowest = left.min(axis=1)
        begin = np.minimum(lowest, high - VECTOR_BYTES)
        sources.append(np.where(lowest < gone, begin, low))
        left = np.where(left < begin[:, None] + VECTOR_BYTES, gone, left)
    begins = np.stack(sources, axis=1)
    found = places[:, None, :] - begins[:, :, None]
    inside = (found >= 0) & (found < VECTOR_BYTES)  # a byte that two sources hold comes from both, alike
    return _Pattern(axes, goals, begins, np.where(inside, found, 128).astype(np.uint8))


def _vectors_record() -> KernelRecord:
    def fits(box: Box, scratch: bool) -> bool:
        return bool(byte_lookup()) and box.item < VECTOR_BYTES and _pattern(box) is not None

    def build() -> Callable[..., None]:
        from cornerturn.op.cpu import fill

        return fill.vectors()

    def nanoseconds(box: Box) -> float:
        pattern = _pattern(box)
        return pattern.nanoseconds(box) if pattern else math.inf

    def filling(box: Box, scratch: bool) -> Filling:
        pattern = _pattern(box)
        assert pattern is not None
        table = np.concatenate([pattern.goals[:, None], pattern.sources], axis=1).reshape(-1)
        loops = _pairs(box, box.rest(pattern.axes), _targets(box, scratch))
        vectors, sources = pattern.sources.shape
        return Filling(loops, (vectors, table, sources, pattern.masks.reshape(-1).view(np.int64)))

    return KernelRecord(
        "vectors",
        "vectors are put together out of a few of the input",
        build,
        fits,
        nanoseconds,
        filling,
        reads=VECTOR_BYTES,
    )


# Runs that stay together


def _runs_record() -> KernelRecord:
    def build() -> Callable[..., None]:
        from cornerturn.op.cpu import fill

        return fill.runs()

    def nanoseconds(box: Box) -> float:
        return box.elements(box.rest(box.record)) * (1.5 + 0.6 * box.record_bytes / LINE_BYTES)

    def filling(box: Box, scratch: bool) -> Filling:
        return Filling(_pairs(box, box.rest(box.record), box.strides_out), ())

    return KernelRecord(
        "runs",
        "runs of bytes stay together",
        build,
        lambda box, scratch: not scratch and box.record_bytes >= RUN_BYTES_MIN,
        nanoseconds,
        filling,
        scratch=False,
    )


KERNELS = {
    record.name: record
    for record in (
        *map(_tiles_record, _TILES),
        *map(_records_record, (1, 2, 4, 8, 16)),
        _vectors_record(),
        _runs_record(),
    )
}
"""Every record by its name."""
