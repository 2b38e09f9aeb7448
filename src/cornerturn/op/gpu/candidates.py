"""Which moves each production kernel is for: its candidate for a move, or None.

All have the same signature, so that a kernel is added and removed by one function here and its place in `plan`. What a
kernel cannot do is a matter of the move; what it should not do, of the device's `Profile`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from cornerturn.kernels.grid import SHARED_BYTES, ceil_div
from cornerturn.kernels.production.axes import INDEX_LIMIT, SECTOR, UNIT
from cornerturn.kernels.production.box import box
from cornerturn.kernels.production.device_code import Production
from cornerturn.kernels.production.profile import Profile
from cornerturn.kernels.production.ragged_rows import line_axes, ragged_rows
from cornerturn.kernels.production.ragged_weave import HALO as WEAVE_HALO
from cornerturn.kernels.production.ragged_weave import ragged_weave
from cornerturn.kernels.production.records import record_tile, records
from cornerturn.kernels.production.rows import rows
from cornerturn.kernels.production.shuffle import shuffle
from cornerturn.kernels.production.tile import HALO, WIDE_BYTES, tile
from cornerturn.kernels.production.tile_run import run_tile, tile_run
from cornerturn.kernels.production.tile_shape import TileShape, fitting_ragged_tiles, fitting_tiles
from cornerturn.kernels.production.weave import weave
from cornerturn.op.gpu.move import Move
from cornerturn.op.problem import Axis

WARP_ELEMENTS, BLOCK_ELEMENTS = 32, 1024
"""Whose stores are merged, and whose loads share what L1 holds, where elements move one by one."""


def by_weave(move: Move, profile: Profile) -> Production | None:
    """Take a matrix with one short side, where all rows and batches begin on units."""
    if (woven := _woven(move, profile)) is None or not woven.is_whole:
        return None
    short = woven.short.extent
    limit = (profile.interleave_limit if woven.interleaves else profile.deinterleave_limit)[move.element]
    if short > limit and not (short % 2 and short <= profile.odd_weave_limit.get(move.element, 0)):
        return None
    return weave(move.element, woven.short, woven.long, woven.outer, woven.threads)


def by_ragged_weave(move: Move, profile: Profile) -> Production | None:
    """Take the same where something begins within a unit."""
    if (woven := _woven(move, profile)) is None or woven.is_whole:
        return None
    element, short = move.element, woven.short.extent
    if not woven.interleaves:
        if short > profile.ragged_deinterleave_limit[element]:
            return None
    elif short > profile.ragged_interleave_limit[element] or short * element % UNIT == 0:  # whole units are for tiles
        return None
    halo = 0 if woven.y_units else WEAVE_HALO
    return ragged_weave(element, woven.short, woven.long, woven.outer, woven.x_units, halo, woven.threads)


def by_shuffle(move: Move, profile: Profile) -> Production | None:
    """Take the fewest innermost axes that make one contiguous block in x and in y, many of which follow one another."""
    element = move.element
    for count in range(2, len(move.axes)):
        inner, batch = move.axes[-count:], move.axes[-count - 1]
        volume = math.prod(axis.extent for axis in inner)
        if volume > profile.shuffle_limit:
            return None
        step = volume * element
        if _is_dense(inner, 1, element) and _is_dense(inner, 2, element) and batch[1:] == (step, step):
            return shuffle(element, inner, batch, move.axes[: -count - 1])
    return None


def by_tile_run(move: Move, profile: Profile) -> Production | None:
    """Take a matrix whose rows of y are short, begin anywhere and follow one another."""
    if (turned := move.turned) is None or not _is_run(move, profile):
        return None
    row, col, outer = turned
    shape = run_tile(move.element, row.extent, col.extent)
    if _is_wasted(shape, row, col, profile):
        return None
    return tile_run(move.element, row, col, outer, shape, _x_units(move))


def by_tile(move: Move, profile: Profile) -> Production | None:
    """Take any matrix that fills its tiles; runs are for `by_tile_run` alone."""
    if (turned := move.turned) is None or _is_run(move, profile):
        return None
    row, col, outer = turned
    element, y_sectors, is_loose = move.element, _y_sectors(move), bool(row.stride_in % WIDE_BYTES)
    near = _near_axes(row, col, outer) if y_sectors else []
    if not y_sectors:
        table = profile.ragged[element]
        fitting = fitting_ragged_tiles(element, col.extent, profile.fitting_ragged_units)
    else:
        aligned = profile.loose.get(element, profile.aligned[element]) if is_loose else profile.aligned[element]
        table = profile.near[element] if near else aligned
        fitting = fitting_tiles(element, row.extent, col.extent, profile.fitting_threads)
    shapes = [shape for shape in (*table, *fitting) if not _is_wasted(shape, row, col, profile)]
    if not shapes:
        return None
    halo = 0 if y_sectors else HALO
    shape = _best(shapes, row, col, outer, profile, lead=halo * UNIT // element)
    group = profile.groups.get(element)
    is_far_apart = row.stride_in % profile.group_pitch == 0 and col.stride_out % profile.group_pitch == 0
    if group and y_sectors and not near and is_far_apart and col.extent >= 2 * group[1] * shape.cols:
        shape = shape.grouped(group)
    if element in profile.loose_narrow and is_loose:
        shape = replace(shape, wide=False)
    far = [axis for axis in outer if axis not in near]
    keep = bool(near) or math.prod(axis.extent for axis in move.axes) * element >= profile.keep_bytes
    return tile(element, row, col, far, shape, _x_units(move), halo, near, keep)


def by_ragged_rows(move: Move, profile: Profile) -> Production | None:
    """Take whole rows of a unit or more, whose elements are smaller than one."""
    last, element = move.axes[-1], move.element
    if not _has_whole_rows(move) or element > profile.ragged_rows_element or last.extent * element < UNIT:
        return None
    if math.prod(axis[0] for axis in line_axes(element, move.axes)) * element < profile.ragged_rows_bytes:
        return None
    return ragged_rows(element, move.axes, shifted=element <= profile.shifted_element)


def by_records(move: Move, profile: Profile) -> Production | None:
    """Take rows of less than a unit for the records of a matrix."""
    *others, record = move.axes
    size = record.extent * move.element
    if not _has_whole_rows(move) or move.element > profile.ragged_rows_element or size >= UNIT:
        return None
    row = next((axis for axis in others if axis.stride_out == size), None)
    col = next((axis for axis in others if axis.stride_in == size), None)
    if row is None or col is None or row is col:
        return None
    tall, wide = record_tile(size)
    covered = ceil_div(row.extent, tall) * tall * ceil_div(col.extent, wide) * wide
    if covered > profile.waste_limit * row.extent * col.extent:
        return None
    outer = [axis for axis in others if axis is not row and axis is not col]
    return records(move.element, record.extent, row, col, outer)


def by_rows(move: Move, profile: Profile) -> Production | None:
    """Take all whole rows; and single elements that neighbouring threads find close together on both sides."""
    if not _has_whole_rows(move):
        return _scattered(move, profile)
    if move.axes[-1].extent * move.element > profile.short_row_bytes:
        return rows(move.element, move.axes, profile.long_row_threads, profile.rows_items[move.element])
    return rows(move.element, _blocked(move.axes, profile.block_rows), items=2)


def by_box(move: Move, profile: Profile) -> Production | None:
    """Take everything."""
    return box(move.element, move.axes)


@dataclass(frozen=True, slots=True)
class _Woven:
    """A matrix of records: ``short`` is the axis of a record's elements, ``long`` that of the records."""

    short: Axis
    long: Axis
    outer: tuple[Axis, ...]
    interleaves: bool  # records are in y
    x_units: bool  # what is contiguous in x begins on units
    y_units: bool
    is_whole: bool  # all begins and ends on units
    threads: int


