"""Every candidate for a move is right, taken or not, and special kernels are candidates where they should be."""

import math
import random
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cornerturn.kernels.grid import SHARED_BYTES
from cornerturn.kernels.kernel import ELEMENT_SIZES
from cornerturn.kernels.production.axes import MAX_BLOCKS
from cornerturn.kernels.production.h200 import H200
from cornerturn.op.gpu.candidates import CANDIDATES, MOST_STEPS, by_permute, by_tile
from cornerturn.op.gpu.move import Move
from cornerturn.op.gpu.plan import choose
from cornerturn.op.problem import Problem, canonical
from cornerturn.op.strided_view import c_order

from ...emulated_move import run
from ...open_profile import OPEN

Shape = tuple[int, ...]


def problem_of(shape: Shape, axes: Shape, element: int) -> Problem:
    source = c_order(shape, element).permuted(axes)
    return canonical(element, source.shape, source.strides, c_order(source.shape, element).strides)


def move_of(shape: Shape, axes: Shape, element: int, x: int = 0, y: int = 0) -> Move:
    return Move.of(problem_of(shape, axes, element), x, y)


@pytest.mark.long
@given(st.integers(0, 2**32))
@settings(max_examples=20)
def test_every_candidate_is_right(seed: int) -> None:
    rng = random.Random(seed)
    element, rank = rng.choice(ELEMENT_SIZES), rng.randint(2, 4)
    shape = tuple(rng.choice([2, 3, 5, 16, 33, 64]) for _ in range(rank))
    if math.prod(shape) > 1 << 14:
        shape = shape[:2]
    axes = tuple(rng.sample(range(len(shape)), len(shape)))
    x, y = (element * rng.randint(0, 32 // element) for _ in range(2))
    for candidate in choose(problem_of(shape, axes, element), x, y, OPEN).candidates:
        run(candidate.make(), shape, axes, element, x, y)


# Shape, axes, and the special kernels for 2-byte elements in arrays that begin on sectors.
SPECIAL: list[tuple[Shape, Shape, tuple[str, ...]]] = [
    ((256, 256), (1, 0), ("tile<2, 32, 64, 2, 64, true, 0",)),
    ((255, 257), (1, 0), ("tile<2, 32, 64, 2, 128, false, 2",)),
    ((256, 255), (1, 0), ("tile<2, 32, 64, 2, 64, false, 0",)),
    ((255, 256), (1, 0), ("tile<2, 32, 64, 2, 128, true, 2",)),
    ((3, 64, 96), (0, 2, 1), ("tile<2",)),
    ((64, 3, 128, 64), (3, 2, 1, 0), ("tile<2, 64, 64, 4, 128, true, 0, false, 2",)),
    ((1600, 3), (1, 0), ("tile<2",)),
    ((3, 1600), (1, 0), ("tile<2",)),
    ((2, 4096), (1, 0), ("tile<2",)),
    ((17, 1600), (1, 0), ("tile<2",)),
    ((1600, 31), (1, 0), ("tile<2",)),
    ((1001, 4), (1, 0), ("tile<2",)),
    ((5, 5), (1, 0), ("tile<2",)),
    ((2, 64, 16, 128), (0, 2, 1, 3), ()),  # rows stay whole
    ((16777217, 3), (1, 0), ("tile<2",)),
    ((3, 9000001), (1, 0), ("tile<2",)),
    ((64, 3, 511, 511), (0, 2, 3, 1), ("tile<2",)),
    ((8192, 8192), (1, 0), ("tile<2, 64, 64, 2, 256, true, 0, false, 0, 2, 1",)),
    ((256, 256, 256), (2, 1, 0), ("tile<2, 64, 64, 4, 128, true, 0, false, 1",)),
    ((255, 256, 320), (2, 1, 0), ("tile<2, 128, 64, 4, 256, true, 2, false, 0",)),
    ((8192, 8200), (1, 0), ("tile<2, 64, 64, 2, 256, true, 0, false, 0, 1, 1",)),
    ((4097, 4095), (1, 0), ("tile<2, 128, 64, 4, 256, false, 2, false, 0, 0, 5",)),
    ((2048, 2048), (1, 0), ("tile<2, 64, 64, 2, 256, true, 0, false, 0, 0, 1",)),
    ((160000, 200), (1, 0), ("tile<2, 128, 104, 4, 416, true, 0",)),
    ((160001, 200), (1, 0), ("tile<2, 128, 64, 4, 256, true, 2",)),
    ((2**31, 64), (1, 0), ()),  # they number an axis with 31 bits
]


@pytest.mark.parametrize(("shape", "axes", "kernels"), SPECIAL, ids=str)
def test_the_special_kernels_of_a_move(shape: Shape, axes: Shape, kernels: tuple[str, ...]) -> None:
    move = move_of(shape, axes, 2)
    found = list(by_tile(move, OPEN))
    for candidate, kernel in zip(found, kernels, strict=True):
        assert candidate.make().entry.startswith(kernel)
        assert candidate.box is candidate.counts is None
        assert "of the copy" in candidate.why


@pytest.mark.parametrize(
    ("by", "limit", "shape"),
    [
        (by_tile, {"tile_bytes": 1024}, (256, 512)),
        (by_tile, {"ragged_tile_bytes": 1024}, (257, 512)),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_a_limit_of_the_profile_is_kept(by: Any, limit: dict[str, Any], shape: Shape) -> None:
    move = move_of(shape, (1, 0), 2)
    assert len(list(by(move, OPEN))) == 1
    assert list(by(move, replace(OPEN, **limit))) == []


@pytest.mark.parametrize(("shape", "axes", "kernels"), SPECIAL, ids=str)
def test_any_move_has_boxes_that_can_be_launched(shape: Shape, axes: Shape, kernels: tuple[str, ...]) -> None:
    move = move_of(shape, axes, 2)
    candidates = list(by_permute(move, H200))
    assert candidates
    for candidate in candidates:
        box, launch = candidate.box, candidate.make().launch
        assert box is not None and candidate.counts is not None and candidate.cost is not None
        assert box.axes == tuple(reversed(move.axes))
        assert launch.grid[0] == candidate.counts.blocks <= MAX_BLOCKS
        assert launch.shared_bytes <= SHARED_BYTES
        assert launch.block[0] <= 1024
        assert box.write.steps <= MOST_STEPS
        assert candidate.name.startswith("permute ")


def test_the_general_kernel_is_one_of_all() -> None:
    assert set(CANDIDATES) == {by_tile, by_permute}


@pytest.mark.parametrize("nbytes", [H200.keep_bytes // 2, H200.keep_bytes])
def test_lines_of_x_are_kept_where_x_and_y_do_not_fit_l2(nbytes: int) -> None:
    move = move_of((nbytes // 4096, 1024), (1, 0), 4)
    assert {candidate.box.kept for candidate in by_permute(move, H200) if candidate.box} == {nbytes >= H200.keep_bytes}


def test_units_are_gathered_from_x_in_small_arrays_alone() -> None:
    small, large = move_of((64, 64), (1, 0), 4), move_of((4096, 4096), (1, 0), 4)
    eager = replace(H200, rates=replace(H200.rates, direct_wait=0.0, scattered_read=0.0))
    assert any(candidate.box.direct for candidate in by_permute(small, eager) if candidate.box)
    assert not any(candidate.box.direct for candidate in by_permute(large, eager) if candidate.box)
