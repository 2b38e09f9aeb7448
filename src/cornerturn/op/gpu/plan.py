"""From a problem to the production kernel and the tile that solve it on a GPU.

The tiles of large and small problems, which `cornerturn tune` measures, are in a `Tiling`; the limits here are those of
an H200. docs/performance-notes.md says how both were found.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from cornerturn.errors import UsageError
from cornerturn.kernels.gathers import box, record_tile, records, shuffle
from cornerturn.kernels.grid import ceil_div
from cornerturn.kernels.moves import INDEX_LIMIT, MAX_BLOCKS, SECTOR, UNIT
from cornerturn.kernels.production import (
    Production,
    TileShape,
    line_axes,
    ragged_rows,
    ragged_weave,
    rows,
    tile,
    tile_run,
    weave,
)
from cornerturn.kernels.production_tiles import (
    LOOSE_TILES,
    NEAR_TILES,
    fitting_ragged_tiles,
    fitting_tiles,
    grouped,
    run_limit,
    run_tile,
)
from cornerturn.op.gpu.tuned import DEFAULT, HALO, SHARED_BYTES, Tiling
from cornerturn.op.problem import Axis, Problem

MAX_EXTENT = INDEX_LIMIT - 4096
"""A tile's width below 2^31, so that no coordinate in the last tile overflows."""
WEAVE_LIMIT, ODD_WEAVE_LIMIT = 16, 31
"""The longest short axis that is turned in registers where all begins on units; odd ones of small elements go on."""
RAGGED_WEAVE_LIMIT, RAGGED_WEAVE_BYTES = 24, 96
"""The same for records in y where something does not."""
RAGGED_UNWEAVE_LIMIT = 8
"""And for records in x."""
LONG_UNITS = 16
"""Units of 16 bytes along the long axis from which on a warp of its own is worth it."""
SHUFFLE_LIMIT = 512
"""Elements of the largest block that is permuted within itself; larger ones have tiles of their own."""
FEW_ELEMENT = 8
"""Elements of up to so many bytes are moved in units where rows begin anywhere; larger ones as they are."""
SHIFTED_ELEMENT = 2
"""Elements of up to so many bytes are then read in units too."""
SIMILAR_COST = 1.05
"""A tile further down its table must save more than this, or the one above it is taken: it was faster."""
BLOCK_ROWS = 4
"""Rows that blocks of ``rows`` take together along each of two axes."""
LINE_BYTES = 2048
"""The shortest run of rows that is worth blocks of its own; shorter ones go element by element."""
SHORT_RUN = 128
"""Bytes up to which a row is so short that its neighbours in x should be read soon."""
LONG_ROW_THREADS = 128
"""Threads of a block that moves longer rows."""
SCATTER_LIMIT = 4.5
"""Inflation of reads and writes together up to which single elements are faster than boxes."""
GROUPED_PITCH = 128 << 10
"""Tiles are numbered in groups where rows lie multiples of so many bytes apart."""
KEEP_BYTES = 32 << 20
"""From so many bytes on, x and y do not fit L2 together, and lines of x are kept there longer than those of y."""
WIDE_BYTES, FEW_WIDE = 256, 2
"""L2 fetches so many bytes for a wide read: of small elements, only where rows of x begin on multiples of them."""
WARP_ELEMENTS = 32
BLOCK_ELEMENTS = 1024
WASTE_LIMIT = 4
"""A matrix that fills less than this part of its tiles goes element by element."""


@dataclass(frozen=True, slots=True)
class Move:
    """A problem as the GPU engine sees it: element size, axes in y's order, and where both arrays begin modulo 32."""

    element: int
    axes: tuple[Axis, ...]
    x: int
    y: int


def plan(problem: Problem, x: int, y: int, tiling: Tiling = DEFAULT) -> Production:
    """Return the kernel and launch for a problem between first elements at ``x`` and ``y`` modulo 32.

    Args:
        problem: what moves.
        x: address of its first element in x, modulo 32.
        y: the same in y.
        tiling: of the device that it is for.

    Raises:
        UsageError: an axis is too long for 31 bits.
    """
    move = _naturally_aligned(problem, x, y)
    if (longest := max(axis.extent for axis in move.axes)) > MAX_EXTENT:
        raise UsageError(f"an axis of {longest} elements is longer than the {MAX_EXTENT} that kernels number: split it")
    for choose in (_woven, _shuffled, _tiled, _by_rows, _scattered):
        if (chosen := choose(move, tiling)) is not None:
            return _launchable(chosen)
    return _launchable(box(move.element, move.axes))


