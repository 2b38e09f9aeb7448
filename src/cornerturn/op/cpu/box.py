"""Boxes of the array: how large, which axes their runs are made of, and the tables that say so to a kernel."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cornerturn.op.cpu.machine import LINE_BYTES
from cornerturn.op.problem import Axis, Problem

Table = NDArray[np.int64]

PITCH_UNIT = 2 * LINE_BYTES
OWNED_BYTES_MIN = 4 * LINE_BYTES  # shorter runs are not worth moving some elements twice
MANY_BOXES = 8  # along an axis: then a last one that is moved inwards costs little
SHARED_MIN = 3  # boxes have at least so many times the elements that two of them move


@dataclass(frozen=True)
class Box:
    """A part of the array, as large for every box of a plan.

    Axes are numbered from the output's innermost one.

    Attributes:
        item: bytes per element.
        axes: all axes of the move, the output's innermost first.
        chunks: elements of the box along each.
        aligned: whether the output's first element starts a line.
    """

    item: int
    axes: tuple[Axis, ...]
    chunks: tuple[int, ...]
    aligned: bool = False

    @cached_property
    def nbytes(self) -> int:
        """Bytes of the box."""
        return math.prod(self.chunks) * self.item

    @cached_property
    def in_step(self) -> bool:
        """Whether all runs of the output start and end where lines do."""
        run = self.y_run
        inner = self.chunks[run[-1]] * self.axes[run[-1]].stride_out if run else 0
        return self.ends_in_step and inner % LINE_BYTES == 0

    @cached_property
    def ends_in_step(self) -> bool:
        """Whether the first box along a run of the output starts it where a line does, and the last one ends it so."""
        run = self.y_run
        others = [axis.stride_out for number, axis in enumerate(self.axes) if number not in run]
        return self.aligned and all(stride % LINE_BYTES == 0 for stride in others)

    @cached_property
    def owner(self) -> int:
        """The axis along which boxes cut runs of the output within lines, so that each line has one owner, or -1."""
        run = self.y_run
        if not run or self.chunks[run[-1]] == self.axes[run[-1]].extent or self.run_bytes < OWNED_BYTES_MIN:
            return -1
        fits = self.chunks[run[-1]] >= SHARED_MIN * self._shared(run[-1])
        return run[-1] if fits and not self.in_step else -1

    def _shared(self, number: int) -> int:
        """Positions along an axis that two boxes have in common so that each line is whole in one of them."""
        return -(-(LINE_BYTES - 1) // self.axes[number].stride_out)

    def step(self, number: int, owned: bool) -> int:
        """Positions from one box to the next along an axis, where lines have owners or not."""
        return self.chunks[number] - (self._shared(number) if owned and number == self.owner else 0)

    def boxes(self, owned: bool) -> int:
        """How many boxes there are, where lines have owners or not."""
        return math.prod(self.boxes_along(number, owned) for number in range(len(self.axes)))

    def boxes_along(self, number: int, owned: bool) -> int:
        """How many boxes there are along one axis, where lines have owners or not."""
        return -(-(self.axes[number].extent - self.chunks[number]) // self.step(number, owned)) + 1

    @cached_property
    def x_order(self) -> tuple[int, ...]:
        """Axes of the box as they lie in the input, innermost first; repeated elements (stride 0) come last."""
        inside = [number for number, chunk in enumerate(self.chunks) if chunk > 1]
        return tuple(sorted(inside, key=lambda number: abs(self.axes[number].stride_in) or math.inf))

    @cached_property
    def y_order(self) -> tuple[int, ...]:
        """Axes of the box as they lie in the output, innermost first."""
        return tuple(number for number, chunk in enumerate(self.chunks) if chunk > 1)

    @cached_property
    def x_run(self) -> tuple[int, ...]:
        """Axes that make one contiguous run of the input."""
        return self._run(self.x_order, [abs(axis.stride_in) for axis in self.axes])

    @cached_property
    def y_run(self) -> tuple[int, ...]:
        """Axes that make one contiguous run of the output."""
        return self._run(self.y_order, [axis.stride_out for axis in self.axes])

    def _run(self, order: tuple[int, ...], strides: list[int]) -> tuple[int, ...]:
        span, length = self.item, 0
        for number in order:
            if strides[number] != span:
                break
            span *= self.chunks[number]
            length += 1
            if self.chunks[number] < self.axes[number].extent:
                break
        return order[:length]

    def elements(self, axes: tuple[int, ...]) -> int:
        """Elements along some axes of the box."""
        return math.prod(self.chunks[number] for number in axes)

    @cached_property
    def matrix(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Axes that are the rows and the columns of the box as a matrix; empty where it is none.

        Rows follow each other in the output, columns in the input, and no axis is both.
        """
        x, y = self.x_run, self.y_run
        if not x or not y or x[0] == y[0]:
            return (), ()
        cols, rows = x[:1], y[:1]
        while True:
            row = y[len(rows)] if len(rows) < len(y) and y[len(rows)] not in cols else None
            col = x[len(cols)] if len(cols) < len(x) and x[len(cols)] not in rows else None
            if row is not None and (col is None or self.elements(rows) <= self.elements(cols)):
                rows += (row,)
            elif col is not None:
                cols += (col,)
            else:
                return rows, cols

    @cached_property
    def record(self) -> tuple[int, ...]:
        """The axis that is contiguous on both sides, if there is one in the box."""
        inner = self.y_order[:1]
        return inner if inner and self.strides_in[inner[0]] == self.strides_out[inner[0]] == self.item else ()

    @cached_property
    def record_bytes(self) -> int:
        """Bytes that stay together."""
        return self.elements(self.record) * self.item

    def rest(self, *without: tuple[int, ...]) -> tuple[int, ...]:
        """Axes of the box that are none of these, as they lie in the output."""
        named = {number for axes in without for number in axes}
        return tuple(number for number in self.y_order if number not in named)

    def offsets(self, axes: tuple[int, ...], strides: dict[int, int] | list[int]) -> Table:
        """Offsets of the elements along some axes, the first one innermost."""
        total = np.zeros(1, np.int64)
        for number in axes:
            steps = np.arange(self.chunks[number], dtype=np.int64) * strides[number]
            total = (steps[:, None] + total[None, :]).reshape(-1)
        return total

    @cached_property
    def strides_in(self) -> list[int]:
        """Bytes from one element to the next in the input."""
        return [axis.stride_in for axis in self.axes]

    @cached_property
    def strides_out(self) -> list[int]:
        """Bytes from one element to the next in the output."""
        return [axis.stride_out for axis in self.axes]

    @cached_property
    def run_bytes(self) -> int:
        """Bytes of a run of the output."""
        return self.elements(self.y_run) * self.item

    @cached_property
    def pitch(self) -> int:
        """Bytes from one run to the next in scratch memory: an odd number of lines, if it is several."""
        if self.run_bytes < LINE_BYTES:
            return self.run_bytes
        return -(-self.run_bytes // PITCH_UNIT) * PITCH_UNIT + LINE_BYTES

    @cached_property
    def scratch_strides(self) -> list[int]:
        """Bytes from one element to the next in scratch memory, where the box lies in the output's order."""
        strides = [0] * len(self.axes)
        step = self.item
        for number in self.y_run:
            strides[number] = step
            step *= self.chunks[number]
        step = self.pitch
        for number in self.rest(self.y_run):
            strides[number] = step
            step *= self.chunks[number]
        return strides

    @cached_property
    def scratch_bytes(self) -> int:
        """Scratch memory that a box takes, with room for what is written beyond it."""
        return self.elements(self.rest(self.y_run)) * self.pitch + 2 * LINE_BYTES

    @property
    def low_in(self) -> int:
        """Offset of the box's lowest byte of the input from its first element."""
        return sum(min(0, (chunk - 1) * stride) for chunk, stride in zip(self.chunks, self.strides_in, strict=True))

    @property
    def high_in(self) -> int:
        """Offset of the end of the box's highest byte of the input from its first element."""
        reach = zip(self.chunks, self.strides_in, strict=True)
        return sum(max(0, (chunk - 1) * stride) for chunk, stride in reach) + self.item


def axes_of(problem: Problem) -> tuple[Axis, ...]:
    """Return the axes of a problem, the output's innermost first; of one element, one axis of it."""
    return problem.axes[::-1] or (Axis(1, problem.itemsize, problem.itemsize),)


def grown(problem: Problem, x_bytes: int, y_bytes: int, most: int, aligned: bool = False) -> Box:
    """Return a box whose runs have about ``x_bytes`` of the input and ``y_bytes`` of the output.

    Args:
        problem: the move.
        x_bytes: wanted length of runs in the input.
        y_bytes: the same in the output.
        most: bytes that the box may have; runs become shorter to keep to it.
        aligned: whether the output's first element starts a line.
    """
    axes = axes_of(problem)
    while True:
        chunks = [1] * len(axes)
        _widen(chunks, [axis.stride_out for axis in axes], axes, problem.itemsize, y_bytes)
        _widen(chunks, [abs(axis.stride_in) for axis in axes], axes, problem.itemsize, x_bytes)
        nbytes = math.prod(chunks) * problem.itemsize
        if nbytes <= most or max(x_bytes, y_bytes) <= problem.itemsize:
            return Box(problem.itemsize, axes, tuple(chunks), aligned)
        x_bytes, y_bytes = (x_bytes // 2, y_bytes) if x_bytes > y_bytes else (x_bytes, y_bytes // 2)


def _widen(chunks: list[int], strides: list[int], axes: tuple[Axis, ...], item: int, want: int) -> None:
    """Take in axes as they lie in memory on one side until runs are as long as is wanted."""
    span = item
    for number in sorted(range(len(axes)), key=strides.__getitem__):
        stride, extent = strides[number], axes[number].extent
        if stride == 0:
            continue
        if span >= want or stride > span + LINE_BYTES:
            return
        unit = LINE_BYTES // item if stride == item else 1
        chunks[number] = max(chunks[number], balanced(extent, -(-want // stride), unit))
        span = stride * chunks[number]
        if chunks[number] < extent:
            return


def balanced(extent: int, wanted: int, unit: int = 1) -> int:
    """Return how many elements of an axis a box takes, at least those wanted, so that the boxes are about alike.

    Example:
        >>> balanced(70, 64), balanced(300, 64, 16), balanced(1000, 64, 16)
        (70, 80, 64)
    """
    parts = max(1, extent // wanted)
    chunk = wanted if parts >= MANY_BOXES else -(-extent // parts)
    return min(extent, -(-chunk // unit) * unit)
