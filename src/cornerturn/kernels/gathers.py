"""The production kernels that gather: what they write comes from shared memory, by tables of where each element lies.

``shuffle`` permutes small blocks within themselves, ``records`` exchanges the places of small records, and ``box``
takes everything that nothing else takes.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from cornerturn.kernels.grid import ceil_div
from cornerturn.kernels.kernel import Launch
from cornerturn.kernels.moves import SECTOR, UNIT, MoveAxis, count_blocks, division, pack_axes, reach, room_for
from cornerturn.kernels.production import Production

RECORDS_TALL, RECORDS_WIDE = 384, 240
"""Bytes of a row of y and of a row of x that a tile of records takes about."""
RECORDS_TABLE = 1024
"""Entries of its table, of 2 bytes each."""
RECORDS_SHARED = 48 * 1024 - 2 * RECORDS_TABLE
"""Shared memory that it may take beside the table; a block of every device has 48 KiB."""
SHUFFLE_VOLUME = 1024
"""Elements of a block that ``shuffle`` permutes at most."""
SHUFFLE_BYTES = 8192
"""Bytes that a block of its threads takes about."""
BOX_BYTES = 32768
BOX_TABLE = 128
"""Entries of each of the box kernel's four tables."""
BOX_RUN_BYTES = 128
BOX_COUNT = 1024
"""Boxes that keep the device busy: a box stops growing when fewer would be left, once its runs are long enough."""

_BOX_AXIS = np.dtype(
    [(name, "u4") for name in ("extent", "magic", "shift", "place", "whole", "tiles", "tiles_magic", "tiles_shift")]
    + [("in", "i8"), ("out", "i8")]
)


def shuffle(
    element: int, inner: Sequence[MoveAxis], batch: MoveAxis, outer: Sequence[MoveAxis], threads: int = 128
) -> Production:
    """Return the launch of ``shuffle``: blocks that are contiguous in x and in y, permuted within themselves.

    Args:
        element: bytes, 1 to 16.
        inner: the axes of a block, in y's order; at most SHUFFLE_VOLUME elements.
        batch: the axis of the blocks; on both sides its step is a block's length.
        outer: all other axes, in y's order.
        threads: of a block of threads.
    """
    volume = math.prod(axis[0] for axis in inner)
    units = UNIT // element
    blocks = max(SHUFFLE_BYTES // (volume * element * units), 1) * units  # so that each thread block begins on a unit
    chunk = blocks * volume
    axes = [(volume, 0, 0), *reversed(inner), (ceil_div(batch[0], blocks), 0, 0), *reversed(outer)]
    first, last = reach([*inner, batch, *outer])
    ends = np.int64(first), np.int64(last + element)
    counts = np.uint32(len(inner)), np.int64(batch[0] * volume), np.int32(chunk)
    held = chunk * element // UNIT + 1
    shared_bytes = (held + held // 8) * UNIT
    launch_axes = axes[len(inner) + 1 :]
    launch = Launch(
        (count_blocks(launch_axes), 1, 1), (threads, 1, 1), ("x", "y", *counts, *ends, pack_axes(axes)), shared_bytes
    )
    return Production(f"shuffle<{element}, {threads}, {room_for(len(axes))}>", launch)


def records(
    element: int, record: int, rows: MoveAxis, cols: MoveAxis, outer: Sequence[MoveAxis], threads: int = 256
) -> Production:
    """Return the launch of ``records``: a matrix of records of a few elements each, contiguous in x and in y.

    Args:
        element: bytes, 1 to 8.
        record: elements of a record, together less than 16 bytes.
        rows: the axis along which records follow one another in y.
        cols: the same in x.
        outer: all other axes, in y's order.
        threads: of a block.
    """
    size = record * element
    tall, wide = record_tile(size)
    lead = ceil_div(SECTOR, size)
    units = ceil_div(wide * size, UNIT) + 1
    tiles = [(ceil_div(rows[0] + lead, tall), 0, 0), (ceil_div(cols[0], wide), 0, 0)]
    divisors = [(record, 0, 0), (units, 0, 0), (tall * size // (4 * UNIT), 0, 0)]
    axes = [*divisors, *tiles, *reversed(outer)]
    first, last = reach([(record, element, element), rows, cols, *outer])
    extents = map(np.int32, (rows[0], cols[0], tall, wide, lead))
    strides = map(np.int64, (rows[1], cols[2], first, last + element))
    shared_bytes = (tall + lead) * (units | 1) * UNIT
    launch = Launch(
        (count_blocks(axes[3:]), 1, 1), (threads, 1, 1), ("x", "y", *extents, *strides, pack_axes(axes)), shared_bytes
    )
    return Production(f"records<{element}, {threads}, {room_for(len(axes))}>", launch)


def record_tile(size: int) -> tuple[int, int]:
    """Return the rows and columns of a tile of records of ``size`` bytes: rows of y in whole lines of windows."""
    tall = ceil_div(RECORDS_TALL, 64 * size) * 64
    units = RECORDS_SHARED // (UNIT * (tall + ceil_div(SECTOR, size)))
    wide = (units - 2 + units % 2) * UNIT  # an odd number of units, of which a row meets one more than it fills
    return tall, min(wide, RECORDS_WIDE) // (8 * size) * 8


def box(element: int, axes: Sequence[MoveAxis], threads: int = 256) -> Production:
    """Return the launch of ``box``: any axes, any strides; bytes move as elements.

    The box grows, an axis at a time, along what is contiguous in x and in y until both runs fill sectors and the box
    fills the block's shared memory.
    """
    volume_limit = BOX_BYTES // max(element, 4)
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
    entry = f"box<{element}, {volume_limit}, {BOX_TABLE}, {threads}, {room}>"
    return Production(entry, Launch((math.prod(tiles), 1, 1), (threads, 1, 1), ("x", "y", packed[()])))


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
        if math.prod(extents) <= volume_limit and all(high <= BOX_TABLE for _, _, high in tables):
            return True
        extents[axis] = before
        return False

    while True:
        short, long = sorted(orders, key=run)
        if run(short) * element >= BOX_RUN_BYTES and total // math.prod(extents) <= BOX_COUNT:
            return extents
        if not grown(short) and not grown(long):
            return extents


def _split(extents: Sequence[int]) -> tuple[int, int, int]:
    """Return how many of the first extents make a table of at most BOX_TABLE entries, its size, and the rest's size."""
    low, count = 1, 0
    for extent in extents:
        if low * extent > BOX_TABLE:
            break
        low, count = low * extent, count + 1
    return count, low, math.prod(extents[count:])
