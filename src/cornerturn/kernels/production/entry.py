"""Production kernels as entries of the catalogue: each laid over a plain matrix, with the tiles of large problems.

The number in a name is the element's size in bytes.
"""

from collections.abc import Callable

from cornerturn.kernels.grid import Rule, first_broken
from cornerturn.kernels.kernel import Kernel, Launch
from cornerturn.kernels.production.axes import MAX_EXTENT, MoveAxis
from cornerturn.kernels.production.device_code import Production

Shape = tuple[int, int]

Lay = Callable[[int, int, int], Production]
"""``lay(element, rows, cols)``: the kernel's instance and its launch for an x of rows x cols."""


def axes_of(element: int, rows: int, cols: int) -> tuple[MoveAxis, MoveAxis]:
    """Return the axis along which y is contiguous, and that along which x is."""
    return (rows, cols * element, element), (cols, element, rows * element)


def kernel(
    kind: str, element: int, lay: Lay, rules: tuple[Rule, ...], lesson: str, plain: Shape = (128, 128)
) -> Kernel:
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


def _countable(rows: int, cols: int) -> str | None:
    """Refuse what 31 bits do not number."""
    if max(rows, cols) <= MAX_EXTENT:
        return None
    return f"rows and cols must be at most {MAX_EXTENT}, as the kernels number them with 31 bits: got {rows} x {cols}"
