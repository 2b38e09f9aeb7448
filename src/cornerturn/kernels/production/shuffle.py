"""``shuffle``: many small blocks, contiguous in x and in y, each permuted within itself by a table."""

import math
from collections.abc import Sequence

from cornerturn.kernels.grid import ceil_div
from cornerturn.kernels.production.axes import UNIT, MoveAxis, count_blocks, ends_in, pack_axes, room_for
from cornerturn.kernels.production.device_code import DeviceCode, Production

SHARE_BYTES = 8192
"""What a block of threads takes, about."""

_CODE = DeviceCode("shuffle")


def shuffle(
    element: int, inner: Sequence[MoveAxis], batch: MoveAxis, outer: Sequence[MoveAxis], threads: int = 128
) -> Production:
    """Return the launch of ``shuffle``: blocks that are contiguous in x and in y, permuted within themselves.

    Args:
        element: bytes, 1 to 16.
        inner: the axes of a block, in y's order; at most the 1024 elements that the kernel's table has room for.
        batch: the axis of the blocks; on both sides its step is a block's length.
        outer: all other axes, in y's order.
        threads: of a block of threads.
    """
    volume = math.prod(axis[0] for axis in inner)
    units = UNIT // element
    blocks = max(SHARE_BYTES // (volume * element * units), 1) * units  # so that each thread block begins on a unit
    chunk = blocks * volume
    axes = [(volume, 0, 0), *reversed(inner), (ceil_div(batch[0], blocks), 0, 0), *reversed(outer)]
    held = chunk * element // UNIT + 1
    template = {"E": element, "THREADS": threads, "AXES": room_for(len(axes))}
    return _CODE.production(
        template,
        count_blocks(axes[len(inner) + 1 :]),
        (held + held // 8) * UNIT,
        inner=len(inner),
        elements=batch[0] * volume,
        chunk=chunk,
        **ends_in(element, [*inner, batch, *outer]),
        axes=pack_axes(axes),
    )