def _woven(move: Move, profile: Profile) -> _Woven | None:
    if (turned := move.turned) is None:
        return None
    row, col, outer = turned
    element = move.element
    interleaves = row.extent <= profile.weave_longest and col.stride_out == row.extent * element
    if not interleaves and (col.extent > profile.weave_longest or row.stride_in != col.extent * element):
        return None
    short, long = (row, col) if interleaves else (col, row)
    units = ceil_div(long.extent * element, UNIT)
    if units < profile.weave_units or units * short.extent >= INDEX_LIMIT:
        return None
    x_units = _on(UNIT, move.x, row.stride_in if interleaves else 0, *_in(outer))
    y_units = _on(UNIT, move.y, 0 if interleaves else col.stride_out, *_out(outer))
    is_whole = x_units and y_units and long.extent * element % UNIT == 0
    threads = min(profile.weave_threads[element], max(32, 1 << (units - 1).bit_length()))
    while UNIT * (threads * (short.extent | 1) + 1) > SHARED_BYTES:
        threads //= 2
    return _Woven(short, long, outer, interleaves, x_units, y_units, is_whole, threads)


def _is_dense(axes: Sequence[Axis], side: int, element: int) -> bool:
    """Return whether the elements of ``axes`` lie one after the other on one side (1: x, 2: y), in some order."""
    step = element
    for axis in sorted(axes, key=lambda axis: axis[side]):
        if axis[side] != step:
            return False
        step *= axis.extent
    return True


