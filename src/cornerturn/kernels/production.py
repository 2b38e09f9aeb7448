"""The production family: what ``transpose()`` launches on a GPU, and how each kernel is laid over a move.

The functions here, and those of `cornerturn.kernels.gathers`, turn a move into an entry of ``production.cu`` and its
launch; which of them a move deserves is decided above.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cornerturn.kernels.grid import ceil_div
from cornerturn.kernels.kernel import CudaSource, Launch
from cornerturn.kernels.moves import INDEX_LIMIT, SECTOR, UNIT, MoveAxis, count_blocks, cut, pack_axes, reach, room_for
from cornerturn.kernels.source import read_source

TEXT = read_source("production.cu")


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
    near: Sequence[MoveAxis] = (),
    keep: bool = True,
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
        near: further axes, along which blocks follow one another before they do from tile to tile; the first fastest.
        keep: have L2 keep lines of x longer than those of y; without it, no read is wide.
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
    axes = [*near, *((count, 0, 0) for count in counts), *reversed(outer)]
    first, last = reach([rows, cols, *near, *outer])
    numbers = f"{element}, {shape.rows}, {shape.cols}, {shape.micro_rows}, {shape.threads}"
    order = f"{_cpp(grouped)}, {len(near)}"
    flags = f"{_cpp(x_units)}, {halo}, {order}, {_read(shape, keep)}, {shape.resident}, {room_for(len(axes))}"
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
        pack_axes(axes),
    )
    launch = Launch((count_blocks(axes), 1, 1), (shape.threads, 1, 1), arguments, shared_bytes)
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
    first, last = reach([rows, cols, *outer])
    ends = np.int64(first), np.int64(last + element)
    numbers = f"{element}, {shape.rows}, {shape.cols}, {shape.micro_rows}, {shape.threads}"
    arguments = ("x", "y", np.int32(cols[0]), np.int64(rows[1]), *ends, pack_axes(axes))
    shared_bytes = shape.cols * element * (shape.rows + 1)
    launch = Launch((count_blocks(axes[1:]), 1, 1), (shape.threads, 1, 1), arguments, shared_bytes)
    return Production(f"tile_run<{numbers}, {_cpp(x_units)}, {room_for(len(axes))}>", launch)


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
    arguments = ("x", "y", np.uint32(groups), np.int64(pitch), pack_axes(axes))
    numbers = f"{element}, {short[0]}, {threads}, {_cpp(interleave)}, {room_for(len(axes))}"
    return Production(f"weave<{numbers}>", Launch((count_blocks(axes), 1, 1), (threads, 1, 1), arguments))


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
    first, last = reach([short, long, *outer])
    ends = np.int64(first), np.int64(last + element)
    arguments = ("x", "y", np.int32(long[0]), np.int64(pitch), *ends, pack_axes(axes))
    flags = f"{_cpp(interleave)}, {_cpp(x_units)}, {halo}, {room_for(len(axes))}"
    entry = f"ragged_weave<{element}, {short[0]}, {threads}, {flags}>"
    return Production(entry, Launch((count_blocks(axes), 1, 1), (threads, 1, 1), arguments))


def rows(element: int, axes: Sequence[MoveAxis], threads: int = 256, items: int = 1) -> Production:
    """Return the launch of ``rows``: elements one after the other along ``axes``, the last one fastest.

    Args:
        element: bytes, 1 to 16.
        axes: in any order; consecutive threads follow the last.
        threads: of a block.
        items: elements a thread.
    """
    share = threads * items
    fastest_first, inner = _numbered(list(reversed(axes)), INDEX_LIMIT - share - 1)
    slab = count_blocks(fastest_first[:inner])
    numbered = [*fastest_first[:inner], (ceil_div(slab, share), 0, 0), *fastest_first[inner:]]
    arguments = ("x", "y", np.uint32(slab), np.uint32(inner), pack_axes(numbered))
    launch = Launch((count_blocks(numbered[inner:]), 1, 1), (threads, 1, 1), arguments)
    return Production(f"rows<{element}, {threads}, {items}, {room_for(len(numbered))}>", launch)


def ragged_rows(element: int, axes: Sequence[MoveAxis], shifted: bool, threads: int = 128) -> Production:
    """Return the launch of ``ragged_rows``: the last axis is contiguous on both sides, at least 16 bytes long.

    Args:
        element: bytes, 1 to 8.
        axes: in y's order.
        shifted: read x by units and shift them, and not element by element.
        threads: of a block, each of which writes one unit of y.
    """
    line = line_axes(element, axes)
    outer = list(reversed(axes))[len(line) :]
    chain, inner = _numbered(line, INDEX_LIMIT - 2 * threads * UNIT)  # so that no window ends beyond
    fastest_first, elements = [*chain, *outer], count_blocks(chain[:inner])
    blocks = ceil_div(elements + SECTOR // element - 1, threads * UNIT // element)
    numbered = [*fastest_first[:inner], (blocks, 0, 0), *fastest_first[inner:]]
    first, last = reach(axes)
    ends = np.int64(first), np.int64(last + element)
    arguments = ("x", "y", np.int32(elements), np.uint32(inner), *ends, pack_axes(numbered))
    launch = Launch((count_blocks(numbered[inner:]), 1, 1), (threads, 1, 1), arguments)
    return Production(f"ragged_rows<{element}, {threads}, {_cpp(shifted)}, {room_for(len(numbered))}>", launch)


def line_axes(element: int, axes: Sequence[MoveAxis]) -> list[MoveAxis]:
    """Return the axes along which rows follow one another in y without a gap, fastest first, the row's own included."""
    line, elements = [axes[-1]], axes[-1][0]
    for axis in reversed(axes[:-1]):
        if axis[2] != elements * element:
            break
        line.append(axis)
        elements *= axis[0]
    return line


def _numbered(fastest_first: list[MoveAxis], most: int) -> tuple[list[MoveAxis], int]:
    """Return the axes, one of them cut if need be, and how many of the first number at most ``most`` elements."""
    count = 1
    for place, axis in enumerate(fastest_first):
        if count * axis[0] > most:
            inner, outer = cut(axis, most // count)
            return [*fastest_first[:place], inner, outer, *fastest_first[place + 1 :]], place + 1
        count *= axis[0]
    return fastest_first, len(fastest_first)


def _read(shape: TileShape, keep: bool) -> int:
    """Return the constant of ``production.cu``: PLAIN, KEPT or WIDE."""
    return 1 + shape.wide if keep else 0


def _cpp(flag: bool) -> str:
    return "true" if flag else "false"


def _grouped(tiles: int, group: int) -> tuple[int, int]:
    """Return the size and the number of groups of about ``group`` tiles, of one size."""
    groups = ceil_div(tiles, group)
    size = ceil_div(tiles, groups)
    return size, ceil_div(tiles, size)
