"""The engines behind every array library: move the elements of one strided view to another."""

import math
from typing import NamedTuple

import numpy as np

from cornerturn.op.cpu import engine as cpu_engine
from cornerturn.op.cpu.plan import plan_move
from cornerturn.op.strided_view import StridedView, as_array

SMALL_BYTES = 1 << 15  # up to here a library's own copy costs less than a call of the CPU engine


class Stream(NamedTuple):
    """A CUDA stream.

    Attributes:
        handle: ``CUstream``, as an integer.
        ordinal: its device's number, as the driver counts those that are visible.
    """

    handle: int
    ordinal: int


def move(source: StridedView, destination: StridedView, stream: Stream | None = None) -> None:
    """Copy element by element between two views of one shape and item size.

    On a GPU the copy is put on the stream, and nothing waits. The caller keeps both arrays alive until the stream has
    passed it, as stream-ordered allocators do.

    Args:
        source: in main memory, or in that of the stream's device, whose context is current.
        destination: in the same memory; shares nothing with ``source``.
        stream: None for main memory.

    Raises:
        DeviceError: the driver refuses the kernel or its launch.
    """
    if not math.prod(source.shape) * source.itemsize:
        return
    if stream is not None:
        from cornerturn.op.gpu import engine as gpu_engine

        gpu_engine.run(source, destination, *stream)
    elif cpu_engine.compiles():
        owners = source.owner, destination.owner
        cpu_engine.run(plan_move(source, destination), source.pointer, destination.pointer, owners)
    else:
        np.copyto(as_array(destination), as_array(source))
