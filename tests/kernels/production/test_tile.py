"""`tile` on the emulator: right at every shape, and as few sectors and wavefronts as there can be."""

import numpy as np
import pytest

from cornerturn.emulator import Memory
from cornerturn.kernels.kernel import ELEMENT_SIZES
from cornerturn.kernels.production import tile as module
from cornerturn.kernels.production.device_code import Production
from cornerturn.kernels.production.tile_shape import TileShape

from ...emulated_move import image_of, launched, moved_axes, run

ALIGNED = {
    1: TileShape(128, 128, 4, 256),
    2: TileShape(64, 128, 4, 256),
    4: TileShape(64, 64, 4, 256),
    8: TileShape(32, 64, 2, 256),
    16: TileShape(32, 32, 1, 256),
}
RAGGED = {
    1: TileShape(256, 128, 4, 512),
    2: TileShape(128, 64, 4, 256),
    4: TileShape(64, 64, 4, 256),
    8: TileShape(32, 64, 2, 256),
    16: TileShape(16, 64, 1, 256),
}


def matrix(element: int, shape: tuple[int, int], tile: TileShape, x_units: bool = True, halo: int = 0) -> Production:
    cols, rows = moved_axes(shape, (1, 0), element)
    return module.tile(element, rows, cols, [], tile, x_units, halo)


@pytest.mark.parametrize("element", ELEMENT_SIZES)
def test_an_aligned_tile_wastes_nothing(element: int) -> None:
    emulation = run(matrix(element, (256, 256), ALIGNED[element]), (256, 256), (1, 0), element)
    for access in emulation.accesses:
        if "param" in access.instruction:
            continue  # how NVRTC reads a structure that is passed by value; constant memory in machine code
        if access.space == "global":
            assert access.width == 16
            assert access.sectors == access.sectors_ideal == 16 * access.requests
        elif access.space == "shared":
            assert access.wavefronts == access.wavefronts_ideal


@pytest.mark.parametrize("element", ELEMENT_SIZES)
@pytest.mark.parametrize("group", [None, (2, 2), (3, 5)])
def test_an_aligned_tile_at_edges(element: int, group: tuple[int, int] | None) -> None:
    tile = ALIGNED[element]
    tile = TileShape(tile.rows, tile.cols, tile.micro_rows, tile.threads, group, wide=False)
    for shape in ((272, 304), (16, 400), (400, 16)):
        run(matrix(element, shape, tile), shape, (1, 0), element)


@pytest.mark.parametrize(("element", "halo"), [*((element, 2) for element in ELEMENT_SIZES), (4, 1)])
@pytest.mark.parametrize("skews", [(0, 0), (1, 3)])
def test_a_ragged_tile(element: int, halo: int, skews: tuple[int, int]) -> None:
    x_skew, y_skew = (element * skew for skew in skews)
    for shape in ((255, 257), (513, 130), (1, 300), (300, 1), (3, 5)):
        kernel = matrix(element, shape, RAGGED[element], x_units=element == 16, halo=halo)
        run(kernel, shape, (1, 0), element, x_skew, y_skew)


@pytest.mark.parametrize("element", ELEMENT_SIZES)
def test_ragged_rows_are_written_by_whole_sectors(element: int) -> None:
    shape = (481, 255)
    emulation = run(matrix(element, shape, RAGGED[element], element == 16, 2), shape, (1, 0), element)
    stores = [a for a in emulation.accesses if (a.space, a.kind, a.width) == ("global", "store", 16)]
    sectors, bytes_written = sum(a.sectors for a in stores), 16 * sum(a.lanes for a in stores)
    assert bytes_written <= 32 * sectors <= 1.06 * bytes_written  # half sectors at the two ends of a row alone


@pytest.mark.parametrize("element", ELEMENT_SIZES)
@pytest.mark.parametrize(("shape", "x_units", "halo"), [((48, 3, 64), True, 0), ((41, 3, 57), False, 2)])
def test_batches_of_tiles(element: int, shape: tuple[int, int, int], x_units: bool, halo: int) -> None:
    cols, batch, rows = moved_axes(shape, (2, 1, 0), element)
    tile = (RAGGED if halo else ALIGNED)[element]
    for outer, near in (([batch], []), ([], [batch])):
        kernel = module.tile(element, rows, cols, outer, tile, x_units or element == 16, halo, near)
        run(kernel, shape, (2, 1, 0), element)


@pytest.mark.parametrize("group", [None, (2, 2)])
def test_blocks_follow_near_axes_before_tiles(group: tuple[int, int] | None) -> None:
    shape, axes = (2, 64, 2, 3, 64), (0, 4, 2, 3, 1)
    outer, cols, slow, fast, rows = moved_axes(shape, axes, 4)
    tile = TileShape(32, 32, 2, 128, group, wide=False)
    kernel = module.tile(4, rows, cols, [outer], tile, near=[fast, slow])
    run(kernel, shape, axes, 4)
    x, y, memory = np.ones(shape, np.uint32), np.zeros((2, 64, 2, 3, 64), np.uint32), Memory()
    arrays = {"x": memory.bind(x, "x"), "y": memory.bind(y, "y")}
    launched(image_of(kernel), kernel.launch, arrays, memory, blocks=range(4))
    written = np.zeros_like(y)
    written[0, :32, 0, :, :32] = 1  # blocks 0 to 2
    written[0, :32, 1, 0, :32] = 1  # block 3
    assert np.array_equal(y, written)


@pytest.mark.parametrize(
    ("element", "cols", "threads"), [(1, 1, 128), (1, 8, 256), (2, 3, 192), (4, 3, 192), (8, 1, 128), (16, 3, 96)]
)
def test_a_ragged_tile_of_few_columns(element: int, cols: int, threads: int) -> None:
    """So few that one turn of a block's threads takes all of them."""
    units = 16 // element
    micro = max(4 // element, min(4, units))
    tile = TileShape(2 * threads // cols * micro, cols * units, micro, threads, wide=False)
    for shape in ((1009, cols * units), (1009, cols * units - (element < 16))):
        run(matrix(element, shape, tile, shape[1] % units == 0, 2), shape, (1, 0), element, 0, 3 * element)
