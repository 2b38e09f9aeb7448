"""The production family in the catalogue: what ``transpose()`` launches, for a plain matrix and each element size.

The number in a name is the element's size in bytes. Tiles are those of large problems.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from cornerturn.kernels import gathers, production
from cornerturn.kernels.grid import Rule, first_broken
from cornerturn.kernels.kernel import Kernel, Launch
from cornerturn.kernels.moves import INDEX_LIMIT, SECTOR, UNIT, MoveAxis
from cornerturn.kernels.production import Production
from cornerturn.kernels.production_tiles import ALIGNED_TILES, GROUPS, RAGGED_TILES, grouped, run_limit, run_tile

Shape = tuple[int, int]

Lay = Callable[[int, int, int], Production]
"""``lay(element, rows, cols)``: the kernel's instance and its launch for an x of rows x cols."""

ELEMENTS = (1, 2, 4, 8, 16)
MAX_EXTENT = INDEX_LIMIT - 4096
"""A tile's width below 2^31, so that no coordinate in the last tile overflows."""
SHORT = range(2, 17)
"""Lengths of the axis that ``weave`` turns in registers."""


def _axes(element: int, rows: int, cols: int) -> tuple[MoveAxis, MoveAxis]:
    """Return the axis along which y is contiguous, and that along which x is."""
    return (rows, cols * element, element), (cols, element, rows * element)


def _tile(element: int, rows: int, cols: int) -> Production:
    shape = ALIGNED_TILES[element][0]
    if element in GROUPS:
        shape = grouped(shape, GROUPS[element])
    return production.tile(element, *_axes(element, rows, cols), [], shape)


def _ragged(element: int, rows: int, cols: int) -> Production:
    """Reads are shifted unless each element is a unit; windows begin on sectors."""
    x_units, halo = element == UNIT, SECTOR // UNIT
    return production.tile(element, *_axes(element, rows, cols), [], RAGGED_TILES[element][0], x_units, halo)


def _weave(element: int, rows: int, cols: int) -> Production:
    down, along = _axes(element, rows, cols)
    short, long = (down, along) if _weaves(element, rows, cols) else (along, down)
    return production.weave(element, short, long, [])