def _launchable(chosen: Production) -> Production:
    if (blocks := chosen.launch.grid[0]) > MAX_BLOCKS:
        raise UsageError(f"it takes {blocks} blocks, and a launch has at most {MAX_BLOCKS}: split an axis")
    return chosen


def _naturally_aligned(problem: Problem, x: int, y: int) -> Move:
    """Cut elements in parts until each part is aligned to its own size everywhere."""
    element = problem.itemsize
    while any(number % element for number in (x, y, *problem.strides_in, *problem.strides_out)):
        element //= 2
    parts = problem.itemsize // element
    inner = [Axis(parts, element, element)] if parts > 1 or not problem.shape else []
    return Move(element, (*problem.axes, *inner), x % SECTOR, y % SECTOR)


def _inner_axes(move: Move) -> tuple[Axis, Axis, list[Axis]] | None:
    """Return the axis that is contiguous in y, the one that is so in x, and the others; None when one is missing."""
    inner_out = next((axis for axis in reversed(move.axes) if axis.stride_out == move.element), None)
    inner_in = next((axis for axis in reversed(move.axes) if axis.stride_in == move.element), None)
    if inner_out is None or inner_in is None or inner_in is inner_out:
        return None
    return inner_out, inner_in, [axis for axis in move.axes if axis is not inner_out and axis is not inner_in]


def _woven(move: Move, tiling: Tiling) -> Production | None:
    if (inner := _inner_axes(move)) is None:
        return None
    row, col, outer = inner
    element = move.element
    interleaves = row.extent <= ODD_WEAVE_LIMIT and col.stride_out == row.extent * element
    deinterleaves = not interleaves and col.extent <= ODD_WEAVE_LIMIT and row.stride_in == col.extent * element
    if not (interleaves or deinterleaves):
        return None
    short, long = (row, col) if interleaves else (col, row)
    units = ceil_div(long.extent * element, UNIT)
    if units < LONG_UNITS or units * short.extent >= INDEX_LIMIT:
        return None
    x_units = not any(begin % UNIT for begin in (move.x, *([row.stride_in] if interleaves else []), *_in(outer)))
    y_units = not any(begin % UNIT for begin in (move.y, *([] if interleaves else [col.stride_out]), *_out(outer)))
    is_whole = x_units and y_units and long.extent * element % UNIT == 0
    if not _weaves(element, short.extent, interleaves, is_whole):
        return None
    threads = _weave_threads(tiling.weave_threads[element], short.extent, units)
    if is_whole:
        return weave(element, short, long, outer, threads)
    return ragged_weave(element, short, long, outer, x_units, 0 if y_units else 2, threads)


