"""``tile_run``: a matrix whose rows of y are short and follow one another; all rows of a tile are written as one run.

In the catalogue it is ``ragged_run_N``.
"""

from collections.abc import Sequence

from cornerturn.kernels.grid import Rule, ceil_div
from cornerturn.kernels.kernel import Kernel
from cornerturn.kernels.production.axes import (
    MAX_EXTENT,
    UNIT,
    MoveAxis,
    count_blocks,
    ends_in,
    pack_axes,
    room_for,
)
from cornerturn.kernels.production.device_code import DeviceCode, Production
from cornerturn.kernels.production.entry import axes_of, templated
from cornerturn.kernels.production.h200 import H200
from cornerturn.kernels.production.tile_shape import TileShape, micro_rows_of

_CODE = DeviceCode("tile_run", "tile")


def tile_run(
    element: int, rows: MoveAxis, cols: MoveAxis, outer: Sequence[MoveAxis], shape: TileShape, x_units: bool
) -> Production:
    """Return the launch of ``tile_run``: as ``tile``, but y's rows fit one tile and follow one another.

    Args:
        element: bytes, 1 to 16.
        rows: the axis that is contiguous in y, at least 16 bytes and at most ``shape.rows`` elements long.
        cols: the axis that is contiguous in x; in y, its step is a row's length.
        outer: all other axes, in y's order.
        shape: the tile; neither grouped nor wide.
        x_units: every row of x begins on, and has, whole units of 16 bytes.

    Raises:
        ValueError: the shape breaks a rule of the kernel.
    """
    if (rule := shape.broken_rule_of_filling(element)) is not None:
        raise ValueError(rule)
    axes = [rows, (ceil_div(cols[0], shape.cols), 0, 0), *reversed(outer)]
    template = {
        "E": element,
        "R": shape.rows,
        "C": shape.cols,
        "P": shape.micro_rows,
        "THREADS": shape.threads,
        "X_UNITS": x_units,
        "AXES": room_for(len(axes)),
    }
    return _CODE.production(
        template,
        count_blocks(axes[1:]),
        shape.shared_bytes(element),
        cols=cols[0],
        pitch_in=rows[1],
        **ends_in(element, [rows, cols, *outer]),
        axes=pack_axes(axes),
    )


def run_tile(element: int, rows: int, cols: int) -> TileShape:
    """Return the tile that holds rows of y of ``rows`` elements, of a matrix with ``cols`` columns."""
    units, micro = UNIT // element, micro_rows_of(element)
    down = ceil_div(rows, units) * units
    across = 16 if 16 * (down // micro) <= 512 else 8
    across = min(across, 1 << (ceil_div(cols, units) - 1).bit_length())
    return TileShape(down, across * units, micro, across * (down // micro), wide=False)


def _short_rows(element: int) -> Rule:
    """Refuse rows of y that are shorter than a unit or longer than a tile."""
    least, most = UNIT // element, H200.run_limit[element]
    return lambda rows, cols: None if least <= rows <= most else f"rows must be {least} to {most}: got {rows}"


def _lay(element: int, rows: int, cols: int) -> Production:
    """The tile is that of many columns, so that rows alone choose the instance."""
    return tile_run(element, *axes_of(element, rows, cols), [], run_tile(element, rows, MAX_EXTENT), x_units=False)


def _entry(element: int) -> Kernel:
    units = UNIT // element
    shapes = [(rows, 64) for rows in range(units, H200.run_limit[element] + 1, units)]
    return templated("ragged_run", element, _lay, (_short_rows(element),), _LESSON, shapes)


_LESSON = (
    "takes rows of y of at most 64 elements or 256 bytes, which would end within units: a block writes all rows of its "
    "tile as one run, a unit holds parts of two rows, and stores stay whole."
)

KERNELS: tuple[Kernel, ...] = tuple(map(_entry, (1, 4)))
