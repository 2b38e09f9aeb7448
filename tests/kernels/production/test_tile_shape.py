"""The rules of a tile, and tiles that fit short sides."""

import pytest

from cornerturn.kernels.grid import SHARED_BYTES
from cornerturn.kernels.kernel import ELEMENT_SIZES
from cornerturn.kernels.production.device_code import Production
from cornerturn.kernels.production.h200 import H200
from cornerturn.kernels.production.tile import HALO, tile
from cornerturn.kernels.production.tile_shape import TileShape, fitting_ragged_tiles, fitting_tiles
from cornerturn.toolchain import compile_source

from ...emulated_move import run


def laid(element: int, shape: TileShape, halo: int) -> Production:
    """The tile over a matrix of 8192 x 8192."""
    axes = (8192, 8192 * element, element), (8192, element, 8192 * element)
    return tile(element, *axes, [], shape, not halo, halo)


class TestRules:
    @pytest.mark.parametrize(
        ("element", "shape"),
        [
            (4, TileShape(64, 64, 0, 256)),
            (4, TileShape(64, 64, 4, 48)),  # no whole warps
            (1, TileShape(128, 128, 4, 2048)),
            (4, TileShape(63, 64, 1, 256)),  # part of a unit
            (4, TileShape(64, 62, 4, 256)),
            (2, TileShape(64, 64, 1, 128)),  # stores of 2 bytes
            (2, TileShape(48, 64, 6, 64)),  # stores of 12 bytes
            (4, TileShape(36, 64, 8, 64)),  # stores of 32 bytes
            (4, TileShape(32, 64, 4, 256)),  # threads read 64 rows at once
            (4, TileShape(64, 96, 4, 128)),  # 24 units in a row for 128 threads
            (1, TileShape(32, 256, 4, 32)),  # a warp reads two rows at once, and four rows of 128 bytes are to be read
            (8, TileShape(64, 128, 1, 1024)),  # 65 KiB
            (1, TileShape(128, 128, 4, 256, resident=9)),
            (4, TileShape(64, 64, 4, 256, group=(0, 4))),
        ],
    )
    def test_what_breaks_one(self, element: int, shape: TileShape) -> None:
        assert shape.broken_rule(element)

    def test_a_window_needs_room_beside_its_halo(self) -> None:
        shape = TileShape(8, 64, 4, 32)
        assert shape.broken_rule(4) is None
        assert shape.broken_rule(4, HALO)

    def test_windows_of_neighbours_meet_on_sectors(self) -> None:
        for rows, meet in ((36, False), (40, True), (44, False)):
            shape = TileShape(rows, 32, 1, 32)
            assert shape.broken_rule(4) is None
            assert (shape.broken_rule(4, HALO) is None) == meet

    @pytest.mark.parametrize(
        ("element", "shape", "halo"),
        [
            (2, TileShape(32, 256, 8, 128), 0),
            (1, TileShape(64, 64, 4, 64, resident=3), HALO),
            (4, TileShape(24, 32, 2, 96), 1),
            (8, TileShape(16, 32, 2, 128, resident=8), HALO),
        ],
    )
    def test_what_obeys_them_compiles(self, element: int, shape: TileShape, halo: int) -> None:
        assert shape.broken_rule(element, halo) is None
        assert compile_source(laid(element, shape, halo).source).cubin

    def test_the_kernel_refuses_what_does_not(self) -> None:
        with pytest.raises(ValueError, match="rows must be a multiple of the 64 that 256 threads read at once: got 32"):
            laid(4, TileShape(32, 64, 4, 256), 0)

    def test_shared_memory_is_what_the_launch_asks_for(self) -> None:
        for element in ELEMENT_SIZES:
            for shape in H200.aligned[element]:
                assert laid(element, shape, 0).launch.shared_bytes == shape.shared_bytes(element) <= SHARED_BYTES


@pytest.mark.parametrize("element", ELEMENT_SIZES)
@pytest.mark.parametrize("halo", [0, HALO])
def test_tiles_that_fit_are_right(element: int, halo: int) -> None:
    """One for each number of units across, and for few rows each number of units down."""
    units = 16 // element

    def fitting(row: int, col: int) -> list[TileShape]:
        if halo:
            return fitting_ragged_tiles(element, col, H200.fitting_ragged_units)
        return fitting_tiles(element, row, col, H200.fitting_threads)

    across = [(shape, shape.rows + units, n * units) for n in range(1, 33) for shape in fitting(9999, n * units)]
    down = [(shape, n * units, shape.cols + units) for n in range(1, 9) for shape in fitting(n * units, 1)[1:]]
    less = 1 if halo else 0
    matrices = {shape: (rows - less, max(1, cols - less)) for shape, rows, cols in across + down}
    assert len(matrices) >= ({1: 4}.get(element, 16) if halo else 23)
    for shape, (rows, cols) in matrices.items():
        axes = (rows, cols * element, element), (cols, element, rows * element)
        kernel = tile(element, *axes, [], shape, x_units=not halo or element == 16, halo=halo)
        run(kernel, (rows, cols), (1, 0), element)
