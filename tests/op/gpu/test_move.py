"""Problems as moves: elements that are aligned everywhere, and the two axes that are turned."""

import pytest

from cornerturn.op.gpu.move import Move
from cornerturn.op.problem import Axis, canonical


def matrix(element: int, rows: int, cols: int) -> Move:
    return Move.of(canonical(element, (cols, rows), (element, cols * element), (rows * element, element)), 0, 0)


@pytest.mark.parametrize(
    ("x", "y", "element", "parts"), [(0, 0, 16, 1), (16, 48, 16, 1), (8, 0, 8, 2), (0, 4, 4, 4), (1, 2, 1, 16)]
)
def test_elements_are_cut_until_every_part_is_aligned(x: int, y: int, element: int, parts: int) -> None:
    move = Move.of(canonical(16, (3, 5), (16, 48), (80, 16)), x, y)
    assert (move.element, move.x, move.y) == (element, x % 32, y % 32)
    cut = [Axis(parts, element, element)] if parts > 1 else []
    assert move.axes == (Axis(3, 16, 80), Axis(5, 48, 16), *cut)


def test_strides_cut_elements_too() -> None:
    assert Move.of(canonical(4, (3, 5), (4, 12), (22, 4)), 0, 0).element == 2


def test_a_single_element_has_an_axis() -> None:
    assert Move.of(canonical(4, (1, 1), (4, 4), (4, 4)), 0, 0).axes == (Axis(1, 4, 4),)


def test_the_turned_axes_are_those_contiguous_on_either_side() -> None:
    assert matrix(4, 5, 3).turned == (Axis(5, 12, 4), Axis(3, 4, 20), ())
    batch = Move.of(canonical(4, (7, 3, 5), (60, 4, 12), (60, 20, 4)), 0, 0)
    assert batch.turned == (Axis(5, 12, 4), Axis(3, 4, 20), (Axis(7, 60, 60),))


@pytest.mark.parametrize("strides_out", [(40, 4), (20, 8)])
def test_without_two_such_axes_nothing_is_turned(strides_out: tuple[int, int]) -> None:
    assert Move.of(canonical(4, (3, 5), (24, 4), strides_out), 0, 0).turned is None
