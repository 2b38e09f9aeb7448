"""The engines behind every array library: move the elements of one strided view to another."""

import math
from functools import lru_cache

from cornerturn.op import on_cpu
from cornerturn.op.arrays import StridedView
from cornerturn.op.planner import plan_move
from cornerturn.op.problem import canonical


def move_on_cpu(source: StridedView, destination: StridedView) -> None:
    """Copy element by element between two views of one shape and item size, both in main memory.

    The caller keeps both arrays alive until this returns.
    """
    if math.prod(source.shape):
        on_cpu.run(plan_move(source, destination), source.pointer, destination.pointer)


def move_on_gpu(source: StridedView, destination: StridedView, stream: int, arch: str) -> None:
    """Put the copy, element by element, between two views of one shape and item size on a stream.

    The caller keeps both arrays alive until the stream has passed this, as stream-ordered allocators do.

    Args:
        source: in the memory of a device whose context is current.
        destination: in the same memory.
        stream: ``CUstream``, as an integer.
        arch: the device's architecture, for example ``sm_90``.
    """
    from cornerturn.op import on_gpu

    if math.prod(source.shape):
        problem = _problem(source.itemsize, source.shape, source.strides, destination.strides)
        on_gpu.run(problem, source.pointer, destination.pointer, stream, arch)


_problem = lru_cache(maxsize=1024)(canonical)
