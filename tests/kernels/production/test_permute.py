"""`permute` on the emulator: every bit right, whatever the box, the strides and the alignment."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cornerturn.kernels.catalogue import find
from cornerturn.kernels.kernel import ELEMENT_SIZES, Kernel
from cornerturn.kernels.production.box import Box
from cornerturn.kernels.production.entry import axes_of
from cornerturn.kernels.production.permute import arguments, constants, permute, relaunched

from ...any_box import any_box, move, move_box
from ...emulated_move import moved_axes


@pytest.mark.long
@given(st.integers(0, 2**32))
@settings(max_examples=300)
def test_any_box_moves_its_array(seed: int) -> None:
    move_box(any_box(random.Random(seed)))


# Shape, axes, element, chunks in y's order (the fastest first), and what else is set; x and y begin on sectors.
WAYS = {
    "units of both sides": ((64, 48), (1, 0), 4, (16, 16), {}),
    "edges along both axes": ((40, 52), (1, 0), 4, (16, 16), {}),
    "three axes reversed": ((12, 5, 32), (2, 1, 0), 2, (12, 5, 8), {}),
    "runs of x of an odd length": ((30, 5, 7), (2, 0, 1), 1, (5, 30, 4), {"x": 3, "y": 0}),
    "runs of y of an odd length": ((7, 33, 3), (1, 0, 2), 2, (3, 7, 11), {"x": 0, "y": 6}),
    "x mirrored where units would do": ((64, 48), (1, 0), 4, (16, 16), {"x": 4, "mirrored": True}),
    "x mirrored with gaps": ((9, 48, 3), (1, 2, 0), 2, (9, 1, 7), {"x": 6, "mirrored": True}),
    "runs of y cut in words": ((100, 13), (1, 0), 1, (30, 13), {"y": 3}),
    "gathered from x": ((64, 48), (1, 0), 4, (16, 16), {"direct": True}),
    "elements packed in words of x": ((64, 48), (1, 0), 1, (16, 16), {}),
    "elements packed in words of x itself": ((64, 48), (1, 0), 1, (16, 16), {"direct": True}),
    "padded after a run": ((64, 48), (1, 0), 4, (16, 16), {"pad": 16, "padded": 1}),
    "skewed": ((64, 48), (1, 0), 4, (16, 16), {"skew": 4}),
    "blocks along x": ((64, 48), (1, 0), 4, (16, 16), {"along_x": True}),
    "lines of x kept": ((64, 48), (1, 0), 4, (16, 16), {"kept": True}),
    "one box": ((5, 7), (1, 0), 16, (5, 7), {}),
    "one element": ((1,), (0,), 8, (1,), {}),
    "a copy": ((1000,), (0,), 2, (256,), {"x": 6, "y": 10}),
}


@pytest.mark.parametrize("way", WAYS)
def test_each_way(way: str) -> None:
    shape, order, element, chunks, more = WAYS[way]
    move_box(Box(element, tuple(reversed(moved_axes(shape, order, element))), chunks, **more))


def test_padded_runs_with_gaps_keep_their_last_units_apart() -> None:
    axes = (6, 2048, 8), (2, 1024, 48), (64, 16, 96)
    move_box(Box(8, axes, (6, 2, 8), most_threads=64, pad=8, padded=1, skew=32, mirrored=True))


def test_a_kernel_serves_arrays_of_other_extents() -> None:
    """What is compiled in are the box and where it may end early; extents and strides are arguments."""

    def box(rows: int, cols: int, batch: int) -> Box:
        return Box(4, tuple(reversed(moved_axes((batch, rows, cols), (0, 2, 1), 4))), (16, 16, 1))

    first = permute(box(37, 52, 3))
    for extents in ((37, 52, 2), (77, 20, 5), (19, 100, 4)):
        one = box(*extents)
        assert constants(one) == constants(box(37, 52, 3))
        assert relaunched(first, one).source is first.source
        move(relaunched(first, one), 4, one.axes, 0, 0)


def test_arguments_follow_the_structure_of_the_device_code() -> None:
    box = Box(2, ((100, 6, 2), (3, 2, 200)), (32, 3))
    packed = arguments(box)
    assert packed["x_stride"].tolist() == [6, 2]
    assert packed["y_stride"].tolist() == [2, 200]
    assert (packed["x_first"], packed["x_end"]) == (0, 600)
    [blocks, *_] = packed["axis"].tolist()
    assert (blocks[0], blocks[4:]) == (4, (192, 64, 100))
    assert packed.dtype.itemsize == 8 * 6 + 40 * 2


@pytest.mark.parametrize("element", ELEMENT_SIZES)
def test_an_entry_of_the_catalogue_is_one_kernel_for_all_its_shapes(element: int) -> None:
    entry = find(f"permute_{element}")
    assert isinstance(entry, Kernel)
    side = max(64 // element, 16)
    for rows, cols in ((2 * side, 2 * side), (4 * side, 2 * side), (3 * side, 1024)):
        assert entry.refuses(rows, cols) is None
        again = permute(Box(element, axes_of(element, rows, cols), (side, side), skew=max(element, 4), kept=True))
        assert again.source == entry.source
