"""``records``: a matrix of small records, which stay in order within; units of y are gathered by a table."""

from collections.abc import Sequence

from cornerturn.kernels.grid import SHARED_BYTES, ceil_div
from cornerturn.kernels.production.axes import SECTOR, UNIT, MoveAxis, count_blocks, ends_in, pack_axes, room_for
from cornerturn.kernels.production.device_code import DeviceCode, Production

TALL_BYTES, WIDE_BYTES = 384, 240
"""A tile's row of y and its row of x, about."""
TABLE = 1024
"""Entries of the kernel's table, of 2 bytes each."""

_CODE = DeviceCode("records")


def records(
    element: int, record: int, rows: MoveAxis, cols: MoveAxis, outer: Sequence[MoveAxis], threads: int = 256
) -> Production:
    """Return the launch of ``records``: a matrix of records of a few elements each, contiguous in x and in y.

    Args:
        element: bytes, 1 to 8.
        record: elements of a record, together less than 16 bytes.
        rows: the axis along which records follow one another in y.
        cols: the same in x.
        outer: all other axes, in y's order.
        threads: of a block.
    """
    size = record * element
    tall, wide = record_tile(size)
    lead = ceil_div(SECTOR, size)
    units = ceil_div(wide * size, UNIT) + 1
    tiles = [(ceil_div(rows[0] + lead, tall), 0, 0), (ceil_div(cols[0], wide), 0, 0)]
    divisors = [(record, 0, 0), (units, 0, 0), (tall * size // (4 * UNIT), 0, 0)]
    axes = [*divisors, *tiles, *reversed(outer)]
    template = {"E": element, "THREADS": threads, "AXES": room_for(len(axes))}
    return _CODE.production(
        template,
        count_blocks(axes[3:]),
        (tall + lead) * (units | 1) * UNIT,
        rows=rows[0],
        cols=cols[0],
        tall=tall,
        wide=wide,
        lead=lead,
        pitch_in=rows[1],
        pitch_out=cols[2],
        **ends_in(element, [(record, element, element), rows, cols, *outer]),
        axes=pack_axes(axes),
    )


def record_tile(size: int) -> tuple[int, int]:
    """Return the rows and columns of a tile of records of ``size`` bytes: rows of y in whole lines of windows."""
    tall = ceil_div(TALL_BYTES, 64 * size) * 64
    units = (SHARED_BYTES - 2 * TABLE) // (UNIT * (tall + ceil_div(SECTOR, size)))
    wide = (units - 2 + units % 2) * UNIT  # an odd number of units, of which a row meets one more than it fills
    return tall, min(wide, WIDE_BYTES) // (8 * size) * 8
