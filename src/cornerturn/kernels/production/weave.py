"""``weave``: a matrix with one short side, which threads turn in registers.

Every row begins on, and has, whole units of 16 bytes, and so does every batch of records.
"""

from collections.abc import Sequence

from cornerturn.kernels.grid import Rule, ceil_div
from cornerturn.kernels.kernel import ELEMENT_SIZES, Kernel
from cornerturn.kernels.production.axes import INDEX_LIMIT, UNIT, MoveAxis, count_blocks, pack_axes, room_for
from cornerturn.kernels.production.device_code import DeviceCode, Production
from cornerturn.kernels.production.entry import axes_of, templated

SHORT = range(2, 17)
"""Lengths of the short side for which the catalogue has an instance."""
INSTANCES = tuple(shape for short in SHORT for shape in ((short, 64), (64, short)))
"""A shape for each of them, and for each way."""

_CODE = DeviceCode("weave")


def weave(element: int, short: MoveAxis, long: MoveAxis, outer: Sequence[MoveAxis], threads: int = 128) -> Production:
    """Return the launch of ``weave``: records of ``short[0]`` elements, contiguous in y or in x.

    Args:
        element: bytes, 1 to 16.
        short: the axis along which a record's elements lie.
        long: the axis of the records.
        outer: all other axes, in y's order.
        threads: of a block.
    """
    interleave = short[2] == element
    groups = long[0] * element // UNIT
    axes = [(ceil_div(groups, threads), 0, 0), *reversed(outer)]
    template = {
        "E": element,
        "K": short[0],
        "THREADS": threads,
        "INTERLEAVE": interleave,
        "AXES": room_for(len(axes)),
    }
    pitch = short[1] if interleave else short[2]
    return _CODE.production(template, count_blocks(axes), groups=groups, pitch=pitch, axes=pack_axes(axes))


def numbered_units(element: int) -> Rule:
    """Refuse more units than 31 bits number."""
    most = INDEX_LIMIT * UNIT // element - 1

    def broken(rows: int, cols: int) -> str | None:
        if rows * cols <= most:
            return None
        return f"rows * cols must be at most {most}, as units are numbered with 31 bits: got {rows * cols}"

    return broken


def a_short_side(rows: int, cols: int) -> str | None:
    """Refuse what no instance turns in registers."""
    if rows in SHORT or cols in SHORT:
        return None
    return f"rows or cols must be {SHORT[0]} to {SHORT[-1]}: got {rows} x {cols}"


def _weaves(element: int, short: int, long: int) -> bool:
    return short in SHORT and long * element % UNIT == 0


def _one_short_side(element: int) -> Rule:
    """Refuse what does not have one short side and whole units along the other."""
    units = UNIT // element

    def broken(rows: int, cols: int) -> str | None:
        if _weaves(element, rows, cols) or _weaves(element, cols, rows):
            return None
        name, long = ("cols", cols) if rows in SHORT else ("rows", rows)
        return a_short_side(rows, cols) or f"{name} must be a multiple of {units}: got {long}"

    return broken


def _lay(element: int, rows: int, cols: int) -> Production:
    down, along = axes_of(element, rows, cols)
    short, long = (down, along) if _weaves(element, rows, cols) else (along, down)
    return weave(element, short, long, [])


def _lesson(element: int) -> str:
    records = "one record" if element == UNIT else f"{UNIT // element} records"
    return (
        f"takes a matrix with a side of {SHORT[0]} to {SHORT[-1]} elements here, too short for a tile: a thread turns "
        f"{records} in registers, and records pass through shared memory, so that both global ends "
        "are contiguous 16-byte accesses."
    )


def _entry(element: int) -> Kernel:
    rules = (_one_short_side(element), numbered_units(element))
    return templated("weave", element, _lay, rules, _lesson(element), INSTANCES)


KERNELS: tuple[Kernel, ...] = tuple(map(_entry, ELEMENT_SIZES))
