"""The production family: what ``transpose()`` launches, for a plain matrix and each element size."""

from cornerturn.kernels.kernel import Kernel
from cornerturn.kernels.production import box, ragged_weave, rows, tile, tile_run, weave

PRODUCTION: tuple[Kernel, ...] = (
    *tile.KERNELS,
    *weave.KERNELS,
    *ragged_weave.KERNELS,
    *tile_run.KERNELS,
    *rows.KERNELS,
    *box.KERNELS,
)
