"""``tile``: a matrix by padded tiles in shared memory, in whole units of 16 bytes at both global ends.

In the catalogue it is ``tile_N`` where rows of x begin on units and rows of y on sectors, and ``ragged_N`` where they
begin anywhere.
"""

import math
from collections.abc import Sequence

from cornerturn.kernels.grid import Rule, ceil_div
from cornerturn.kernels.kernel import ELEMENT_SIZES, Kernel
from cornerturn.kernels.production.axes import SECTOR, UNIT, MoveAxis, count_blocks, ends_in, pack_axes, room_for
from cornerturn.kernels.production.device_code import DeviceCode, Production
from cornerturn.kernels.production.entry import axes_of, kernel
from cornerturn.kernels.production.h200 import H200
from cornerturn.kernels.production.tile_shape import TileShape

WIDE_BYTES = 256
"""What L2 fetches for a wide read."""
HALO = SECTOR // UNIT
"""Units by which windows must begin before ragged tiles to begin on sectors."""
PLAIN, KEPT, WIDE = range(3)
"""How units of x are read: the constants of ``common.cu``."""

_CODE = DeviceCode("tile")


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

    Raises:
        ValueError: the shape breaks a rule of the kernel.
    """
    if (rule := shape.broken_rule(element, halo)) is not None:
        raise ValueError(rule)
    lead = halo * UNIT // element
    tiles = _tiles(rows[0], cols[0], shape, lead)
    if shape.group is None:
        counts: tuple[int, ...] = tiles
    else:
        (down, down_groups), (across, across_groups) = map(_grouped, tiles, shape.group)
        counts = (down, across, down_groups, across_groups)
    axes = [*near, *((count, 0, 0) for count in counts), *reversed(outer)]
    template = {
        "E": element,
        "R": shape.rows,
        "C": shape.cols,
        "P": shape.micro_rows,
        "THREADS": shape.threads,
        "X_UNITS": x_units,
        "HALO": halo,
        "GROUPED": shape.group is not None,
        "NEAR": len(near),
        "READ": PLAIN if not keep else WIDE if shape.wide else KEPT,
        "RESIDENT": shape.resident,
        "AXES": room_for(len(axes)),
    }
    return _CODE.production(
        template,
        count_blocks(axes),
        shape.shared_bytes(element),
        rows=rows[0],
        cols=cols[0],
        pitch_in=rows[1],
        pitch_out=cols[2],
        **ends_in(element, [rows, cols, *near, *outer]),
        axes=pack_axes(axes),
    )


def tiles_along(rows: int, cols: int, shape: TileShape, lead: int) -> tuple[int, int]:
    """Return how many tiles there are down and across, with those that fill the last groups.

    Args:
        rows, cols: of the matrix.
        shape: the tile.
        lead: rows of a tile that precede its window.
    """
    down, across = _tiles(rows, cols, shape, lead)
    if shape.group is None:
        return down, across
    return math.prod(_grouped(down, shape.group[0])), math.prod(_grouped(across, shape.group[1]))


def _tiles(rows: int, cols: int, shape: TileShape, lead: int) -> tuple[int, int]:
    return ceil_div(rows + max(lead - 1, 0), shape.rows - lead), ceil_div(cols, shape.cols)


def _grouped(tiles: int, group: int) -> tuple[int, int]:
    """Return the size and the number of groups of about ``group`` tiles, of one size."""
    groups = ceil_div(tiles, group)
    size = ceil_div(tiles, groups)
    return size, ceil_div(tiles, size)


def _aligned(element: int, rows: int, cols: int) -> Production:
    shape = H200.aligned[element][0]
    if element in H200.groups:
        shape = shape.grouped(H200.groups[element])
    return tile(element, *axes_of(element, rows, cols), [], shape)


def _ragged(element: int, rows: int, cols: int) -> Production:
    """Reads are shifted unless each element is a unit; windows begin on sectors."""
    return tile(element, *axes_of(element, rows, cols), [], H200.ragged[element][0], element == UNIT, HALO)


def _whole_units(element: int) -> Rule:
    """Refuse rows of x that end within a unit."""
    units = UNIT // element
    return lambda rows, cols: f"cols must be a multiple of {units}: got {cols}" if cols % units else None


def _whole_sectors(element: int) -> Rule:
    """Refuse rows of y that end within a sector."""
    elements = SECTOR // element
    return lambda rows, cols: f"rows must be a multiple of {elements}: got {rows}" if rows % elements else None


def _lesson_of_aligned(element: int) -> str:
    if element == UNIT:
        return (
            "takes elements of 16 bytes, a unit each, through a padded tile, so that no global request wastes a "
            "sector, and no shared one a wavefront."
        )
    return (
        f"takes units of 16 bytes at both global ends and turns {H200.aligned[element][0].micro_rows} x "
        f"{UNIT // element} elements in registers between them, through a tile with a unit of padding every "
        f"{UNIT // element} rows of y, so that a global request is 16 sectors and none is wasted, nor is a wavefront."
    )


def _lesson_of_ragged(element: int) -> str:
    reads = "a thread reads two aligned units for the one that it needs, which doubles the loads, and "
    return (
        f"takes rows that begin anywhere: {'' if element == UNIT else reads}"
        "the windows of y that a block writes begin on sectors: a few rows are read again, and stores stay whole."
    )


KERNELS: tuple[Kernel, ...] = (
    *(
        kernel("tile", size, _aligned, (_whole_units(size), _whole_sectors(size)), _lesson_of_aligned(size))
        for size in ELEMENT_SIZES
    ),
    *(kernel("ragged", size, _ragged, (), _lesson_of_ragged(size)) for size in ELEMENT_SIZES),
)