def _ragged_weave(element: int, rows: int, cols: int) -> Production:
    """The side of the records begins on a unit, as x and y do; rows begin anywhere."""
    down, along = _axes(element, rows, cols)
    if rows in SHORT:
        return production.ragged_weave(element, down, along, [], x_units=False, halo=0)
    return production.ragged_weave(element, along, down, [], x_units=True, halo=SECTOR // UNIT)


def _tile_run(element: int, rows: int, cols: int) -> Production:
    """The tile is that of many columns, so that rows alone choose the instance."""
    return production.tile_run(
        element, *_axes(element, rows, cols), [], run_tile(element, rows, MAX_EXTENT), x_units=False
    )


def _rows(element: int, rows: int, cols: int) -> Production:
    down, along = _axes(element, rows, cols)
    return production.rows(element, [along, down], items=4)


def _box(element: int, rows: int, cols: int) -> Production:
    down, along = _axes(element, rows, cols)
    return gathers.box(element, [along, down])


def _weaves(element: int, short: int, long: int) -> bool:
    return short in SHORT and long * element % UNIT == 0


def _whole_units(element: int) -> Rule:
    """Refuse rows of x that end within a unit."""
    units = UNIT // element
    return lambda rows, cols: f"cols must be a multiple of {units}: got {cols}" if cols % units else None


def _whole_sectors(element: int) -> Rule:
    """Refuse rows of y that end within a sector."""
    elements = SECTOR // element
    return lambda rows, cols: f"rows must be a multiple of {elements}: got {rows}" if rows % elements else None


def _one_short_side(element: int) -> Rule:
    """Refuse what ``weave`` cannot turn in registers."""
    units = UNIT // element

    def broken(rows: int, cols: int) -> str | None:
        if _weaves(element, rows, cols) or _weaves(element, cols, rows):
            return None
        if rows not in SHORT and cols not in SHORT:
            return f"rows or cols must be {SHORT[0]} to {SHORT[-1]}: got {rows} x {cols}"
        name, long = ("cols", cols) if rows in SHORT else ("rows", rows)
        return f"{name} must be a multiple of {units}: got {long}"

    return broken


def _a_short_side(rows: int, cols: int) -> str | None:
    """Refuse what ``ragged_weave`` cannot turn in registers."""
    if rows in SHORT or cols in SHORT:
        return None
    return f"rows or cols must be {SHORT[0]} to {SHORT[-1]}: got {rows} x {cols}"


def _short_rows(element: int) -> Rule:
    """Refuse rows of y that are no unit or fit no tile of ``tile_run``."""
    least, most = UNIT // element, run_limit(element)
    return lambda rows, cols: None if least <= rows <= most else f"rows must be {least} to {most}: got {rows}"


def _countable(rows: int, cols: int) -> str | None:
    """Refuse what 31 bits do not number."""
    if max(rows, cols) <= MAX_EXTENT:
        return None
    return f"rows and cols must be at most {MAX_EXTENT}, as the kernels number them with 31 bits: got {rows} x {cols}"


def _numbered_units(element: int) -> Rule:
    """Refuse more units than 31 bits number, for ``weave``."""
    most = INDEX_LIMIT * UNIT // element - 1

    def broken(rows: int, cols: int) -> str | None:
        if rows * cols <= most:
            return None
        return f"rows * cols must be at most {most}, as units are numbered with 31 bits: got {rows * cols}"

    return broken


_PLAIN: Shape = (128, 128)


def _lesson_of_tile(element: int) -> str:
    if element == UNIT:
        return (
            "takes elements of 16 bytes, a unit each, through a padded tile, so that no global request wastes a "
            "sector, and no shared one a wavefront."
        )
    shape = ALIGNED_TILES[element][0]
    return (
        f"takes units of 16 bytes at both global ends and turns {shape.micro_rows} x {UNIT // element} elements in "
        f"registers between them, through a tile with a unit of padding every {UNIT // element} rows of y, so that "
        "a global request is 16 sectors and none is wasted, nor is a wavefront."
    )


def _lesson_of_ragged(element: int) -> str:
    reads = "a thread reads two aligned units for the one that it needs, which doubles the loads, and "
    return (
        f"takes rows that begin anywhere: {'' if element == UNIT else reads}"
        "the windows of y that a block writes begin on sectors: a few rows are read again, and stores stay whole."
    )


def _lesson_of_weave(element: int) -> str:
    records = "one record" if element == UNIT else f"{UNIT // element} records"
    return (
        f"takes a matrix with a side of {SHORT[0]} to {SHORT[-1]} elements here, too short for a tile: a thread turns "
        f"{records} in registers, and records pass through shared memory, so that both global ends "
        "are contiguous 16-byte accesses."
    )


_LESSON_OF_RAGGED_WEAVE = (
    "does what weave does for rows that begin anywhere: reads are shifted, and a block reads a few records again, so "
    "that the windows of y that it writes begin on sectors and stores stay whole."
)

_LESSON_OF_RUN = (
    "takes rows of y of at most 64 elements or 256 bytes, which would end within units: a block writes all rows of its "
    "tile as one run, a unit holds parts of two rows, and stores stay whole."
)


def _lesson_of_rows(element: int) -> str:
    return (
        "follows y element by element, four a thread and without shared memory, for shapes that fit no tile, and on a "
        f"large matrix takes 32 sectors a load where {element} would do."
    )


def _lesson_of_box(element: int) -> str:
    return (
        "moves any axes at any strides: tables say where the elements of a box lie, which keeps both global ends "
        f"contiguous and takes seven times the instructions of tile_{element}, and conflicts in the tables."
    )


def _kernel(kind: str, element: int, lay: Lay, rules: tuple[Rule, ...], lesson: str, plain: Shape = _PLAIN) -> Kernel:
    """Return the entry; ``plain`` is a shape that it accepts."""
    one = lay(element, *plain)

    def launch(rows: int, cols: int) -> Launch:
        return lay(element, rows, cols).launch

    return Kernel(
        name=f"{kind}_{element}",
        family="production",
        source=one.source,
        entry=one.entry,
        element_bytes=element,
        launch=launch,
        refuses=first_broken(*rules, _countable),
        lesson=lesson,
    )


def _templated(
    kind: str, element: int, lay: Lay, rules: tuple[Rule, ...], lesson: str, shapes: Sequence[Shape]
) -> Kernel:
    """Return the entry of a kernel that is a template over shapes; ``shapes`` has one for each instance."""
    return replace(
        _kernel(kind, element, lay, rules, lesson, shapes[0]),
        instance=lambda rows, cols: lay(element, rows, cols).entry,
        instances=tuple(lay(element, *shape).entry for shape in shapes),
    )


_WOVEN = [shape for short in SHORT for shape in ((short, 64), (64, short))]


def _woven(element: int) -> Kernel:
    rules = (_one_short_side(element), _numbered_units(element))
    return _templated("weave", element, _weave, rules, _lesson_of_weave(element), _WOVEN)


def _ragged_woven(element: int) -> Kernel:
    rules = (_a_short_side, _numbered_units(element))
    return _templated("ragged_weave", element, _ragged_weave, rules, _LESSON_OF_RAGGED_WEAVE, _WOVEN)


def _run(element: int) -> Kernel:
    units = UNIT // element
    shapes = [(rows, 64) for rows in range(units, run_limit(element) + 1, units)]
    return _templated("ragged_run", element, _tile_run, (_short_rows(element),), _LESSON_OF_RUN, shapes)


PRODUCTION: tuple[Kernel, ...] = (
    *(
        _kernel("tile", size, _tile, (_whole_units(size), _whole_sectors(size)), _lesson_of_tile(size))
        for size in ELEMENTS
    ),
    *(_kernel("ragged", size, _ragged, (), _lesson_of_ragged(size)) for size in ELEMENTS),
    *(_woven(size) for size in ELEMENTS),
    *(_ragged_woven(size) for size in (1, 4)),
    *(_run(size) for size in (1, 4)),
    _kernel("rows", 4, _rows, (), _lesson_of_rows(4)),
    _kernel("box", 4, _box, (), _lesson_of_box(4)),
)
