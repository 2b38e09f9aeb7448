"""One block of a kernel under observation: every value that its threads move, in the terms of the matrices.

The elements of x hold their own flat index, so a value tells which element it is wherever it turns up.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from cornerturn.emulator import Access, Movement
from cornerturn.emulator.report import Extent
from cornerturn.errors import UsageError
from cornerturn.kernels.kernel import Kernel
from cornerturn.lab.kernel_text import KernelText, kernel_text
from cornerturn.lab.run import expected_output, launch_of, observe_block
from cornerturn.toolchain import DEFAULT_ARCH


class Element(NamedTuple):
    """Coordinates in a matrix."""

    row: int
    col: int

    def __str__(self) -> str:
        return f"({self.row}, {self.col})"


@dataclass(frozen=True)
class BlockRun:
    """What one block did.

    Attributes:
        grid, block: extents of the launch.
        at: which block, x and y.
        element_bytes: size of an element of x and y.
        pitch: elements a row of ``x`` and of ``y``.
        text: the kernel's own lines.
        accesses: what stands behind a movement's position, kind and memory space.
        movements: everything that was moved, in the order of execution.
    """

    grid: Extent
    block: Extent
    at: tuple[int, int]
    element_bytes: int
    pitch: Mapping[str, int]
    text: KernelText
    accesses: Mapping[tuple[int, str, str], Access]
    movements: tuple[Movement, ...]

    def access(self, movement: Movement) -> Access:
        """The memory instruction that made a movement."""
        space = "global" if movement.memory in self.pitch else movement.memory
        return self.accesses[movement.position, space, movement.kind]

    def line(self, movement: Movement) -> int:
        """The kernel's line that made a movement."""
        return self.text.line_of(self.access(movement))

    def element(self, matrix: str, offset: int) -> Element:
        """The element of ``x`` or ``y`` at a byte offset."""
        return Element(*divmod(offset // self.element_bytes, self.pitch[matrix]))

    def thread(self, number: int) -> Extent:
        """Coordinates of a thread from its linear number."""
        width, height, _ = self.block
        return number % width, number // width % height, number // (width * height)


def run_block(kernel: Kernel, rows: int, cols: int, at: tuple[int, int], arch: str = DEFAULT_ARCH) -> BlockRun:
    """Run one block of ``kernel`` on an x of rows x cols whose elements are their flat indices.

    Args:
        at: the block's x and y in the grid.

    Raises:
        UsageError: the kernel refuses the shape, or the grid has no such block.
    """
    launch = launch_of(kernel, rows, cols)
    require_inside("block", at, launch.grid, "blocks")
    x = np.arange(rows * cols, dtype=np.uint32).reshape(rows, cols)
    movements: list[Movement] = []
    block = at[0] + at[1] * launch.grid[0]
    accesses = observe_block(kernel, x, block, movements.append, arch).accesses
    return BlockRun(
        grid=launch.grid,
        block=launch.block,
        at=at,
        element_bytes=kernel.element_bytes,
        pitch={"x": cols, "y": expected_output(kernel, x).shape[1]},
        text=kernel_text(kernel.source, accesses),
        accesses={(access.position, access.space, access.kind): access for access in accesses},
        movements=tuple(movements),
    )


def require_inside(what: str, at: tuple[int, int], extent: Extent, of: str) -> None:
    """Refuse coordinates outside of the launch.

    Raises:
        UsageError: names the coordinates and their limits.
    """
    if not (0 <= at[0] < extent[0] and 0 <= at[1] < extent[1]):
        raise UsageError(
            f"{what} {at[0]},{at[1]} lies outside of the {extent[0]} x {extent[1]} {of} of this launch: "
            f"x goes from 0 to {extent[0] - 1} and y from 0 to {extent[1] - 1}"
        )
