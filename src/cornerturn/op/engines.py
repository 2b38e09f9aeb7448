"""The engines behind every array library: move the elements of one strided view to another."""

import math

from cornerturn.op import on_cpu
from cornerturn.op.arrays import StridedView
from cornerturn.op.planner import plan_move


def move_on_cpu(source: StridedView, destination: StridedView) -> None:
    """Copy element by element between two views of one shape and item size, both in main memory.

    The caller keeps both arrays alive until this returns.
    """
    if math.prod(source.shape):
        on_cpu.run(plan_move(source, destination), source.pointer, destination.pointer)
