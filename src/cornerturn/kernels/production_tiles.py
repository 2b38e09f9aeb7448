"""The tiles that ``transpose()`` takes on a GPU when nobody has tuned it for the device.

Found by measurement on an H200; docs/performance-notes.md says how.
"""

from dataclasses import replace

from cornerturn.kernels.grid import ceil_div
from cornerturn.kernels.moves import UNIT
from cornerturn.kernels.production import TileShape

ALIGNED_TILES: dict[int, tuple[TileShape, ...]] = {
    1: (TileShape(64, 128, 4, 128, wide=False),),
    2: (TileShape(64, 64, 2, 256), TileShape(32, 64, 2, 64)),
    4: (TileShape(64, 32, 2, 256), TileShape(32, 32, 2, 128)),
    8: (TileShape(32, 32, 2, 256), TileShape(16, 32, 1, 128)),
    16: (TileShape(32, 16, 1, 256), TileShape(16, 16, 1, 128)),
}
"""By element size; rows of x begin on units and rows of y on sectors. The first is for large problems."""

LOOSE_TILES: dict[int, tuple[TileShape, ...]] = {4: (TileShape(64, 64, 2, 512), TileShape(32, 32, 2, 128))}
"""The same where rows of x begin on units, but not on the 256 bytes that L2 fetches for a wide read."""

RAGGED_TILES: dict[int, tuple[TileShape, ...]] = {
    1: (TileShape(128, 128, 4, 256, wide=False, resident=5), TileShape(64, 64, 4, 64, wide=False)),
    2: (TileShape(128, 64, 4, 256, wide=False, resident=5), TileShape(32, 64, 2, 128, wide=False)),
    4: (TileShape(64, 64, 4, 256, wide=False, resident=4), TileShape(32, 32, 2, 128, wide=False)),
    8: (TileShape(64, 64, 2, 512, resident=3), TileShape(16, 32, 2, 128, wide=False, resident=8)),
    16: (TileShape(32, 32, 1, 256), TileShape(16, 32, 1, 256, wide=False)),
}
"""The same for rows of y that begin anywhere."""

NEAR_TILES: dict[int, tuple[TileShape, ...]] = {
    1: (TileShape(128, 128, 4, 128, wide=False), TileShape(64, 64, 4, 64, wide=False)),
    2: (TileShape(64, 64, 4, 128, wide=False),),
    4: (TileShape(64, 64, 4, 256, wide=False), TileShape(32, 32, 2, 128, wide=False)),
    8: (TileShape(32, 32, 2, 256, wide=False),),
    16: (TileShape(16, 16, 1, 128, wide=False),),
}
"""The same where another axis lies between the two of a tile, in x and in y: its blocks follow one another."""

GROUPS: dict[int, tuple[int, int]] = {16: (2, 64)}
"""Tiles down and across that are numbered before the next ones: large matrices of such elements span many pages."""

FITTING_THREADS = 128
"""The fewest threads of a tile that few rows fill."""


def grouped(shape: TileShape, group: tuple[int, int]) -> TileShape:
    """Return a tile that is numbered in groups; its reads are not wide, as it was measured."""
    return replace(shape, group=group, wide=False)


def fitting_tiles(element: int, row: int, col: int) -> list[TileShape]:
    """Return tiles that one short side of a matrix just fills, or of which a few do.

    Args:
        element: bytes.
        row: elements of a row of y.
        col: elements of a row of x.
    """
    units = UNIT // element
    micro = max(4 // element, min(4, units))
    across = _fitting_units(ceil_div(col, units))
    tiles = [TileShape(32 * micro, across * units, micro, 32 * across, wide=False)]
    if row <= 8 * units:
        down = ceil_div(row, units) * units
        across = next(across for across in (16, 32, 64, 128) if across * down >= FITTING_THREADS * micro)
        tiles.append(TileShape(down, across * units, micro, across * (down // micro), wide=False))
    return tiles


def fitting_ragged_tiles(element: int, row: int, col: int) -> list[TileShape]:
    """The same where rows of y begin anywhere: only columns may be few, as every row has its halo.

    Small elements take long to shift: for them, only a tile that holds all columns pays.
    """
    units = UNIT // element
    if ceil_div(col, units) > {1: 4, 2: 16}.get(element, col):
        return []
    across = _fitting_units(ceil_div(col, units))
    micro = max(4 // element, min(4, units))
    down = 128 if across == 1 else 64 if across < 4 else 32
    turns = 2 if across <= 8 else 1
    return [TileShape(turns * down * micro, across * units, micro, down * across, wide=False)]


def _fitting_units(units: int) -> int:
    """Return a tile's units across, 16 at most, of which a few make about so many.

    Example:
        >>> [_fitting_units(units) for units in (3, 16, 25, 50)]
        [3, 16, 13, 13]
    """
    return ceil_div(units, ceil_div(units, 16))


def run_limit(element: int) -> int:
    """Return the elements of the longest rows of y that ``tile_run`` takes."""
    return max(256 // element, 64)


def run_tile(element: int, rows: int, cols: int) -> TileShape:
    """Return the tile of ``tile_run`` that holds rows of y of ``rows`` elements, of a matrix with ``cols`` columns."""
    units = UNIT // element
    micro = max(4 // element, min(4, units))
    down = ceil_div(rows, units) * units
    across = 16 if 16 * (down // micro) <= 512 else 8
    across = min(across, 1 << (ceil_div(cols, units) - 1).bit_length())
    return TileShape(down, across * units, micro, across * (down // micro), wide=False)
