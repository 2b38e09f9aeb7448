"""What could solve a move: every kernel with its predicted time.

`by_permute` takes any move. `by_tile` is faster where it applies: its share of the copy is in the `Profile`, by
measurement. Both have the same signature, so that a kernel is added and removed by one function and its place in
`CANDIDATES`.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from cornerturn.kernels.grid import SHARED_BYTES, ceil_div
from cornerturn.kernels.production.axes import MAX_BLOCKS, MAX_EXTENT, SECTOR, UNIT
from cornerturn.kernels.production.box import Box
from cornerturn.kernels.production.device_code import Production
from cornerturn.kernels.production.permute import permute
from cornerturn.kernels.production.profile import Profile
from cornerturn.kernels.production.tile import HALO, WIDE_BYTES, tile
from cornerturn.kernels.production.tile_shape import TileShape, fitting_ragged_tiles, fitting_tiles
from cornerturn.op.gpu.boxes import chunks_of, padded
from cornerturn.op.gpu.cost import Cost, copy_seconds, cost_of
from cornerturn.op.gpu.counts import Counts, counts_of
from cornerturn.op.gpu.exact import exact_counts
from cornerturn.op.gpu.exact_tile import exact_tile_counts
from cornerturn.op.gpu.move import Move
from cornerturn.op.gpu.traffic import ExactCounts
from cornerturn.op.problem import Axis

THREADS = (64, 128, 256, 512)
WIDEST = (4, 8, 16)
"""Bytes of y at once: narrower units meet fewer conflicts of banks."""
MOST_STEPS = 16
"""Units per thread: they are unrolled, and more take the compiler long."""
GUESSED_WAVEFRONTS, GUESSED_LINES = (1.5, 2.0), (0.0, 8.0)
"""Wavefronts per request before they are counted: of a padded box, and of one that is gathered from x."""
SIZED, COUNTED = 16, 4
"""Boxes of which all numbers of threads are tried, and of each width of units those whose wavefronts are counted."""


@dataclass(frozen=True)
class Candidate:
    """One way to solve a move.

    Attributes:
        name: the kernel, and how it is laid over the move.
        seconds: predicted.
        make: returns the kernel and its launch.
        why: what bounds it, or where its time comes from.
        exact: returns what its launch counts, exactly.
        box: of `permute`, with its counts and their cost.
    """

    name: str
    seconds: float
    make: Callable[[], Production]
    why: str
    exact: Callable[[], ExactCounts]
    box: Box | None = None
    counts: Counts | None = None
    cost: Cost | None = None


def by_permute(move: Move, profile: Profile) -> Iterator[Candidate]:
    """Yield the boxes that are predicted to be the fastest; any move has some."""
    axes = tuple(reversed(move.axes))
    kept = move.nbytes >= profile.keep_bytes

    def guessed(box: Box) -> float:
        return _cost(box, counts_of(box, GUESSED_LINES if box.direct else GUESSED_WAVEFRONTS), move, profile).seconds

    def fastest(boxes: Sequence[Box], count: int) -> list[Box]:
        different = {
            (box.chunks, box.threads, box.direct, box.reads_runs, box.write_unit): box for box in boxes if is_legal(box)
        }
        return sorted(different.values(), key=guessed)[:count]

    plain = [
        Box(move.element, axes, chunks, move.x, move.y, kept=kept, mirrored=mirrored)
        for chunks in chunks_of(move.element, axes)
        for mirrored in (None, True)
    ]
    sized = [
        [
            replace(box, most_threads=threads, direct=direct, widest=widest)
            for box in fastest(plain, SIZED) or plain[:1]
            for threads in THREADS
            for direct in ((False, True) if move.nbytes <= profile.direct_bytes else (False,))
        ]
        for widest in WIDEST
    ]
    counted = dict.fromkeys(padded(box) for boxes in sized for box in fastest(boxes, COUNTED) or boxes[:1])
    for box in counted:
        counts = counts_of(box)
        cost = _cost(box, counts, move, profile)
        parts = " x ".join(map(str, box.chunks[::-1]))
        why = f"bound by {cost.bound}{', gathered from x itself' if box.direct else ''}"
        name = f"permute {parts}, {box.threads} threads"
        yield Candidate(name, cost.seconds, partial(permute, box), why, partial(exact_counts, box), box, counts, cost)


def _cost(box: Box, counts: Counts, move: Move, profile: Profile) -> Cost:
    return cost_of(counts, move.nbytes, box.along_x, len(box.numbered), box.direct, profile.rates)


def is_legal(box: Box) -> bool:
    """Return whether a box can be launched, and compiled within reason."""
    steps = 0 if box.direct else box.read.steps
    return max(steps, box.write.steps) <= MOST_STEPS and box.shared_bytes <= SHARED_BYTES and box.blocks <= MAX_BLOCKS


def by_tile(move: Move, profile: Profile) -> Iterator[Candidate]:
    """Yield the tile for a matrix whose rows and columns are long on both sides: it turns elements in registers."""
    if (turned := move.turned) is None or max(axis.extent for axis in move.axes) > MAX_EXTENT:
        return
    row, col, outer = turned
    element, y_sectors, is_loose = move.element, _y_sectors(move), bool(row.stride_in % WIDE_BYTES)
    shares = profile.tile_share if y_sectors else profile.ragged_tile_share
    shortest = profile.tile_bytes if y_sectors else profile.ragged_tile_bytes
    if row.extent * element < shortest or col.extent * element < profile.tile_bytes:
        return
    if element in profile.lone_ragged and outer and not y_sectors:
        return
    near = _near_axes(row, col, outer) if y_sectors else []
    if not y_sectors:
        table = profile.ragged[element]
        fitting = fitting_ragged_tiles(element, col.extent, profile.fitting_ragged_units)
    else:
        aligned = profile.loose.get(element, profile.aligned[element]) if is_loose else profile.aligned[element]
        table = profile.near[element] if near else aligned
        fitting = fitting_tiles(element, row.extent, col.extent, profile.fitting_threads)
    halo = 0 if y_sectors else HALO
    shape = _best((*table, *fitting), row, col, outer, profile, lead=halo * UNIT // element)
    covered = _covered(shape, row, col) / (row.extent * col.extent)
    group = profile.groups.get(element)
    is_far_apart = row.stride_in % profile.group_pitch == 0 and col.stride_out % profile.group_pitch == 0
    if group and y_sectors and not near and is_far_apart and col.extent >= 2 * group[1] * shape.cols:
        shape = shape.grouped(group)
    if element in profile.loose_narrow and is_loose:
        shape = replace(shape, wide=False)
    far = [axis for axis in outer if axis not in near]
    keep = bool(near) or move.nbytes >= profile.keep_bytes
    x_units = _on(UNIT, move.x, row.stride_in, col.extent * element, *_in(outer))
    make = partial(tile, element, row, col, far, shape, x_units, halo, near, keep)
    share = shares[element]
    if move.nbytes < profile.small_bytes:
        share = profile.small_tile_share.get(element, share)
    seconds = copy_seconds(move.nbytes, profile.rates) * covered / share + profile.tile_seconds
    why = f"kernel of its own: {share / covered:.2f} of the copy if large"
    exact = partial(exact_tile_counts, element, row, col, outer, shape, x_units, halo, (move.x, move.y))
    yield Candidate(f"tile {shape.rows} x {shape.cols}", seconds, make, why, exact)


CANDIDATES: tuple[Callable[[Move, Profile], Iterator[Candidate]], ...] = (by_tile, by_permute)


def _y_sectors(move: Move) -> bool:
    """Return whether rows of y begin on sectors; on units will do for those that one tile holds."""
    assert move.turned is not None
    row, col, outer = move.turned
    width = row.extent * move.element
    return _on(UNIT if width <= 8 * UNIT else SECTOR, move.y, col.stride_out, width, *_out(outer))


def _near_axes(row: Axis, col: Axis, outer: Sequence[Axis]) -> list[Axis]:
    """Return the axes whose steps are shorter than those from row to row on either side, the fastest in y first.

    The tiles along them are the nearest to one another in x and in y: as one batch after the other, each would be read
    from and written to as many far places.
    """

    def is_near(axis: Axis) -> bool:
        return abs(axis.stride_in) < abs(row.stride_in) and abs(axis.stride_out) < abs(col.stride_out)

    return [axis for axis in reversed(outer) if is_near(axis)]


def _best(
    shapes: Sequence[TileShape], row: Axis, col: Axis, outer: Sequence[Axis], profile: Profile, lead: int
) -> TileShape:
    """Return the first shape that keeps the device busy and wastes little of its tiles.

    Against a shape counts how much more of its rows is halo than of those of the first; less of it is no merit.
    """
    batches = math.prod(axis.extent for axis in outer)

    def read(shape: TileShape) -> float:
        return shape.rows / (shape.rows - lead)

    def cost(shape: TileShape) -> float:
        tiles = ceil_div(row.extent, shape.rows - lead) * ceil_div(col.extent, shape.cols)
        idle = max(1.0, profile.enough_blocks / (tiles * batches))
        return _covered(shape, row, col) * max(1.0, read(shape) / read(shapes[0])) * idle

    costs = [cost(shape) for shape in shapes]
    return next(shape for shape, own in zip(shapes, costs, strict=True) if own <= profile.similar_cost * min(costs))


def _covered(shape: TileShape, row: Axis, col: Axis) -> int:
    """Return the elements of all tiles, those beyond the matrix included."""
    return ceil_div(row.extent, shape.rows) * shape.rows * ceil_div(col.extent, shape.cols) * shape.cols


def _on(unit: int, *begins: int) -> bool:
    """Return whether all of these places lie on multiples of ``unit`` bytes."""
    return not any(begin % unit for begin in begins)


def _in(axes: Sequence[Axis]) -> list[int]:
    return [axis.stride_in for axis in axes]


def _out(axes: Sequence[Axis]) -> list[int]:
    return [axis.stride_out for axis in axes]
