"""What moves the elements of one strided view in main memory to another."""

from dataclasses import replace

import numpy as np

from cornerturn.op.cpu import engine
from cornerturn.op.cpu.plan import Plan, plan_move
from cornerturn.op.strided_view import StridedView, as_array, c_order

SMALL_BYTES = 1 << 15  # up to here a library's own copy costs less than a call of the CPU engine


def move(source: StridedView, destination: StridedView) -> None:
    """Copy element by element between two views of one shape and item size; nothing if they hold no bytes.

    Args:
        source: in main memory.
        destination: in main memory; shares nothing with ``source``.
    """
    if not source.nbytes:
        return
    if engine.compiles():
        owners = source.owner, destination.owner
        engine.run(plan_move(source, destination), source.pointer, destination.pointer, owners)
    else:
        np.copyto(as_array(destination), as_array(source))


def plan_for(source: StridedView) -> Plan:
    """Return how `move` moves a view, which holds some bytes, into a new array.

    Args:
        source: its axes permuted.
    """
    plan = plan_move(source, c_order(source.shape, source.itemsize))
    if engine.compiles():
        return plan
    why = "NUMBA_DISABLE_JIT is set, and NumPy copies"
    return replace(plan, kernel="numpy_copy", why=why, stream=False, tile=(1, 1))
