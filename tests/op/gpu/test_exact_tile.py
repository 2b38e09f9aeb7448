"""Exact counts of a launch of ``tile`` are those of the emulator."""

from dataclasses import asdict, replace

import pytest

from cornerturn.kernels.kernel import ELEMENT_SIZES
from cornerturn.op.gpu.candidates import Candidate, by_tile
from cornerturn.op.gpu.move import Move
from cornerturn.op.problem import Problem, canonical

from ...any_box import move
from ...emulated_move import moved_axes
from ...open_profile import OPEN
from .emulated_traffic import emulated

Shape = tuple[int, ...]

SHAPES: list[tuple[Shape, Shape]] = [
    ((256, 256), (1, 0)),
    ((255, 257), (1, 0)),
    ((256, 255), (1, 0)),
    ((255, 256), (1, 0)),
    ((131, 40), (1, 0)),
    ((3, 64, 96), (0, 2, 1)),
    ((2, 100, 75), (0, 2, 1)),
    ((40, 4, 72), (2, 1, 0)),
    ((40, 2, 5, 36), (3, 2, 1, 0)),
]


def tile_of(problem: Problem, x: int, y: int) -> tuple[Move, Candidate]:
    one = Move.of(problem, x, y)
    [tile] = by_tile(one, OPEN)
    return one, tile


def assert_counts_as_emulated(problem: Problem, x: int, y: int) -> None:
    one, tile = tile_of(problem, x, y)
    counted = emulated(move(tile.make(), one.element, tuple(reversed(one.axes)), x, y))
    assert asdict(tile.exact()) == counted


@pytest.mark.parametrize("element", ELEMENT_SIZES)
@pytest.mark.parametrize(("shape", "axes"), SHAPES, ids=str)
def test_tiles_count_as_on_the_emulator(shape: Shape, axes: Shape, element: int) -> None:
    problem = canonical(element, *zip(*moved_axes(shape, axes, element), strict=True))
    for x, y in ((0, 0), (element % 32, 16), (16, element % 32)):
        assert_counts_as_emulated(problem, x, y)


@pytest.mark.parametrize("element", [1, 2, 4])
def test_rows_of_x_backwards_and_apart_count_as_on_the_emulator(element: int) -> None:
    for step in (-1, 1):
        pitch = 203 * element
        x_strides, y_strides = (element, step * pitch), (140 * element, element)
        assert_counts_as_emulated(canonical(element, (200, 140), x_strides, y_strides), 0, 0)


@pytest.mark.parametrize("element", [1, 4])
def test_a_large_batch_counts_in_proportion(element: int) -> None:
    """Tiles are counted by classes, so that their number costs nothing; the first and the last matrix differ."""

    def counts(batch: int) -> dict[str, tuple[int, ...]]:
        problem = canonical(element, *zip(*moved_axes((batch, 160, 256), (0, 2, 1), element), strict=True))
        return asdict(tile_of(problem, 0, 0)[1].exact())

    one, two, many = counts(1), counts(2), counts(2**20)
    for place, traffic in many.items():
        per_matrix = [second - first for first, second in zip(one[place], two[place], strict=True)]
        assert traffic == tuple(f + (2**20 - 1) * more for f, more in zip(one[place], per_matrix, strict=True))


def test_groups_count_what_fills_the_last_one() -> None:
    problem = canonical(16, *zip(*moved_axes((8192, 16384), (1, 0), 16), strict=True))
    grouped = tile_of(problem, 0, 0)[1].exact()
    [alone] = by_tile(Move.of(problem, 0, 0), replace(OPEN, groups={}))
    assert grouped.global_load == alone.exact().global_load
    assert grouped.shared_store.requests >= alone.exact().shared_store.requests