def _weaves(element: int, short: int, interleaves: bool, is_whole: bool) -> bool:
    """Return whether records of ``short`` elements are faster turned in registers than by tiles: as on an H200."""
    if element == UNIT:
        return short <= (WEAVE_LIMIT // 2 if interleaves else ODD_WEAVE_LIMIT)
    if is_whole:
        return short <= WEAVE_LIMIT or (short % 2 == 1 and element <= 2)
    if not interleaves:
        return short <= RAGGED_UNWEAVE_LIMIT
    # Rows of y that begin on units are for tiles.
    return short * element % UNIT != 0 and short <= min(RAGGED_WEAVE_LIMIT, RAGGED_WEAVE_BYTES // element)


def _weave_threads(preferred: int, short: int, units: int) -> int:
    """Return the threads of a block: not more than there is work for, or than shared memory has room for."""
    threads = min(preferred, max(32, 1 << (units - 1).bit_length()))
    while UNIT * (threads * (short | 1) + 1) > SHARED_BYTES:
        threads //= 2
    return threads


def _shuffled(move: Move, _: Tiling) -> Production | None:
    """Find the fewest innermost axes that make one contiguous block in x and in y, many of which follow one another."""
    element = move.element
    for count in range(2, len(move.axes)):
        inner, batch = move.axes[-count:], move.axes[-count - 1]
        volume = math.prod(axis.extent for axis in inner)
        if volume > SHUFFLE_LIMIT:
            return None
        step = volume * element
        if _is_dense(inner, 1, element) and _is_dense(inner, 2, element) and batch[1:] == (step, step):
            return shuffle(element, inner, batch, move.axes[: -count - 1])
    return None


def _is_dense(axes: Sequence[Axis], side: int, element: int) -> bool:
    """Return whether the elements of ``axes`` lie one after the other on one side (1: x, 2: y), in some order."""
    step = element
    for axis in sorted(axes, key=lambda axis: axis[side]):
        if axis[side] != step:
            return False
        step *= axis.extent
    return True


def _tiled(move: Move, tiling: Tiling) -> Production | None:
    if (inner := _inner_axes(move)) is None:
        return None
    row, col, outer = inner
    element = move.element
    x_begins = [move.x, row.stride_in, col.extent * element, *_in(outer)]
    y_begins = [move.y, col.stride_out, row.extent * element, *_out(outer)]
    x_units = not any(begin % UNIT for begin in x_begins)
    one_tile = row.extent * element <= 8 * UNIT and not any(begin % UNIT for begin in y_begins)
    y_sectors = one_tile or not any(begin % SECTOR for begin in y_begins)
    follow = element < UNIT and col.stride_out == row.extent * element
    runs = follow and UNIT // element <= row.extent <= run_limit(element)
    if runs and not y_sectors:
        shape = run_tile(element, row.extent, col.extent)
        wasted = _covered(shape, row, col) > WASTE_LIMIT * row.extent * col.extent
        return None if wasted else tile_run(element, row, col, outer, shape, x_units)
    near = _near_axes(row, col, outer) if y_sectors else []
    is_loose = bool(row.stride_in % WIDE_BYTES)
    table = (NEAR_TILES if near else tiling.aligned if y_sectors else tiling.ragged)[element]
    if y_sectors and not near and is_loose:
        table = LOOSE_TILES.get(element, table)
    fitting = (fitting_tiles if y_sectors else fitting_ragged_tiles)(element, row.extent, col.extent)
    elements = row.extent * col.extent
    shapes = [shape for shape in (*table, *fitting) if _covered(shape, row, col) <= WASTE_LIMIT * elements]
    if not shapes:
        return None
    halo = 0 if y_sectors else HALO
    shape = _best(shapes, row, col, outer, tiling.enough_blocks, lead=halo * UNIT // element)
    group = tiling.groups.get(element)
    if group and y_sectors and not near and _is_far_apart(row, col) and col.extent >= 2 * group[1] * shape.cols:
        shape = grouped(shape, group)
    if element <= FEW_WIDE and is_loose:
        shape = replace(shape, wide=False)
    far = [axis for axis in outer if axis not in near]
    keep = bool(near) or math.prod(axis.extent for axis in move.axes) * element >= KEEP_BYTES
    return tile(element, row, col, far, shape, x_units, halo, near, keep)


def _is_far_apart(row: Axis, col: Axis) -> bool:
    """Return whether rows lie so far apart on both sides, at such distances, that groups of tiles pay."""
    return row.stride_in % GROUPED_PITCH == 0 and col.stride_out % GROUPED_PITCH == 0


def _near_axes(row: Axis, col: Axis, outer: Sequence[Axis]) -> list[Axis]:
    """Return the axes whose steps are shorter than those from row to row on either side, the fastest in y first.

    The tiles along them are the nearest to one another in x and in y: as one batch after the other, each would be read
    from and written to as many far places.
    """

    def is_near(axis: Axis) -> bool:
        return abs(axis.stride_in) < abs(row.stride_in) and abs(axis.stride_out) < abs(col.stride_out)

    return [axis for axis in reversed(outer) if is_near(axis)]


def _best(
    shapes: Sequence[TileShape], row: Axis, col: Axis, outer: Sequence[Axis], enough: int, lead: int
) -> TileShape:
    """Return the first shape that keeps the device busy and wastes little of its tiles.

    Against a shape counts how much more of its rows is halo than of those of the first; less of it is no merit.
    """
    batches = math.prod(axis.extent for axis in outer)

    def read(shape: TileShape) -> float:
        return shape.rows / (shape.rows - lead)

    def cost(shape: TileShape) -> float:
        tiles = ceil_div(row.extent, shape.rows - lead) * ceil_div(col.extent, shape.cols)
        idle = max(1.0, enough / (tiles * batches))
        return _covered(shape, row, col) * max(1.0, read(shape) / read(shapes[0])) * idle

    costs = [cost(shape) for shape in shapes]
    return next(shape for shape, own in zip(shapes, costs, strict=True) if own <= SIMILAR_COST * min(costs))


def _covered(shape: TileShape, row: Axis, col: Axis) -> int:
    """Return the elements of all tiles, those beyond the matrix included."""
    return ceil_div(row.extent, shape.rows) * shape.rows * ceil_div(col.extent, shape.cols) * shape.cols


def _by_rows(move: Move, tiling: Tiling) -> Production | None:
    last, element = move.axes[-1], move.element
    if last.stride_in != element or last.stride_out != element or last.extent >= INDEX_LIMIT // 2:
        return None
    if element <= FEW_ELEMENT and last.extent * element >= UNIT:
        if math.prod(axis[0] for axis in line_axes(element, move.axes)) * element >= LINE_BYTES:
            return ragged_rows(element, move.axes, shifted=element <= SHIFTED_ELEMENT)
    elif element <= FEW_ELEMENT and (moved := _recorded(move)) is not None:
        return moved
    if last.extent * element > SHORT_RUN:
        return rows(element, move.axes, LONG_ROW_THREADS, tiling.rows_items[element])
    return rows(element, _blocked(move.axes), items=2)


def _recorded(move: Move) -> Production | None:
    """Take rows of few elements for the records of a matrix."""
    *others, record = move.axes
    size = record.extent * move.element
    row = next((axis for axis in others if axis.stride_out == size), None)
    col = next((axis for axis in others if axis.stride_in == size), None)
    if row is None or col is None or row is col:
        return None
    tall, wide = record_tile(size)
    covered = ceil_div(row.extent, tall) * tall * ceil_div(col.extent, wide) * wide
    if covered > WASTE_LIMIT * row.extent * col.extent:
        return None
    outer = [axis for axis in others if axis is not row and axis is not col]
    return records(move.element, record.extent, row, col, outer)


def _blocked(axes: tuple[Axis, ...]) -> list[Axis]:
    """Number the elements so that a block's rows are neighbours in x too, where extents divide.

    The two axes whose rows lie next to each other in y and in x are cut, so that BLOCK_ROWS x BLOCK_ROWS rows come
    one after the other.
    """
    *outer, inner = axes
    if len(outer) < 2:
        return list(axes)
    near_out, near_in = outer[-1], min(outer, key=lambda axis: abs(axis.stride_in))
    if near_in is near_out or near_out.extent % BLOCK_ROWS or near_in.extent % BLOCK_ROWS:
        return list(axes)
    if min(near_in.extent, near_out.extent) <= 4 * BLOCK_ROWS:
        return list(axes)
    others = [axis for axis in outer if axis is not near_in and axis is not near_out]
    far = [_scaled(axis, axis.extent // BLOCK_ROWS, BLOCK_ROWS) for axis in (near_in, near_out)]
    near = [_scaled(axis, BLOCK_ROWS, 1) for axis in (near_in, near_out)]
    return [*others, *far, *near, inner]


def _scattered(move: Move, _: Tiling) -> Production | None:
    """Move element by element where neighbouring threads find their elements close together on both sides.

    Loads of a block share what L1 holds; stores are merged within a warp alone.
    """
    if math.prod(axis.extent for axis in move.axes) >= INDEX_LIMIT:
        return None
    orders: list[list[Axis]] = [list(move.axes), sorted(move.axes, key=lambda axis: -abs(axis.stride_in))]
    if (inner := _inner_axes(move)) is not None:
        row, col, outer = inner
        orders.append([*outer, *sorted((row, col), key=lambda axis: -axis.extent)])
    costs = [
        _inflation(move.element, order, 1, BLOCK_ELEMENTS) + _inflation(move.element, order, 2, WARP_ELEMENTS)
        for order in orders
    ]
    if min(costs) > SCATTER_LIMIT:
        return None
    return rows(move.element, orders[costs.index(min(costs))], items=4)


def _inflation(element: int, order: Sequence[Axis], side: int, count: int) -> float:
    """Return the bytes of the sectors that the first ``count`` elements touch on one side, over their own bytes."""
    offsets = np.zeros(1, np.int64)
    for axis in reversed(order):
        if len(offsets) >= count:
            break
        offsets = (np.arange(min(axis[0], count))[:, None] * axis[side] + offsets).reshape(-1)
    offsets = offsets[:count]
    return float(len(np.unique(offsets // SECTOR)) * SECTOR / (len(offsets) * element))


def _scaled(axis: Axis, extent: int, step: int) -> Axis:
    return Axis(extent, axis.stride_in * step, axis.stride_out * step)


def _in(axes: Sequence[Axis]) -> list[int]:
    return [axis.stride_in for axis in axes]


def _out(axes: Sequence[Axis]) -> list[int]:
    return [axis.stride_out for axis in axes]
