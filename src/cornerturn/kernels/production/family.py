"""The production family: what ``transpose()`` launches, for a plain matrix and each element size."""

from cornerturn.kernels.kernel import Kernel
from cornerturn.kernels.production import permute, tile

PRODUCTION: tuple[Kernel, ...] = (
    *tile.KERNELS,
    *permute.KERNELS,
)
