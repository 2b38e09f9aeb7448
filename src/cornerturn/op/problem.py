"""The canonical problem: the fewest axes that describe the move, in the order of the output's memory.

Everything here is arithmetic on shapes and strides. Two calls that move the same bytes the same way become the same
``Problem``, however many axes they were written with.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from cornerturn.kernels.kernel import ELEMENT_SIZES


class Axis(NamedTuple):
    """One axis of the move: its extent, and bytes from one element to the next in input and output."""

    extent: int
    stride_in: int
    stride_out: int


@dataclass(frozen=True, slots=True)
class Problem:
    """What moves where, after canonicalising.

    Element (i, j, ...) goes from ``offset_in + i * strides_in[0] + ...`` to ``offset_out + i * strides_out[0] + ...``.

    Attributes:
        itemsize: bytes of an element: 1, 2, 4, 8 or 16.
        shape: extents, ordered by the output's strides, largest first.
        strides_in: bytes, any sign.
        strides_out: bytes, never negative.
        offset_in: bytes from the input's element (0, ..., 0) to the first one moved.
        offset_out: the same in the output.
    """

    itemsize: int
    shape: tuple[int, ...]
    strides_in: tuple[int, ...]
    strides_out: tuple[int, ...]
    offset_in: int = 0
    offset_out: int = 0

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The axes, outermost in the output first."""
        return tuple(map(Axis, self.shape, self.strides_in, self.strides_out))

    @property
    def reach_in(self) -> int:
        """Bytes from the first element moved to the end of the input's last one in memory."""
        return sum((axis.extent - 1) * axis.stride_in for axis in self.axes if axis.stride_in > 0) + self.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes to move, counted once."""
        return math.prod(self.shape) * self.itemsize


def canonical(
    itemsize: int, shape: tuple[int, ...], strides_in: tuple[int, ...], strides_out: tuple[int, ...]
) -> Problem:
    """Return the canonical problem of copying element by element between two strided arrays of one shape.

    Args:
        itemsize: bytes of an element, any positive number.
        shape: extent of each axis; none may be zero.
        strides_in: bytes to the next element of the input, its axes already permuted.
        strides_out: bytes to the next element of the output.

    Example:
        >>> canonical(2, (8, 32, 2048, 128), (16777216, 256, 8192, 2), (16777216, 524288, 256, 2)).shape
        (8, 32, 2048, 16)
    """
    axes = [Axis(*axis) for axis in zip(shape, strides_in, strides_out, strict=True) if axis[0] != 1]
    offset_in = sum((axis.extent - 1) * axis.stride_in for axis in axes if axis.stride_out < 0)
    offset_out = sum((axis.extent - 1) * axis.stride_out for axis in axes if axis.stride_out < 0)
    forward = [Axis(n, -s, -d) if d < 0 else Axis(n, s, d) for n, s, d in axes]
    ordered = sorted(forward, key=lambda axis: (-axis.stride_out, -abs(axis.stride_in)))
    element, widened = _widened([*ordered, Axis(itemsize, 1, 1)])
    final = _fused(widened)
    return Problem(
        itemsize=element,
        shape=tuple(axis.extent for axis in final),
        strides_in=tuple(axis.stride_in for axis in final),
        strides_out=tuple(axis.stride_out for axis in final),
        offset_in=offset_in,
        offset_out=offset_out,
    )


def _fused(axes: Iterable[Axis]) -> list[Axis]:
    """Merge neighbours that one longer step describes in both arrays."""
    fused: list[Axis] = []
    for axis in axes:
        if fused and all(outer == inner * axis.extent for outer, inner in zip(fused[-1][1:], axis[1:], strict=True)):
            fused[-1] = axis._replace(extent=fused[-1].extent * axis.extent)
        else:
            fused.append(axis)
    return fused


def _widened(axes: list[Axis]) -> tuple[int, list[Axis]]:
    """Cut the innermost run of bytes into the widest elements that divide it; ``axes`` ends with an axis of bytes."""
    *outer, run = _fused(axes)
    element = next(size for size in reversed(ELEMENT_SIZES) if run.extent % size == 0)
    inner = [Axis(run.extent // element, element, element)] if run.extent > element else []
    return element, [*outer, *inner]
