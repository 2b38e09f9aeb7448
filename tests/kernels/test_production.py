"""The production kernels on the emulator: right at every shape, and as few sectors and wavefronts as there can be."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cornerturn.emulator import Memory
from cornerturn.kernels import gathers, production
from cornerturn.kernels.moves import MoveAxis, cut, division
from cornerturn.kernels.production import Production, TileShape

from ..emulated_move import launched, run

ELEMENTS = (1, 2, 4, 8, 16)
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


def moved_axes(shape: tuple[int, ...], order: tuple[int, ...], element: int) -> list[MoveAxis]:
    """The axes of ``x.transpose(order)`` into a C-contiguous y."""
    strides_in = [element * math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
    result = [shape[axis] for axis in order]
    return [(shape[axis], strides_in[axis], element * math.prod(result[k + 1 :])) for k, axis in enumerate(order)]


def matrix(element: int, shape: tuple[int, int], tile: TileShape, x_units: bool = True, halo: int = 0) -> Production:
    cols, rows = moved_axes(shape, (1, 0), element)
    return production.tile(element, rows, cols, [], tile, x_units, halo)


@pytest.mark.parametrize("element", ELEMENTS)
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


@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize("group", [None, (2, 2), (3, 5)])
def test_an_aligned_tile_at_edges(element: int, group: tuple[int, int] | None) -> None:
    tile = ALIGNED[element]
    tile = TileShape(tile.rows, tile.cols, tile.micro_rows, tile.threads, group, wide=False)
    for shape in ((272, 304), (16, 400), (400, 16)):
        run(matrix(element, shape, tile), shape, (1, 0), element)


@pytest.mark.parametrize(("element", "halo"), [*((element, 2) for element in ELEMENTS), (4, 1)])
@pytest.mark.parametrize("skews", [(0, 0), (1, 3)])
def test_a_ragged_tile(element: int, halo: int, skews: tuple[int, int]) -> None:
    x_skew, y_skew = (element * skew for skew in skews)
    for shape in ((255, 257), (513, 130), (1, 300), (300, 1), (3, 5)):
        kernel = matrix(element, shape, RAGGED[element], x_units=element == 16, halo=halo)
        run(kernel, shape, (1, 0), element, x_skew, y_skew)


@pytest.mark.parametrize("element", ELEMENTS)
def test_ragged_rows_are_written_by_whole_sectors(element: int) -> None:
    shape = (481, 255)
    emulation = run(matrix(element, shape, RAGGED[element], element == 16, 2), shape, (1, 0), element)
    stores = [a for a in emulation.accesses if (a.space, a.kind, a.width) == ("global", "store", 16)]
    sectors, bytes_written = sum(a.sectors for a in stores), 16 * sum(a.lanes for a in stores)
    assert bytes_written <= 32 * sectors <= 1.06 * bytes_written  # half sectors at the two ends of a row alone


@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize(("shape", "x_units", "halo"), [((48, 3, 64), True, 0), ((41, 3, 57), False, 2)])
def test_batches_of_tiles(element: int, shape: tuple[int, int, int], x_units: bool, halo: int) -> None:
    cols, batch, rows = moved_axes(shape, (2, 1, 0), element)
    tile = (RAGGED if halo else ALIGNED)[element]
    for outer, near in (([batch], []), ([], [batch])):
        kernel = production.tile(element, rows, cols, outer, tile, x_units or element == 16, halo, near)
        run(kernel, shape, (2, 1, 0), element)


@pytest.mark.parametrize("group", [None, (2, 2)])
def test_blocks_follow_near_axes_before_tiles(group: tuple[int, int] | None) -> None:
    shape, axes = (2, 64, 2, 3, 64), (0, 4, 2, 3, 1)
    outer, cols, slow, fast, rows = moved_axes(shape, axes, 4)
    tile = TileShape(32, 32, 2, 128, group, wide=False)
    kernel = production.tile(4, rows, cols, [outer], tile, near=[fast, slow])
    run(kernel, shape, axes, 4)
    x, y, memory = np.ones(shape, np.uint32), np.zeros((2, 64, 2, 3, 64), np.uint32), Memory()
    arrays = {"x": memory.bind(x, "x"), "y": memory.bind(y, "y")}
    launched(kernel, memory, arrays, blocks=range(4))
    written = np.zeros_like(y)
    written[0, :32, 0, :, :32] = 1  # blocks 0 to 2
    written[0, :32, 1, 0, :32] = 1  # block 3
    assert np.array_equal(y, written)


@pytest.mark.parametrize(
    ("element", "short"), [(1, 2), (1, 3), (1, 16), (2, 3), (2, 4), (4, 3), (4, 7), (4, 16), (8, 2), (8, 3), (16, 5)]
)
def test_weave(element: int, short: int) -> None:
    long = 16 // element * 75
    batch, record, run_ = moved_axes((3, short, long), (0, 2, 1), element)
    run(production.weave(element, run_, record, [batch]), (3, short, long), (0, 2, 1), element)
    batch, run_, record = moved_axes((3, long, short), (0, 2, 1), element)
    run(production.weave(element, run_, record, [batch]), (3, long, short), (0, 2, 1), element)


@pytest.mark.parametrize("short", [3, 5])
def test_weave_wastes_nothing(short: int) -> None:
    """An odd pitch in shared memory; 16-byte accesses of whole sectors on both global ends."""
    record, run_ = moved_axes((short, 8192), (1, 0), 1)
    emulation = run(production.weave(1, run_, record, []), (short, 8192), (1, 0), 1)
    for access in emulation.accesses:
        if "param" in access.instruction:
            continue  # how NVRTC reads a structure that is passed by value; constant memory in machine code
        if access.space == "global":
            assert access.width == 16
            assert access.sectors == access.sectors_ideal
        elif access.space == "shared":
            assert access.wavefronts == access.wavefronts_ideal


@pytest.mark.parametrize(("element", "short"), [(1, 3), (2, 9), (4, 2), (8, 3)])
@pytest.mark.parametrize("interleave", [True, False])
def test_ragged_weave(element: int, short: int, interleave: bool) -> None:
    """Rows and runs on units and off them, in a batch and alone, of fewer records than a block and of a few blocks."""
    for batches, long, x_units, halo, skews in (
        (1, 16 // element * 64 * 3 - 1, not interleave, 0 if interleave else 2, (0, 0)),
        (1, 16 // element * 128, False, 2, (1, 3)),
        (3, 333, False, 2, (0, 0)),
        (2, 1, False, 2, (0, 5)),
    ):
        shape = (batches, short, long) if interleave else (batches, long, short)
        batch, *inner = moved_axes(shape, (0, 2, 1), element)
        record, run_ = reversed(inner) if interleave else inner
        kernel = production.ragged_weave(element, record, run_, [batch], x_units, halo, threads=64)
        run(kernel, shape, (0, 2, 1), element, skews[0] * element, skews[1] * element)


@pytest.mark.parametrize("interleave", [True, False])
def test_ragged_weave_writes_whole_sectors(interleave: bool) -> None:
    shape = (3, 30001) if interleave else (30001, 3)
    axes = moved_axes(shape, (1, 0), 1)
    record, run_ = reversed(axes) if interleave else axes
    emulation = run(production.ragged_weave(1, record, run_, [], not interleave, 2), shape, (1, 0), 1, 0, 5)
    needed = math.prod(shape) / 32
    for access in emulation.accesses:
        if (access.space, access.kind, access.width) == ("global", "store", 16):
            assert access.sectors <= access.sectors_ideal + 6  # the two ends of a line are no whole sectors
        elif (access.space, access.width) == ("shared", 16):
            assert access.wavefronts == access.wavefronts_ideal or access.kind == "load"  # a window meets two units
    assert sum(a.sectors for a in emulation.accesses if (a.space, a.kind) == ("global", "store")) < 1.02 * needed


@pytest.mark.parametrize("shifted", [False, True])
@pytest.mark.parametrize("element", [1, 2, 4, 8])
def test_ragged_rows(element: int, shifted: bool) -> None:
    units = 16 // element
    for shape, order, skews in (
        ((7, 11, units), (1, 0, 2), (1, 2)),
        ((7, 11, units + 1), (1, 0, 2), (0, 0)),
        ((5, 3, 4, 37), (2, 0, 1, 3), (0, 3)),
        ((3, 4, 5, 2 * units + 3), (0, 2, 1, 3), (5, 0)),
        ((1, 4999), (0, 1), (3, 0)),
        ((1, units), (0, 1), (0, 1)),
    ):
        kernel = production.ragged_rows(element, moved_axes(shape, order, element), shifted, 64)
        run(kernel, shape, order, element, skews[0] * element, skews[1] * element)


@pytest.mark.parametrize("shifted", [False, True])
def test_ragged_rows_between_gaps(shifted: bool) -> None:
    """Rows of y that do not follow one on another are lines of their own; nothing between them is written."""
    x = np.random.default_rng(0).integers(0, 256, (9, 37), dtype=np.uint8)
    y = np.zeros((9, 50), np.uint8)
    memory = Memory()
    arrays = {"x": memory.bind(x, "x"), "y": memory.bind(y, "y")}
    kernel = production.ragged_rows(1, [(9, 37, 50), (37, 1, 1)], shifted)
    assert not launched(kernel, memory, arrays).hazards
    assert np.array_equal(y[:, :37], x)
    assert not y[:, 37:].any()


@pytest.mark.parametrize("shifted", [False, True])
def test_ragged_rows_store_whole_sectors(shifted: bool) -> None:
    shape = (100, 100, 63)
    emulation = run(production.ragged_rows(1, moved_axes(shape, (1, 0, 2), 1), shifted), shape, (1, 0, 2), 1)
    stores = [a for a in emulation.accesses if (a.space, a.kind) == ("global", "store")]
    assert sum(a.sectors for a in stores) < 1.01 * math.prod(shape) / 32


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
        kernel = production.tile_run(element, run_, cols, [batch], tile, x_units)
        emulation = run(kernel, shape, (0, 2, 1), element, x_skew * element, y_skew * element)
        stores = [a for a in emulation.accesses if (a.space, a.kind) == ("global", "store")]
        blocks = kernel.launch.grid[0]
        assert sum(a.sectors for a in stores if a.width == 16) <= math.prod(shape) * element / 32 + 4 * blocks


@pytest.mark.parametrize(("element", "items"), [(1, 2), (2, 1), (4, 4), (8, 2), (16, 1), (16, 4)])
def test_rows(element: int, items: int) -> None:
    for shape, order in (((16, 33, 4, 8), (0, 2, 1, 3)), ((1001,), (0,)), ((5, 7, 3), (1, 0, 2))):
        run(production.rows(element, moved_axes(shape, order, element), 64, items), shape, order, element, element)


@pytest.mark.parametrize("element", ELEMENTS)
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
        kernel = gathers.shuffle(element, inner, batch, [outer])
        emulation = run(kernel, shape, order, element, x_skew * element, y_skew * element)
        stores = [a for a in emulation.accesses if (a.space, a.kind) == ("global", "store")]
        written = math.prod(shape) * element
        assert sum(a.sectors for a in stores if a.width == 16) <= written / 32 + 4 * kernel.launch.grid[0]


@pytest.mark.parametrize(("element", "record"), [(1, 3), (1, 13), (2, 5), (4, 3)])
def test_records(element: int, record: int) -> None:
    for shape, x_skew, y_skew in (
        ((1, 257, 83, record), 0, 0),
        ((2, 30, 300, record), 1, 3),
        ((1, 400, 5, record), 0, 5),
    ):
        batch, cols, rows, _ = moved_axes(shape, (0, 2, 1, 3), element)
        kernel = gathers.records(element, record, rows, cols, [batch])
        emulation = run(kernel, shape, (0, 2, 1, 3), element, x_skew * element, y_skew * element)
        stores = [a for a in emulation.accesses if (a.space, a.kind, a.width) == ("global", "store", 16)]
        lines = shape[0] * shape[2]
        assert sum(a.sectors for a in stores) <= math.prod(shape) * element / 32 + 4 * lines


BOXES: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
    ((3,) * 8, tuple(range(7, -1, -1))),
    ((2,) * 12, tuple(range(11, -1, -1))),
    ((999, 2, 2), (0, 2, 1)),
    ((97,), (0,)),
    ((41, 53), (1, 0)),
    ((7, 1001, 3), (2, 0, 1)),
    ((17, 5, 63), (1, 0, 2)),
    ((3, 4, 5, 6, 7), (4, 0, 3, 2, 1)),
    ((1, 1), (1, 0)),
]


@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize(("shape", "order"), BOXES)
def test_box(element: int, shape: tuple[int, ...], order: tuple[int, ...]) -> None:
    run(gathers.box(element, moved_axes(shape, order, element)), shape, order, element, element % 16, 3 * element)


@given(st.data())
@settings(max_examples=40)
def test_box_takes_any_permutation(data: st.DataObject) -> None:
    shape = tuple(data.draw(st.lists(st.integers(1, 9), min_size=1, max_size=5)))
    order = tuple(data.draw(st.permutations(range(len(shape)))))
    run(gathers.box(2, moved_axes(shape, order, 2)), shape, order, 2)


@given(st.integers(1, 2**31 - 1), st.integers(1, 2**31 - 1))
def test_an_axis_is_cut_where_it_divides(extent: int, most: int) -> None:
    (part, *steps), (parts, *strides) = cut((extent, 3, -5), most)
    assert part * parts == extent
    assert part <= most
    assert (steps, strides) == ([3, -5], [3 * part, -5 * part])


@given(st.integers(1, 2**31 - 1), st.integers(0, 2**31 - 1))
def test_division_is_exact(divisor: int, n: int) -> None:
    magic, shift = division(divisor)
    assert 0 < magic < 2**32
    for number in (n, n // divisor * divisor, max(n // divisor * divisor - 1, 0)):
        assert ((magic * number >> 32) + number) >> shift == number // divisor
