"""The engines behind every array library: move the elements of one strided view to another."""

import math

import numpy as np

from cornerturn.op.cpu import engine as cpu_engine
from cornerturn.op.cpu.plan import plan_move
from cornerturn.op.strided_view import StridedView, as_array

SMALL_BYTES = 1 << 15  # up to here a library's own copy costs less than a call of the CPU engine


def move_on_cpu(source: StridedView, destination: StridedView) -> None:
    """Copy element by element between two views of one shape and item size, both in main memory."""
    if not math.prod(source.shape) * source.itemsize:
        return
    if cpu_engine.compiles():
        owners = source.owner, destination.owner
        cpu_engine.run(plan_move(source, destination), source.pointer, destination.pointer, owners)
    else:
        np.copyto(as_array(destination), as_array(source))


def move_on_gpu(source: StridedView, destination: StridedView, stream: int, ordinal: int) -> None:
    """Put the copy, element by element, between two views of one shape and item size on a stream.

    The caller keeps both arrays alive until the stream has passed this, as stream-ordered allocators do.

    Args:
        source: in the memory of a device whose context is current.
        destination: in the same memory.
        stream: ``CUstream``, as an integer.
        ordinal: the device's number, as the driver counts those that are visible.
    """
    from cornerturn.op.gpu import engine as gpu_engine

    gpu_engine.run(source, destination, stream, ordinal)
