"""``rows``: element by element along y, without shared memory; for whole rows, and for what fits no tile."""

from collections.abc import Sequence

from cornerturn.kernels.grid import ceil_div
from cornerturn.kernels.kernel import Kernel
from cornerturn.kernels.production.axes import INDEX_LIMIT, MoveAxis, count_blocks, numbered, pack_axes, room_for
from cornerturn.kernels.production.device_code import DeviceCode, Production
from cornerturn.kernels.production.entry import axes_of, kernel

_CODE = DeviceCode("rows")


def rows(element: int, axes: Sequence[MoveAxis], threads: int = 256, items: int = 1) -> Production:
    """Return the launch of ``rows``: elements one after the other along ``axes``, the last one fastest.

    Args:
        element: bytes, 1 to 16.
        axes: in any order; consecutive threads follow the last.
        threads: of a block.
        items: elements per thread.
    """
    share = threads * items
    fastest_first, inner = numbered(list(reversed(axes)), INDEX_LIMIT - share - 1)
    slab = count_blocks(fastest_first[:inner])
    all_axes = [*fastest_first[:inner], (ceil_div(slab, share), 0, 0), *fastest_first[inner:]]
    template = {"E": element, "THREADS": threads, "ITEMS": items, "AXES": room_for(len(all_axes))}
    return _CODE.production(template, count_blocks(all_axes[inner:]), slab=slab, inner=inner, axes=pack_axes(all_axes))


def _lay(element: int, rows_: int, cols: int) -> Production:
    down, along = axes_of(element, rows_, cols)
    return rows(element, [along, down], items=4)


def _lesson(element: int) -> str:
    return (
        "follows y element by element, four per thread and without shared memory, for shapes that fit no tile, and on "
        f"a large matrix takes 32 sectors per load where {element} would do."
    )


KERNELS: tuple[Kernel, ...] = (kernel("rows", 4, _lay, (), _lesson(4)),)