def _x_units(move: Move) -> bool:
    """Return whether every row of x begins on units and has whole ones."""
    assert move.turned is not None
    row, col, outer = move.turned
    return _on(UNIT, move.x, row.stride_in, col.extent * move.element, *_in(outer))


def _y_sectors(move: Move) -> bool:
    """Return whether rows of y begin on sectors; on units will do for those that one tile holds."""
    assert move.turned is not None
    row, col, outer = move.turned
    width = row.extent * move.element
    return _on(UNIT if width <= 8 * UNIT else SECTOR, move.y, col.stride_out, width, *_out(outer))


def _is_run(move: Move, profile: Profile) -> bool:
    """Return whether rows of y are short, follow one another, and begin within units."""
    assert move.turned is not None
    row, col, _ = move.turned
    element = move.element
    follow = element < UNIT and col.stride_out == row.extent * element
    return follow and UNIT // element <= row.extent <= profile.run_limit[element] and not _y_sectors(move)


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


def _is_wasted(shape: TileShape, row: Axis, col: Axis, profile: Profile) -> bool:
    return _covered(shape, row, col) > profile.waste_limit * row.extent * col.extent


def _covered(shape: TileShape, row: Axis, col: Axis) -> int:
    """Return the elements of all tiles, those beyond the matrix included."""
    return ceil_div(row.extent, shape.rows) * shape.rows * ceil_div(col.extent, shape.cols) * shape.cols


def _has_whole_rows(move: Move) -> bool:
    """Return whether the same axis is contiguous in x and in y, and its elements can be numbered."""
    last = move.axes[-1]
    return last.stride_in == last.stride_out == move.element and last.extent < INDEX_LIMIT // 2


def _blocked(axes: Sequence[Axis], step: int) -> Sequence[Axis]:
    """Number the elements so that a block's rows are neighbours in x too, where extents divide.

    The two axes whose rows lie next to each other in y and in x are cut, so that step x step rows come one after the
    other.
    """
    *outer, inner = axes
    if len(outer) < 2:
        return axes
    near_out, near_in = outer[-1], min(outer, key=lambda axis: abs(axis.stride_in))
    if near_in is near_out or near_out.extent % step or near_in.extent % step:
        return axes
    if min(near_in.extent, near_out.extent) <= 4 * step:
        return axes
    others = [axis for axis in outer if axis is not near_in and axis is not near_out]
    far = [Axis(axis.extent // step, axis.stride_in * step, axis.stride_out * step) for axis in (near_in, near_out)]
    near = [axis._replace(extent=step) for axis in (near_in, near_out)]
    return [*others, *far, *near, inner]


def _scattered(move: Move, profile: Profile) -> Production | None:
    """Loads of a block share what L1 holds; stores are merged within a warp alone."""
    if math.prod(axis.extent for axis in move.axes) >= INDEX_LIMIT:
        return None
    orders: list[Sequence[Axis]] = [move.axes, sorted(move.axes, key=lambda axis: -abs(axis.stride_in))]
    if (turned := move.turned) is not None:
        orders.append([*turned.outer, *sorted((turned.row, turned.col), key=lambda axis: -axis.extent)])
    costs = [
        _inflation(move.element, order, 1, BLOCK_ELEMENTS) + _inflation(move.element, order, 2, WARP_ELEMENTS)
        for order in orders
    ]
    if min(costs) > profile.scatter_limit:
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


def _on(unit: int, *begins: int) -> bool:
    """Return whether all of these places lie on multiples of ``unit`` bytes."""
    return not any(begin % unit for begin in begins)


def _in(axes: Sequence[Axis]) -> list[int]:
    return [axis.stride_in for axis in axes]


def _out(axes: Sequence[Axis]) -> list[int]:
    return [axis.stride_out for axis in axes]
