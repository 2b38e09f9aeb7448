"""`shuffle` on the emulator."""

import math

import pytest

from cornerturn.kernels.kernel import ELEMENT_SIZES
from cornerturn.kernels.production.shuffle import shuffle

from ...emulated_move import moved_axes, run


@pytest.mark.parametrize("element", ELEMENT_SIZES)
def test_shuffle(element: int) -> None:
    """Blocks smaller than a unit and of many; fewer than a thread block takes, and more."""
    for shape, order, x_skew, y_skew in (
        ((1, 3001, 2, 2), (0, 1, 3, 2), 0, 0),
        ((1, 1500, 3, 3), (0, 1, 3, 2), 1, 3),
        ((1, 70, 16, 16), (0, 1, 3, 2), 0, 5),
        ((2, 33, 2, 3, 5), (0, 1, 4, 2, 3), 3, 0),
        ((1, 2, 31, 32), (0, 1, 3, 2), 0, 0),
    ):
        outer, batch, *inner = moved_axes(shape, order, element)
        kernel = shuffle(element, inner, batch, [outer])
        emulation = run(kernel, shape, order, element, x_skew * element, y_skew * element)
        stores = [a for a in emulation.accesses if (a.space, a.kind) == ("global", "store")]
        written = math.prod(shape) * element
        assert sum(a.sectors for a in stores if a.width == 16) <= written / 32 + 4 * kernel.launch.grid[0]
