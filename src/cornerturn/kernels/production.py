"""The production family: what ``transpose()`` launches on a GPU, and how each kernel is laid over a move.

A move is an element size and its axes, each ``(extent, bytes to the next element of x, the same of y)``, ordered as y
lies in memory, outermost first. The functions here turn a move into an entry of ``production.cu`` and its launch; which
of them a move deserves is decided above.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cornerturn.kernels.grid import ceil_div
from cornerturn.kernels.kernel import CudaSource, Launch
from cornerturn.kernels.source import read_source

UNIT = 16
"""Bytes of the access of one thread."""
SECTOR = 32
"""Bytes that memory moves at least."""
AXES_ROOM = (4, 8, 16, 40)
"""Axes for which kernels have room. An array has at most 32; tiles and halves of axes come on top."""
MAX_BLOCKS = 2**31 - 1
INDEX_LIMIT = 2**31
"""Numbers below it are divided exactly by the kernels' multiplication."""

MoveAxis = tuple[int, int, int]
"""Extent, and the bytes from one element to the next in x and in y."""

TEXT = read_source("production.cu")

_AXIS = np.dtype([("extent", "u4"), ("magic", "u4"), ("shift", "u4"), ("unused", "u4"), ("in", "i8"), ("out", "i8")])
_BOX_AXIS = np.dtype(
    [(name, "u4") for name in ("extent", "magic", "shift", "place", "whole", "tiles", "tiles_magic", "tiles_shift")]
    + [("in", "i8"), ("out", "i8")]
)


def _axes_type(room: int) -> np.dtype[Any]:
    return np.dtype([("count", "u4"), ("unused", "u4", 3), ("axis", _AXIS, room)])


def _box_type(room: int) -> np.dtype[Any]:
    side = [(name, "u4") for name in ("low", "high", "magic", "shift", "low_axes", "axes")] + [("axis", "u4", room)]
    return np.dtype(
        [("volume", "u4"), ("axes", "u4"), ("unused", "u4", 2), ("in", side), ("out", side), ("axis", _BOX_AXIS, room)]
    )


def _room(count: int) -> int:
    """Return for how many axes a kernel is compiled that is to take ``count``."""
    return next(room for room in AXES_ROOM if count <= room)


@dataclass(frozen=True)
class Production:
    """One kernel of the family and its launch for one move.

    Attributes:
        entry: the template instance, for example ``rows<16, 256, 2, 4>``.
        launch: its launch; needs no pointer to be known.
    """

    entry: str
    launch: Launch

    @property
    def source(self) -> CudaSource:
        """The source with this one instance to compile."""
        return CudaSource("production.cu", TEXT, (self.entry,))


@dataclass(frozen=True)
class TileShape:
    """How the tile kernel cuts a matrix.

    Attributes:
        rows: elements of a tile's row of y, those that precede its window included.
        cols: elements of a tile's row of x.
        micro_rows: rows of x that a thread turns at once.
        threads: of a block.
        group: how many tiles down and across are numbered before the next ones; None: all along a row of y first.
        wide: ask L2 for the 256 bytes around each read.
        resident: blocks that a multiprocessor's registers should suffice for.
    """

    rows: int
    cols: int
    micro_rows: int
    threads: int
    group: tuple[int, int] | None = None
    wide: bool = True
    resident: int = 1


def tile(
    element: int,
    rows: MoveAxis,
    cols: MoveAxis,
    outer: Sequence[MoveAxis],
    shape: TileShape,
    x_units: bool = True,
    halo: int = 0,
) -> Production:
    """Return the launch of ``tile``: x's columns and y's rows are contiguous.

    Args:
        element: bytes, 1 to 16.
        rows: the axis that is contiguous in y.
        cols: the axis that is contiguous in x.
        outer: all other axes, in y's order.
        shape: the tile.
        x_units: every row of x begins on, and has, whole units of 16 bytes.
        halo: 0 when the same holds for y; else 1 or 2, the units by which a window may begin before its tile.
    """
    lead = halo * UNIT // element
    step = shape.rows - lead
    tiles = (ceil_div(rows[0] + max(lead - 1, 0), step), ceil_div(cols[0], shape.cols))
    grouped = shape.group is not None
    if shape.group is None:
        counts: tuple[int, ...] = tiles
    else:
        (down, down_groups), (across, across_groups) = map(_grouped, tiles, shape.group)
        counts = (down, across, down_groups, across_groups)
    axes = [*((count, 0, 0) for count in counts), *reversed(outer)]
    first, last = _reach([rows, cols, *outer])
    numbers = f"{element}, {shape.rows}, {shape.cols}, {shape.micro_rows}, {shape.threads}"
    flags = f"{_cpp(x_units)}, {halo}, {_cpp(grouped)}, {_cpp(shape.wide)}, {shape.resident}, {_room(len(axes))}"
    shared_bytes = shape.cols * element * (shape.rows + 1)
    arguments = (
        "x",
        "y",
        np.int32(rows[0]),
        np.int32(cols[0]),
        np.int64(rows[1]),
        np.int64(cols[2]),
        np.int64(first),
        np.int64(last + element),
        _pack_axes(axes),
    )
    launch = Launch((_blocks(axes), 1, 1), (shape.threads, 1, 1), arguments, shared_bytes)
    return Production(f"tile<{numbers}, {flags}>", launch)


