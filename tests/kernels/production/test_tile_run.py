"""`tile_run` on the emulator."""

import math

import pytest

from cornerturn.kernels.production.tile_run import tile_run
from cornerturn.kernels.production.tile_shape import TileShape

from ...emulated_move import moved_axes, run


@pytest.mark.parametrize(("element", "rows"), [(1, 16), (1, 49), (1, 250), (2, 49), (4, 17), (8, 5), (16, 7)])
def test_a_tile_of_short_rows(element: int, rows: int) -> None:
    """Rows of y that fit one tile, follow one another and begin anywhere, are written as one run."""
    units = 16 // element
    micro, down = max(4 // element, min(4, units)), -(-rows // units) * units
    tile = TileShape(down, 8 * units, micro, 8 * (down // micro), wide=False)
    for batches, long, x_skew, y_skew in ((1, 41 * units, 0, 3), (3, 16 * units + 3, 1, 0), (2, 3, 0, 0)):
        shape = (batches, rows, long)
        batch, cols, run_ = moved_axes(shape, (0, 2, 1), element)
        x_units = element == 16 or (x_skew == 0 and long % units == 0)
        kernel = tile_run(element, run_, cols, [batch], tile, x_units)
        emulation = run(kernel, shape, (0, 2, 1), element, x_skew * element, y_skew * element)
        stores = [a for a in emulation.accesses if (a.space, a.kind) == ("global", "store")]
        blocks = kernel.launch.grid[0]
        assert sum(a.sectors for a in stores if a.width == 16) <= math.prod(shape) * element / 32 + 4 * blocks
