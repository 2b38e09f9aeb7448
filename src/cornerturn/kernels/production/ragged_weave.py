"""``ragged_weave``: as ``weave``, but rows and batches of records begin anywhere."""

from collections.abc import Sequence

from cornerturn.kernels.grid import ceil_div
from cornerturn.kernels.kernel import Kernel
from cornerturn.kernels.production.axes import SECTOR, UNIT, MoveAxis, count_blocks, ends_in, pack_axes, room_for
from cornerturn.kernels.production.device_code import DeviceCode, Production
from cornerturn.kernels.production.entry import axes_of, templated
from cornerturn.kernels.production.weave import INSTANCES, SHORT, a_short_side, numbered_units

HALO = SECTOR // UNIT
"""Groups of records that a block reads again so that its windows begin on sectors."""

_CODE = DeviceCode("ragged_weave", "weave")


def ragged_weave(
    element: int,
    short: MoveAxis,
    long: MoveAxis,
    outer: Sequence[MoveAxis],
    x_units: bool,
    halo: int,
    threads: int = 128,
) -> Production:
    """Return the launch of ``ragged_weave``: records of ``short[0]`` elements, contiguous in y or in x.

    Args:
        element: bytes, 1 to 8.
        short: the axis along which a record's elements lie.
        long: the axis of the records.
        outer: all other axes, in y's order.
        x_units: what is contiguous in x begins on units of 16 bytes.
        halo: 0 when the same holds for y; else HALO, the groups of records that a block reads again.
        threads: of a block.
    """
    interleave = short[2] == element
    step = (threads - halo) * UNIT // element
    blocks = ceil_div(long[0] + (SECTOR // element - 1 if halo else 0), step)
    axes = [(blocks, 0, 0), *reversed(outer)]
    template = {
        "E": element,
        "K": short[0],
        "THREADS": threads,
        "INTERLEAVE": interleave,
        "X_UNITS": x_units,
        "HALO": halo,
        "AXES": room_for(len(axes)),
    }
    return _CODE.production(
        template,
        count_blocks(axes),
        records=long[0],
        pitch=short[1] if interleave else short[2],
        **ends_in(element, [short, long, *outer]),
        axes=pack_axes(axes),
    )


def _lay(element: int, rows: int, cols: int) -> Production:
    """The side of the records begins on a unit, as x and y do; rows begin anywhere."""
    down, along = axes_of(element, rows, cols)
    if rows in SHORT:
        return ragged_weave(element, down, along, [], x_units=False, halo=0)
    return ragged_weave(element, along, down, [], x_units=True, halo=HALO)


_LESSON = (
    "does what weave does for rows that begin anywhere: reads are shifted, and a block reads a few records again, so "
    "that the windows of y that it writes begin on sectors and stores stay whole."
)

KERNELS: tuple[Kernel, ...] = tuple(
    templated("ragged_weave", size, _lay, (a_short_side, numbered_units(size)), _LESSON, INSTANCES) for size in (1, 4)
)