def tile_run(
    element: int, rows: MoveAxis, cols: MoveAxis, outer: Sequence[MoveAxis], shape: TileShape, x_units: bool
) -> Production:
    """Return the launch of ``tile_run``: as ``tile``, but y's rows fit one tile and follow one another.

    Args:
        element: bytes, 1 to 16.
        rows: the axis that is contiguous in y, at least 16 bytes and at most ``shape.rows`` elements long.
        cols: the axis that is contiguous in x; in y, its step is a row's length.
        outer: all other axes, in y's order.
        shape: the tile; neither grouped nor wide.
        x_units: every row of x begins on, and has, whole units of 16 bytes.
    """
    axes = [rows, (ceil_div(cols[0], shape.cols), 0, 0), *reversed(outer)]
    first, last = _reach([rows, cols, *outer])
    reach = np.int64(first), np.int64(last + element)
    numbers = f"{element}, {shape.rows}, {shape.cols}, {shape.micro_rows}, {shape.threads}"
    arguments = ("x", "y", np.int32(cols[0]), np.int64(rows[1]), *reach, _pack_axes(axes))
    shared_bytes = shape.cols * element * (shape.rows + 1)
    launch = Launch((_blocks(axes[1:]), 1, 1), (shape.threads, 1, 1), arguments, shared_bytes)
    return Production(f"tile_run<{numbers}, {_cpp(x_units)}, {_room(len(axes))}>", launch)


def rows(element: int, axes: Sequence[MoveAxis], threads: int = 256, items: int = 1) -> Production:
    """Return the launch of ``rows``: elements one after the other along ``axes``, the last one fastest.

    Args:
        element: bytes, 1 to 16.
        axes: in any order; consecutive threads follow the last.
        threads: of a block.
        items: elements a thread.
    """
    fastest_first = list(reversed(axes))
    inner, slab, share = 0, 1, threads * items
    while inner < len(axes) and slab * fastest_first[inner][0] + share < INDEX_LIMIT:
        slab *= fastest_first[inner][0]
        inner += 1
    numbered = [*fastest_first[:inner], (ceil_div(slab, share), 0, 0), *fastest_first[inner:]]
    arguments = ("x", "y", np.uint32(slab), np.uint32(inner), _pack_axes(numbered))
    launch = Launch((_blocks(numbered[inner:]), 1, 1), (threads, 1, 1), arguments)
    return Production(f"rows<{element}, {threads}, {items}, {_room(len(numbered))}>", launch)


def weave(
    element: int,
    short: MoveAxis,
    long: MoveAxis,
    outer: Sequence[MoveAxis],
    threads: int = 128,
) -> Production:
    """Return the launch of ``weave``: records of ``short[0]`` elements, contiguous in y or in x.

    Every row begins on, and has, whole units of 16 bytes, and so does every batch of records.
    """
    interleave = short[2] == element
    pitch = short[1] if interleave else short[2]
    groups = long[0] * element // UNIT
    axes = [(ceil_div(groups, threads), 0, 0), *reversed(outer)]
    arguments = ("x", "y", np.uint32(groups), np.int64(pitch), _pack_axes(axes))
    numbers = f"{element}, {short[0]}, {threads}, {_cpp(interleave)}, {_room(len(axes))}"
    return Production(f"weave<{numbers}>", Launch((_blocks(axes), 1, 1), (threads, 1, 1), arguments))


