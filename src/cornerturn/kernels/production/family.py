"""The production family: what ``transpose()`` launches, for a plain matrix and each element size."""

from cornerturn.kernels.kernel import Kernel
from cornerturn.kernels.production import permute, ragged_weave, tile, weave

PRODUCTION: tuple[Kernel, ...] = (
    *tile.KERNELS,
    *weave.KERNELS,
    *ragged_weave.KERNELS,
    *permute.KERNELS,
)
