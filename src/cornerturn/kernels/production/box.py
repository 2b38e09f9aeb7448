"""``box``: any axes at any strides, element by element through shared memory, by tables of where elements lie."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from cornerturn.kernels.grid import ceil_div
from cornerturn.kernels.kernel import Kernel
from cornerturn.kernels.production.axes import MoveAxis, division, room_for
from cornerturn.kernels.production.device_code import DeviceCode, Production
from cornerturn.kernels.production.entry import axes_of, kernel

VOLUME_BYTES = 32768
"""The largest box; an element counts as four bytes at least."""
TABLE = 128
"""Entries of each of the kernel's four tables."""
RUN_BYTES = 128
ENOUGH_BOXES = 1024
"""Boxes that keep the device busy: a box stops growing when fewer would be left, once its runs are long enough."""

_CODE = DeviceCode("box")

_BOX_AXIS = np.dtype(
    [(name, "u4") for name in ("extent", "magic", "shift", "place", "whole", "tiles", "tiles_magic", "tiles_shift")]
    + [("in", "i8"), ("out", "i8")]
)


def box(element: int, axes: Sequence[MoveAxis], threads: int = 256) -> Production:
    """Return the launch of ``box``: any axes, any strides; bytes move as elements.

    The box grows, an axis at a time, along what is contiguous in x and in y until both runs fill sectors and the box
    fills the block's shared memory.
    """
    volume_limit = VOLUME_BYTES // max(element, 4)
    extents = _grow_box(element, axes, volume_limit)
    sides = [_side_order(axes, 1), _side_order(axes, 2)]
    volume = math.prod(extents)
    room = room_for(len(axes))
    packed: Any = np.zeros((), _box_type(room))
    packed["volume"], packed["axes"] = volume, len(axes)
    for name, order in zip(("in", "out"), sides, strict=True):
        boxed = [axis for axis in order if extents[axis] > 1]
        low_axes, low, high = _split([extents[axis] for axis in boxed])
        packed[name] = (low, high, *division(low), low_axes, len(boxed), [*boxed, *[0] * (room - len(boxed))])
    place = 1
    tiles = [ceil_div(axis[0], extent) for axis, extent in zip(axes, extents, strict=True)]
    for axis in sides[0]:
        whole, stride_in, stride_out = axes[axis]
        magics = (*division(extents[axis]), place, whole, tiles[axis], *division(tiles[axis]))
        packed["axis"][axis] = (extents[axis], *magics, stride_in, stride_out)
        place *= extents[axis]
    # y's fastest axes are numbered first; the kernel reads them from the front.
    packed["axis"][: len(axes)] = packed["axis"][: len(axes)][::-1]
    for name in ("in", "out"):
        count = packed[name]["axes"]
        packed[name]["axis"][:count] = len(axes) - 1 - packed[name]["axis"][:count]
    template = {"E": element, "VOLUME": volume_limit, "TABLE": TABLE, "THREADS": threads, "AXES": room}
    return _CODE.production(template, math.prod(tiles), box=packed[()])


def _box_type(room: int) -> np.dtype[Any]:
    side = [(name, "u4") for name in ("low", "high", "magic", "shift", "low_axes", "axes")] + [("axis", "u4", room)]
    return np.dtype(
        [("volume", "u4"), ("axes", "u4"), ("unused", "u4", 2), ("in", side), ("out", side), ("axis", _BOX_AXIS, room)]
    )


def _side_order(axes: Sequence[MoveAxis], side: int) -> list[int]:
    """Return the axes by their stride on one side (1: x, 2: y), nearest elements first."""
    return sorted(range(len(axes)), key=lambda axis: (abs(axes[axis][side]), -axis))


def _grow_box(element: int, axes: Sequence[MoveAxis], volume_limit: int) -> list[int]:
    extents = [1] * len(axes)
    orders = (_side_order(axes, 1), _side_order(axes, 2))
    total = math.prod(axis[0] for axis in axes)

    def run(order: list[int]) -> int:
        length = 1
        for axis in order:
            length *= extents[axis]
            if extents[axis] < axes[axis][0]:
                break
        return length

    def grown(order: list[int]) -> bool:
        axis = next((axis for axis in order if extents[axis] < axes[axis][0]), None)
        if axis is None:
            return False
        before = extents[axis]
        extents[axis] = min(axes[axis][0], 2 * before)
        tables = (_split([extents[a] for a in side if extents[a] > 1]) for side in orders)
        if math.prod(extents) <= volume_limit and all(high <= TABLE for _, _, high in tables):
            return True
        extents[axis] = before
        return False

    while True:
        short, long = sorted(orders, key=run)
        if run(short) * element >= RUN_BYTES and total // math.prod(extents) <= ENOUGH_BOXES:
            return extents
        if not grown(short) and not grown(long):
            return extents


def _split(extents: Sequence[int]) -> tuple[int, int, int]:
    """Return how many of the first extents make a table of at most TABLE entries, its size, and the rest's size."""
    low, count = 1, 0
    for extent in extents:
        if low * extent > TABLE:
            break
        low, count = low * extent, count + 1
    return count, low, math.prod(extents[count:])


def _lay(element: int, rows: int, cols: int) -> Production:
    down, along = axes_of(element, rows, cols)
    return box(element, [along, down])


def _lesson(element: int) -> str:
    return (
        "moves any axes at any strides: tables say where the elements of a box lie, which keeps both global ends "
        f"contiguous and takes seven times the instructions of tile_{element}, and conflicts in the tables."
    )


KERNELS: tuple[Kernel, ...] = (kernel("box", 4, _lay, (), _lesson(4)),)