def ragged_weave(
    element: int,
    short: MoveAxis,
    long: MoveAxis,
    outer: Sequence[MoveAxis],
    x_units: bool,
    halo: int,
    threads: int = 128,
) -> Production:
    """Return the launch of ``ragged_weave``: as ``weave``, but rows and batches of records begin anywhere.

    Args:
        element: bytes, 1 to 8.
        short: the axis along which a record's elements lie.
        long: the axis of the records.
        outer: all other axes, in y's order.
        x_units: what is contiguous in x begins on units of 16 bytes.
        halo: 0 when the same holds for y; else 2, the groups of records that a block reads again.
        threads: of a block.
    """
    interleave = short[2] == element
    pitch = short[1] if interleave else short[2]
    step = (threads - halo) * UNIT // element
    blocks = ceil_div(long[0] + (SECTOR // element - 1 if halo else 0), step)
    axes = [(blocks, 0, 0), *reversed(outer)]
    first, last = _reach([short, long, *outer])
    reach = np.int64(first), np.int64(last + element)
    arguments = ("x", "y", np.int32(long[0]), np.int64(pitch), *reach, _pack_axes(axes))
    flags = f"{_cpp(interleave)}, {_cpp(x_units)}, {halo}, {_room(len(axes))}"
    entry = f"ragged_weave<{element}, {short[0]}, {threads}, {flags}>"
    return Production(entry, Launch((_blocks(axes), 1, 1), (threads, 1, 1), arguments))


def ragged_rows(element: int, axes: Sequence[MoveAxis], threads: int = 128, items: int = 2) -> Production:
    """Return the launch of ``ragged_rows``: the last axis is contiguous on both sides, at least 16 bytes long.

    Args:
        element: bytes, 1 to 8.
        axes: in y's order.
        threads: of a block.
        items: units of y a thread.
    """
    fastest_first = list(reversed(axes))
    inner, elements = 1, axes[-1][0]
    while inner < len(axes) and fastest_first[inner][2] == elements * element:
        if elements * fastest_first[inner][0] >= INDEX_LIMIT - threads * items * UNIT:
            break
        elements *= fastest_first[inner][0]
        inner += 1
    blocks = ceil_div(elements + SECTOR // element - 1, threads * items * UNIT // element)
    numbered = [*fastest_first[:inner], (blocks, 0, 0), *fastest_first[inner:]]
    first, last = _reach(axes)
    reach = np.int64(first), np.int64(last + element)
    arguments = ("x", "y", np.int32(elements), np.uint32(inner), *reach, _pack_axes(numbered))
    launch = Launch((_blocks(numbered[inner:]), 1, 1), (threads, 1, 1), arguments)
    return Production(f"ragged_rows<{element}, {threads}, {items}, {_room(len(numbered))}>", launch)


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
    first, last = _reach([*inner, batch, *outer])
    reach = np.int64(first), np.int64(last + element)
    counts = np.uint32(len(inner)), np.int64(batch[0] * volume), np.int32(chunk)
    held = chunk * element // UNIT + 1
    shared_bytes = (held + held // 8) * UNIT
    launch_axes = axes[len(inner) + 1 :]
    launch = Launch(
        (_blocks(launch_axes), 1, 1), (threads, 1, 1), ("x", "y", *counts, *reach, _pack_axes(axes)), shared_bytes
    )
    return Production(f"shuffle<{element}, {threads}, {_room(len(axes))}>", launch)


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
    first, last = _reach([(record, element, element), rows, cols, *outer])
    extents = map(np.int32, (rows[0], cols[0], tall, wide, lead))
    strides = map(np.int64, (rows[1], cols[2], first, last + element))
    shared_bytes = (tall + lead) * (units | 1) * UNIT
    launch = Launch(
        (_blocks(axes[3:]), 1, 1), (threads, 1, 1), ("x", "y", *extents, *strides, _pack_axes(axes)), shared_bytes
    )
    return Production(f"records<{element}, {threads}, {_room(len(axes))}>", launch)


def box(element: int, axes: Sequence[MoveAxis], threads: int = 256) -> Production:
    """Return the launch of ``box``: any axes, any strides; bytes move as elements.

    The box grows, an axis at a time, along what is contiguous in x and in y until both runs fill sectors and the box
    fills the block's shared memory.
    """
    volume_limit = BOX_BYTES // max(element, 4)
    extents = _grow_box(element, axes, volume_limit)
    sides = [_side_order(axes, 1), _side_order(axes, 2)]
    volume = math.prod(extents)
    room = _room(len(axes))
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


RECORDS_TALL, RECORDS_WIDE = 384, 240
"""Bytes of a row of y and of a row of x that a tile of records takes about."""


def record_tile(size: int) -> tuple[int, int]:
    """Return the rows and columns of a tile of records of ``size`` bytes: rows of y in whole lines of windows."""
    return ceil_div(RECORDS_TALL, 64 * size) * 64, RECORDS_WIDE // (8 * size) * 8


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


def _cpp(flag: bool) -> str:
    return "true" if flag else "false"


def _grouped(tiles: int, group: int) -> tuple[int, int]:
    """Return the size and the number of groups of about ``group`` tiles, of one size."""
    groups = ceil_div(tiles, group)
    size = ceil_div(tiles, groups)
    return size, ceil_div(tiles, size)


def _reach(axes: Sequence[MoveAxis]) -> tuple[int, int]:
    """Return the bytes from x's element (0, ..., 0) to its element at the lowest and at the highest address."""
    spans = [(extent - 1) * stride_in for extent, stride_in, _ in axes]
    return sum(min(span, 0) for span in spans), sum(max(span, 0) for span in spans)


def _blocks(axes: Sequence[MoveAxis]) -> int:
    return math.prod(extent for extent, _, _ in axes)


def division(divisor: int) -> tuple[int, int]:
    """Return ``magic, shift`` with which the kernels divide by ``divisor``.

    ``n // divisor == (magic * n // 2**32 + n) >> shift`` for 0 <= n < 2**31.
    Source: T. Granlund, P. Montgomery, Division by Invariant Integers using Multiplication, 1994.
    """
    shift = (divisor - 1).bit_length()
    return ((1 << 32) * ((1 << shift) - divisor)) // divisor + 1, shift


def _pack_axes(axes: Sequence[MoveAxis]) -> np.generic:
    packed: Any = np.zeros((), _axes_type(_room(len(axes))))
    packed["count"] = len(axes)
    for place, (extent, stride_in, stride_out) in enumerate(axes):
        packed["axis"][place] = (extent, *division(extent), 0, stride_in, stride_out)
    return packed[()]  # type: ignore[no-any-return]
