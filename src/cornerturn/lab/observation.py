"""One block of a kernel under observation: every value that its threads move, in the terms of the matrices.

The elements of x hold their own flat index, so a value tells which element it is wherever it turns up. Elements too
small for an index hold one or two bytes of it, and the block is run once per part. One more run, on the complement,
tells elements of x from all else that a kernel moves: every bit of them changes, and other values stay.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cornerturn.emulator import Access, Movement
from cornerturn.emulator.geometry import unravel
from cornerturn.emulator.report import Coordinates
from cornerturn.errors import UsageError
from cornerturn.kernels.kernel import Extent, Kernel
from cornerturn.lab.kernel_text import KernelText, kernel_text
from cornerturn.lab.matrices import WORDS, Matrix, poison
from cornerturn.lab.run import expected_output, launch_of, observe_block
from cornerturn.toolchain import DEFAULT_ARCH

NONE = -1
"""In place of a flat index: what is moved is not an element of x."""
VARIABLE = "variable"
"""The name of global memory other than x and y: a variable of the kernel's module."""
_OWN = ("x", "y", "shared", "local")


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
        at: the block's x and y in the grid.
        element_bytes: size of an element of x and y.
        pitch: elements per row of ``x`` and of ``y``.
        text: the kernel's own lines.
        accesses: by a movement's position, memory space and kind.
        movements: everything that was moved, in execution order. Their values are the flat indices of the elements
            of x that are moved, lanes x elements; `NONE` for what is not an element of x.
    """

    grid: Extent
    block: Extent
    at: tuple[int, int]
    element_bytes: int
    pitch: Mapping[str, int]
    text: KernelText
    accesses: Mapping[tuple[int, str, str], Access] = field(repr=False)
    movements: tuple[Movement, ...] = field(repr=False)

    def access(self, movement: Movement) -> Access:
        """The memory instruction that made a movement."""
        space = movement.memory if movement.memory in ("shared", "local") else "global"
        return self.accesses[movement.position, space, movement.kind]

    def line(self, movement: Movement) -> int:
        """The kernel's line that made a movement."""
        return self.text.line_of(self.access(movement))

    def element(self, matrix: str, offset: int) -> Element:
        """The element of ``x`` or ``y`` at a byte offset."""
        return Element(*divmod(offset // self.element_bytes, self.pitch[matrix]))

    def thread(self, number: int) -> Coordinates:
        """Coordinates of a thread from its linear number."""
        return unravel(number, self.block)


def run_block(kernel: Kernel, rows: int, cols: int, at: tuple[int, int], arch: str = DEFAULT_ARCH) -> BlockRun:
    """Run one block of ``kernel`` on an x of rows x cols whose elements are their flat indices.

    Args:
        at: the block's x and y in the grid.

    Raises:
        UsageError: the kernel refuses the shape, or the grid has no such block.
    """
    launch = launch_of(kernel, rows, cols)
    block = at[0] + at[1] * launch.grid[0]
    require_inside("block", at, launch.grid, "blocks")
    index = np.arange(rows * cols, dtype=np.uint64).reshape(rows, cols)
    parts = [*_parts(index, kernel.element_bytes)]
    runs: list[list[Movement]] = []
    for x in (*parts, poison(parts[0])):
        runs.append([])
        accesses = observe_block(kernel, x, block, runs[-1].append, arch).accesses
    return BlockRun(
        grid=launch.grid,
        block=launch.block,
        at=at,
        element_bytes=kernel.element_bytes,
        pitch={"x": cols, "y": expected_output(kernel, index).shape[1]},
        text=kernel_text(kernel.source, accesses),
        accesses={(access.position, access.space, access.kind): access for access in accesses},
        movements=tuple(_decoded(same, kernel.element_bytes) for same in zip(*runs, strict=True)),
    )


def _parts(index: NDArray[np.uint64], element_bytes: int) -> Iterator[Matrix]:
    """The index in words of an element's size, lowest part first, as many as the largest index takes."""
    if element_bytes >= index.itemsize:
        yield np.repeat(index[..., None], element_bytes // index.itemsize, axis=-1).view(WORDS[element_bytes])[..., 0]
        return
    bits = 8 * element_bytes
    for shift in range(0, max(int(index[-1, -1]).bit_length(), 1), bits):
        yield (index >> np.uint64(shift)).astype(WORDS[element_bytes])


def _decoded(same: Sequence[Movement], element_bytes: int) -> Movement:
    """One movement, from what it moved of each part of the index, and of the complement of the first part."""
    *parts, complement = (_elements(movement, element_bytes) for movement in same)
    size = min(element_bytes, 8)  # a larger element holds its index twice
    source = sum(
        (_numbers(part[..., :size]) << np.int64(8 * element_bytes * number) for number, part in enumerate(parts)),
        start=np.int64(0),
    )
    source = np.where((parts[0] == ~complement).all(axis=-1), source, NONE)
    memory = same[0].memory if same[0].memory in _OWN else VARIABLE
    return replace(same[0], memory=memory, values=source)


def _elements(movement: Movement, element_bytes: int) -> NDArray[np.uint8]:
    """What was moved, byte by byte: lanes x elements x bytes of an element; a part of an element counts as one."""
    moved = np.ascontiguousarray(movement.values).view(np.uint8)
    short = -movement.width % element_bytes
    return np.pad(moved, ((0, 0), (0, short))).reshape(len(moved), -1, element_bytes)


def _numbers(parts: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Bytes, lowest first, as numbers."""
    padded = np.zeros((*parts.shape[:-1], 8), dtype=np.uint8)
    padded[..., : parts.shape[-1]] = parts
    return padded.view(np.int64)[..., 0]


def require_inside(what: str, at: tuple[int, int], extent: Extent, of: str) -> None:
    """Refuse coordinates outside the launch.

    Raises:
        UsageError: they are outside; the message names them and their limits.
    """
    if not (0 <= at[0] < extent[0] and 0 <= at[1] < extent[1]):
        raise UsageError(
            f"{what} {at[0]},{at[1]} is outside the {extent[0]} x {extent[1]} {of} of this launch: "
            f"x goes from 0 to {extent[0] - 1} and y from 0 to {extent[1] - 1}"
        )
