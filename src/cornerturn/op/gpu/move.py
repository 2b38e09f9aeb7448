"""A problem as the GPU planner sees it, in elements that are aligned to their own size."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from cornerturn.kernels.production.axes import SECTOR
from cornerturn.op.problem import Axis, Problem


class Turned(NamedTuple):
    """The axis that is contiguous in y, the one that is so in x, and all others, in y's order."""

    row: Axis
    col: Axis
    outer: tuple[Axis, ...]


@dataclass(frozen=True)
class Move:
    """What a candidate is asked for.

    Attributes:
        element: bytes.
        axes: in y's order, outermost first.
        x: address of the first element in x, modulo 32.
        y: the same in y.
    """

    element: int
    axes: tuple[Axis, ...]
    x: int
    y: int

    @classmethod
    def of(cls, problem: Problem, x: int, y: int) -> "Move":
        """Return the move of a problem, its elements cut in parts until each is aligned to its own size everywhere."""
        element = problem.itemsize
        while any(number % element for number in (x, y, *problem.strides_in, *problem.strides_out)):
            element //= 2
        parts = problem.itemsize // element
        inner = [Axis(parts, element, element)] if parts > 1 or not problem.shape else []
        return cls(element, (*problem.axes, *inner), x % SECTOR, y % SECTOR)

    @cached_property
    def nbytes(self) -> int:
        """Bytes that move, counted once."""
        return math.prod(axis.extent for axis in self.axes) * self.element

    @cached_property
    def turned(self) -> Turned | None:
        """The two axes that are turned, and the others; None unless one is contiguous in y and another one in x."""
        row = next((axis for axis in reversed(self.axes) if axis.stride_out == self.element), None)
        col = next((axis for axis in reversed(self.axes) if axis.stride_in == self.element), None)
        if row is None or col is None or row is col:
            return None
        return Turned(row, col, tuple(axis for axis in self.axes if axis is not row and axis is not col))
