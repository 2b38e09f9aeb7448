"""How the tile kernels cut a matrix: the numbers of a tile, the rule that they obey, and tiles that fit short sides."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from cornerturn.kernels.grid import SHARED_BYTES, ceil_div
from cornerturn.kernels.production.axes import UNIT

MAX_THREADS, MAX_RESIDENT_THREADS = 1024, 2048
"""Of a block, and of a multiprocessor (CUDA C++ Programming Guide, compute capabilities)."""
MOST_ACROSS = 16
"""Units of a fitting tile's row of x: 256 bytes, the most that L2 fetches at once."""


@dataclass(frozen=True, slots=True)
class TileShape:
    """How a tile kernel cuts a matrix.

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

    def grouped(self, group: tuple[int, int]) -> "TileShape":
        """Return the tile numbered in groups; its reads are not wide, as it was measured."""
        return replace(self, group=group, wide=False)

    def shared_bytes(self, element: int) -> int:
        """Return the shared memory of a block: the tile, and a unit of padding after every unit's rows of y."""
        return self.cols * element * (self.rows + 1)

    def broken_rule(self, element: int, halo: int = 0) -> str | None:
        """Return the rule of ``tile`` that the shape breaks for an element size, or None.

        Args:
            element: bytes.
            halo: units by which windows may begin before the tile.

        Example:
            >>> TileShape(64, 64, 4, 256).broken_rule(4)
            >>> TileShape(32, 64, 4, 256).broken_rule(4)
            'rows must be a multiple of the 64 that 256 threads read at once: got 32'
        """
        if self.threads % 32:
            return f"threads must make whole warps of 32: got {self.threads}"
        if self.resident < 1 or self.threads * self.resident > MAX_RESIDENT_THREADS:
            held = f"{self.resident} blocks of {self.threads} threads"
            return f"a multiprocessor must hold 1 to {MAX_RESIDENT_THREADS} threads: got {held}"
        if min(self.group or (1, 1)) < 1:
            return f"a group must be a tile or more each way: got {self.group}"
        step = halo * UNIT // element
        if halo and (self.rows <= step or self.rows % step):
            return f"rows must be a multiple of {step}, twice that or more, for windows to meet: got {self.rows}"
        return self.broken_rule_of_filling(element)

    def broken_rule_of_filling(self, element: int) -> str | None:
        """Return the rule that the shape breaks of every kernel that fills such a tile, or None."""
        unit = UNIT // element  # elements
        if min(self.rows, self.cols, self.micro_rows, self.threads) < 1 or self.threads > MAX_THREADS:
            return f"rows, cols and micro_rows must be 1 or more, threads 1 to {MAX_THREADS}: got {self}"
        if self.micro_rows * element not in (4, 8, 16):
            stored = self.micro_rows * element
            return f"micro_rows must make one store of 4, 8 or 16 bytes to shared memory: got {stored} bytes"
        if self.rows % unit or self.cols % unit or self.rows % self.micro_rows:
            return (
                f"rows and cols must be multiples of the {unit} elements of a unit, rows of the {self.micro_rows} that "
                f"a thread turns: got {self.rows} x {self.cols}"
            )
        across = self.cols // unit
        turn = self.micro_rows * self.threads // across
        if self.threads % across:
            return f"threads must be a multiple of the {across} units of a row of x: got {self.threads}"
        if self.rows % turn:
            return f"rows must be a multiple of the {turn} that {self.threads} threads read at once: got {self.rows}"
        if across % 8 == 0 and self.rows // self.micro_rows % 4 == 0 and self.threads % (4 * across):
            return f"a warp reads 128 bytes of 4 rows: threads must be a multiple of {4 * across}, got {self.threads}"
        if (shared := self.shared_bytes(element)) > SHARED_BYTES:
            return f"a tile must take at most {SHARED_BYTES} bytes of shared memory: it takes {shared}"
        return None


def micro_rows_of(element: int) -> int:
    """Return the rows of x that a thread of a fitting tile turns at once: four, where one store takes them."""
    return max(4 // element, min(4, UNIT // element))


def fitting_tiles(element: int, row: int, col: int, least_threads: int) -> list[TileShape]:
    """Return tiles that one short side of a matrix just fills, or of which a few do.

    Args:
        element: bytes.
        row: elements of a row of y.
        col: elements of a row of x.
        least_threads: of a tile that few rows fill.
    """
    units, micro = UNIT // element, micro_rows_of(element)
    across = _fitting_units(ceil_div(col, units))
    tiles = [TileShape(32 * micro, across * units, micro, 32 * across, wide=False)]
    if row <= 8 * units:
        down = ceil_div(row, units) * units
        across = next(across for across in (16, 32, 64, 128) if across * down >= least_threads * micro)
        tiles.append(TileShape(down, across * units, micro, across * (down // micro), wide=False))
    return tiles


def fitting_ragged_tiles(element: int, col: int, most_units: Mapping[int, int]) -> list[TileShape]:
    """Return the same where rows of y begin anywhere: only columns may be few, as every row has its halo.

    Args:
        element: bytes.
        col: elements of a row of x.
        most_units: by element size, the units of the longest row of x for which such a tile pays; without, any.
    """
    units, micro = UNIT // element, micro_rows_of(element)
    if ceil_div(col, units) > most_units.get(element, col):
        return []
    across = _fitting_units(ceil_div(col, units))
    down = 128 if across == 1 else 64 if across < 4 else 32
    turns = 2 if across <= 8 else 1
    return [TileShape(turns * down * micro, across * units, micro, down * across, wide=False)]


def _fitting_units(units: int) -> int:
    """Return a tile's units across, MOST_ACROSS at most, of which a few cover ``units``.

    Example:
        >>> [_fitting_units(units) for units in (3, 16, 25, 50)]
        [3, 16, 13, 13]
    """
    return ceil_div(units, ceil_div(units, MOST_ACROSS))
