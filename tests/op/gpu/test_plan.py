"""The GPU planner on the emulator: the kernel it chooses for each kind of problem, and that every choice is right."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cornerturn.errors import UsageError
from cornerturn.kernels.kernel import ELEMENT_SIZES
from cornerturn.kernels.production.h200 import H200
from cornerturn.op.gpu.plan import plan
from cornerturn.op.problem import Problem, canonical

from ...emulated_move import run

Shape = tuple[int, ...]

# Shape, axes, and the kernel for 2-byte elements in arrays that begin on sectors.
CASES: list[tuple[Shape, Shape, str]] = [
    ((256, 256), (1, 0), "tile<2, 32, 64, 2, 64, true, 0"),
    ((255, 257), (1, 0), "tile<2, 32, 64, 2, 128, false, 2"),
    ((256, 255), (1, 0), "tile<2, 32, 64, 2, 64, false, 0"),
    ((255, 256), (1, 0), "tile<2, 32, 64, 2, 128, true, 2"),
    ((1600, 3), (1, 0), "weave<2, 3, 128, false"),
    ((3, 1600), (1, 0), "weave<2, 3, 128, true"),
    ((3, 64, 96), (0, 2, 1), "tile<2"),
    ((2, 3, 16, 32), (0, 2, 3, 1), "weave<2, 3, 64, true"),
    ((2, 16, 32, 3), (0, 3, 1, 2), "weave<2, 3, 64, false"),
    ((2, 64, 16, 128), (0, 2, 1, 3), "rows<16"),
    ((48, 32, 80), (2, 1, 0), "tile<2"),
    ((52, 52, 64), (1, 0, 2), "rows<16"),
    ((1001, 4), (1, 0), "ragged_weave<2, 4, 128, false, true, 2"),
    ((3, 1001), (1, 0), "ragged_weave<2, 3, 128, true, false, 0"),
    ((2, 601, 3), (0, 2, 1), "ragged_weave<2, 3, 128, false, false, 2"),
    ((2, 4096), (1, 0), "weave<2, 2, 128, true"),
    ((5, 5), (1, 0), "rows<2, 256, 4"),
    ((99, 2, 2), (0, 2, 1), "shuffle<2"),
    ((131, 3, 5, 2), (0, 3, 1, 2), "shuffle<2"),
    ((30, 64, 24), (0, 2, 1), "tile<2"),
    ((40, 24, 130), (0, 2, 1), "tile<2"),
    ((3,) * 8, tuple(range(7, -1, -1)), "box<2"),
    ((2, 49, 256), (0, 2, 1), "tile_run<2, 56, 128, 4, 224, true"),
    ((1, 4003), (1, 0), "ragged_rows<2"),
    ((63, 40, 7), (1, 0, 2), "records<2"),
    ((2, 97, 130, 3), (0, 2, 1, 3), "records<2"),
    ((31, 40, 63), (1, 0, 2), "ragged_rows<2"),
    ((1, 1), (1, 0), "rows<2"),
    ((17, 1600), (1, 0), "weave<2, 17, 128, true"),
    ((1600, 31), (1, 0), "weave<2, 31, 64, false"),
    ((17, 1601), (1, 0), "ragged_weave<2, 17, 128, true"),
    ((8, 1601), (1, 0), "tile<2, 8, 512, 4, 128, false, 0"),
    ((64, 3, 128, 64), (3, 2, 1, 0), "tile<2, 64, 64, 4, 128, true, 0, false, 2"),
]

# Large ones, of which only the choice is tested.
LARGE: list[tuple[Shape, Shape, str]] = [
    ((8192, 8192), (1, 0), "tile<2, 64, 64, 2, 256, true, 0, false, 0, 2, 1"),
    ((16777217, 3), (1, 0), "ragged_weave<2, 3, 128, false, true, 2"),
    ((3072, 1023, 24), (0, 2, 1), "tile<2, 512, 24, 4, 192, true, 2"),
    ((1000, 1000, 63), (1, 0, 2), "ragged_rows<2"),
    ((256, 49, 2048), (0, 2, 1), "tile_run<2, 56, 128"),
    ((9999999, 4, 4), (0, 2, 1), "shuffle<2"),
    ((64, 3, 511, 511), (0, 2, 3, 1), "ragged_weave<2, 3, 128, true, false, 2"),
    ((256, 256, 256), (2, 1, 0), "tile<2, 64, 64, 4, 128, true, 0, false, 1"),
    ((255, 256, 320), (2, 1, 0), "tile<2, 128, 64, 4, 256, true, 2, false, 0"),
    ((8192, 8200), (1, 0), "tile<2, 64, 64, 2, 256, true, 0, false, 0, 1, 1"),
    ((4097, 4095), (1, 0), "tile<2, 128, 64, 4, 256, false, 2, false, 0, 0, 5"),
    ((2048, 2048), (1, 0), "tile<2, 64, 64, 2, 256, true, 0, false, 0, 0, 1"),
    ((160000, 200), (1, 0), "tile<2, 128, 104, 4, 416, true, 0"),
    ((160001, 200), (1, 0), "tile<2, 128, 64, 4, 256, true, 2"),
    ((160001, 100), (1, 0), "tile<2, 128, 104, 4, 416, false, 2"),
]


def transposition(shape: Shape, axes: Shape, element: int) -> Problem:
    x = np.empty(0, f"V{element}")
    strides = [element * math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
    result = tuple(shape[axis] for axis in axes)
    strides_out = tuple(element * math.prod(result[axis + 1 :]) for axis in range(len(shape)))
    return canonical(x.itemsize, result, tuple(strides[axis] for axis in axes), strides_out)


@pytest.mark.parametrize(("shape", "axes", "kernel"), CASES + LARGE)
def test_the_kernel_of_a_problem(shape: Shape, axes: Shape, kernel: str) -> None:
    assert plan(transposition(shape, axes, 2), 0, 0).entry.startswith(kernel)


@pytest.mark.parametrize("element", ELEMENT_SIZES)
@pytest.mark.parametrize(("shape", "axes", "kernel"), CASES)
def test_every_plan_is_right(shape: Shape, axes: Shape, kernel: str, element: int) -> None:
    x, y = (0, 0) if element in (2, 16) else (element, 3 * element)
    run(plan(transposition(shape, axes, element), x, y), shape, axes, element, x, y)


@given(st.data())
@settings(max_examples=60)
def test_any_permutation(data: st.DataObject) -> None:
    element = data.draw(st.sampled_from(ELEMENT_SIZES))
    shape = tuple(data.draw(st.lists(st.sampled_from([1, 2, 3, 5, 8, 16, 33]), min_size=1, max_size=4)))
    axes = tuple(data.draw(st.permutations(range(len(shape)))))
    x, y = (element * data.draw(st.integers(0, 32 // element)) for _ in range(2))
    run(plan(transposition(shape, axes, element), x, y), shape, axes, element, x, y)


@given(st.data())
@settings(max_examples=40)
def test_lines_that_begin_anywhere(data: st.DataObject) -> None:
    """One short axis or whole rows; longer extents than above."""
    element = data.draw(st.sampled_from([1, 4]))
    batch, short, long = (
        data.draw(st.integers(1, 3)),
        data.draw(st.sampled_from([2, 3, 7, 18])),
        data.draw(st.integers(100, 400)),
    )
    shapes = [((batch, short, long), (0, 2, 1)), ((batch, long, short), (0, 2, 1)), ((short, batch, long), (1, 0, 2))]
    shape, axes = data.draw(st.sampled_from(shapes))
    x, y = (element * data.draw(st.integers(0, 32 // element)) for _ in range(2))
    run(plan(transposition(shape, axes, element), x, y), shape, axes, element, x, y)


def test_an_address_that_no_element_fits_is_served_by_smaller_ones() -> None:
    problem = transposition((40, 24), (1, 0), 16)
    kernel = plan(problem, 8, 0)
    assert kernel.entry.startswith("ragged_rows<8")
    run(kernel, (40, 24), (1, 0), 16, 8, 0)


def test_more_than_2_to_the_31_elements() -> None:
    """Not run: the launch alone must be one that a device takes."""
    for shape in ((2, 1 << 30), (1 << 16, (1 << 16) + 8), (3, 1 << 10, 1 << 21), ((1 << 31) - 4097, 1)):
        axes = tuple(range(len(shape)))[::-1]
        grid = plan(transposition(shape, axes, 2), 0, 0).launch.grid
        assert 1 <= grid[0] < 2**31
        assert grid[1:] == (1, 1)


@pytest.mark.parametrize(
    ("element", "shape", "kernel"),
    [
        (2, (2, 120_000_000, 9), "ragged_rows<2"),
        (4, (2, 300_000_000, 5), "ragged_rows<4"),
        (8, (3, 366_000_000, 3), "ragged_rows<8"),
    ],
)
def test_an_axis_that_no_slab_holds_is_cut(element: int, shape: Shape, kernel: str) -> None:
    chosen = plan(transposition(shape, (1, 0, 2), element), 0, 0)
    assert chosen.entry.startswith(kernel)
    assert chosen.launch.grid[0] * 2048 < 1.1 * math.prod(shape) * element


def test_rows_of_y_between_gaps_share_blocks() -> None:
    chosen = plan(canonical(4, (10**8, 4), (16, 4), (20, 4)), 0, 0)
    assert chosen.launch.grid[0] * 2048 < 1.1 * 16e8


def test_no_window_ends_beyond_31_bits() -> None:
    chosen = plan(canonical(1, (2**31 - 4112,), (1,), (1,)), 1, 0)
    assert chosen.entry.startswith("ragged_rows<1")
    elements = int(chosen.launch.arguments[2])
    assert elements + 2 * 128 * 16 <= 2**31


def test_more_blocks_than_a_launch_has_are_refused() -> None:
    with pytest.raises(UsageError, match="it takes 4398046511104 blocks, and a launch has at most 2147483647"):
        plan(transposition((1 << 30, 1 << 21), (1, 0), 16), 0, 0)


def test_an_axis_beyond_31_bits_is_refused() -> None:
    with pytest.raises(UsageError, match="an axis of 2147483659 elements is longer than"):
        plan(transposition(((1 << 31) + 11, 1), (1, 0), 1), 0, 0)


def test_no_weave_needs_more_shared_memory_than_any_kernel_gets() -> None:
    profile = replace(H200, weave_threads=dict.fromkeys(ELEMENT_SIZES, 256))
    for short in range(2, 17):
        for long in (4096, 4097):
            chosen = plan(transposition((short, long), (1, 0), 4), 0, 0, profile)
            threads = chosen.launch.block[0]
            if "weave" in chosen.entry:
                assert 16 * (threads * (short | 1) + 1) <= 48 * 1024
            assert threads >= 128
