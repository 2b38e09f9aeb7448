"""Launch geometry: how threads are laid over a matrix, and which shapes that, or the kernel, must refuse.

A grid has at most 2^31 - 1 blocks along x and 65535 along y (CUDA C++ Programming Guide,
compute capabilities).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from cornerturn.kernels.kernel import INT32_MAX, Extent, Launch

Rule = Callable[[int, int], str | None]
"""``rule(rows, cols)``: the sentence that says how the shape breaks the rule, or None."""

GRID_Y_MAX = 65535
SHARED_BYTES = 48 * 1024
"""Shared memory that a block of every device may have unasked (as above)."""


def ceil_div(extent: int, step: int) -> int:
    """Return how many steps cover the extent."""
    return -(-extent // step)


def first_broken(*rules: Rule) -> Rule:
    """Return the rule that holds when all of ``rules`` do, and else says which of them is broken first."""
    return lambda rows, cols: next((broken for rule in rules if (broken := rule(rows, cols))), None)


def accepts_all(rows: int, cols: int) -> str | None:
    """Refuse nothing."""
    return None


def cols_in_fours(rows: int, cols: int) -> str | None:
    """Refuse rows of x that a float4 would straddle."""
    return f"cols must be a multiple of 4: got {cols}" if cols % 4 else None


def rows_in_fours(rows: int, cols: int) -> str | None:
    """Refuse rows of y that a float4 would straddle."""
    return f"rows must be a multiple of 4: got {rows}" if rows % 4 else None


def square(rows: int, cols: int) -> str | None:
    """Refuse matrices that are not square."""
    return f"rows and cols must be equal: got {rows} x {cols}" if rows != cols else None


def int32_indices(rows: int, cols: int) -> str | None:
    """Refuse matrices with elements that a 32-bit index does not reach."""
    if rows * cols <= INT32_MAX:
        return None
    return f"rows * cols must be at most {INT32_MAX}, as indices have 32 bits: got {rows * cols}"


def matrix_arguments(rows: int, cols: int) -> tuple[str, str, np.uint32, np.uint32]:
    """Return the arguments ``(x, y, rows, cols)`` that every kernel of this package takes."""
    return "x", "y", np.uint32(rows), np.uint32(cols)


@dataclass(frozen=True)
class Linear:
    """One index for every thread, 256 threads per block.

    Attributes:
        elements: matrix elements per thread.
    """

    elements: int = 1

    def launch(self, rows: int, cols: int) -> Launch:
        """Return the launch for an x of rows x cols."""
        blocks = ceil_div(rows * cols, 256 * self.elements)
        return Launch((blocks, 1, 1), (256, 1, 1), matrix_arguments(rows, cols))

    def refuses(self, rows: int, cols: int) -> str | None:
        """Return the rule that a 32-bit index makes the shape break, or None."""
        return int32_indices(rows, cols)


@dataclass(frozen=True)
class Tiled:
    """One block for every tile of x.

    Attributes:
        rows: tile rows, elements.
        cols: tile columns, elements.
        block: threads along x and y.
        across: the axis of x that ``blockIdx.x`` walks; ``blockIdx.y`` walks the other.
    """

    rows: int
    cols: int
    block: tuple[int, int]
    across: Literal["rows", "cols"] = "cols"

    def launch(self, rows: int, cols: int) -> Launch:
        """Return the launch for an x of rows x cols."""
        down, along = ceil_div(rows, self.rows), ceil_div(cols, self.cols)
        grid: Extent = (along, down, 1) if self.across == "cols" else (down, along, 1)
        return Launch(grid, (*self.block, 1), matrix_arguments(rows, cols))

    def refuses(self, rows: int, cols: int) -> str | None:
        """Return the rule that the grid or a 32-bit index makes the shape break, or None."""
        axis, extent, tile = ("rows", rows, self.rows) if self.across == "cols" else ("cols", cols, self.cols)
        if extent > GRID_Y_MAX * tile:
            limit = f"{GRID_Y_MAX * tile}, {GRID_Y_MAX} tiles of {tile} along gridDim.y"
            return f"{axis} must be at most {limit}: got {extent}"
        return int32_indices(rows, cols)
