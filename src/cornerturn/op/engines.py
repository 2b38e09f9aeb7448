"""What moves the elements of one strided view in main memory to another."""

from cornerturn.op.cpu import engine
from cornerturn.op.cpu.plan import Plan, plan_move
from cornerturn.op.strided_view import StridedView, c_order

SMALL_BYTES = 1 << 15  # up to here PyTorch's own copy costs less than a call by way of NumPy


def move(source: StridedView, destination: StridedView) -> None:
    """Copy element by element between two views of one shape and item size; nothing if they hold no bytes.

    Args:
        source: in main memory.
        destination: in main memory; shares nothing with ``source``.
    """
    if source.nbytes:
        owners = source.owner, destination.owner
        engine.run(plan_move(source, destination), source.pointer, destination.pointer, owners)


def plan_for(source: StridedView) -> Plan:
    """Return how `move` moves a view, which holds some bytes, into a new array.

    Args:
        source: its axes permuted.
    """
    return plan_move(source, c_order(source.shape, source.itemsize))
