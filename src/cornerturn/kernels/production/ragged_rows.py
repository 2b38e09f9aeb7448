"""``ragged_rows``: whole rows in another order, which begin anywhere; a thread writes a unit of y."""

from collections.abc import Sequence

from cornerturn.kernels.grid import ceil_div
from cornerturn.kernels.production.axes import (
    INDEX_LIMIT,
    SECTOR,
    UNIT,
    MoveAxis,
    count_blocks,
    ends_in,
    numbered,
    pack_axes,
    room_for,
)
from cornerturn.kernels.production.device_code import DeviceCode, Production

_CODE = DeviceCode("ragged_rows")


def ragged_rows(element: int, axes: Sequence[MoveAxis], shifted: bool, threads: int = 128) -> Production:
    """Return the launch of ``ragged_rows``: the last axis is contiguous on both sides, at least 16 bytes long.

    Args:
        element: bytes, 1 to 8.
        axes: in y's order.
        shifted: read x by units and shift them, and not element by element.
        threads: of a block, each of which writes one unit of y.
    """
    line = line_axes(element, axes)
    outer = list(reversed(axes))[len(line) :]
    chain, inner = numbered(line, INDEX_LIMIT - 2 * threads * UNIT)  # so that no window ends beyond
    fastest_first, elements = [*chain, *outer], count_blocks(chain[:inner])
    blocks = ceil_div(elements + SECTOR // element - 1, threads * UNIT // element)
    all_axes = [*fastest_first[:inner], (blocks, 0, 0), *fastest_first[inner:]]
    template = {"E": element, "THREADS": threads, "SHIFTED": shifted, "AXES": room_for(len(all_axes))}
    return _CODE.production(
        template,
        count_blocks(all_axes[inner:]),
        elements=elements,
        inner=inner,
        **ends_in(element, axes),
        axes=pack_axes(all_axes),
    )


def line_axes(element: int, axes: Sequence[MoveAxis]) -> list[MoveAxis]:
    """Return the axes along which rows follow one another in y without a gap, fastest first, the row's own included."""
    line, elements = [axes[-1]], axes[-1][0]
    for axis in reversed(axes[:-1]):
        if axis[2] != elements * element:
            break
        line.append(axis)
        elements *= axis[0]
    return line
