"""`box` on the emulator."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cornerturn.kernels.kernel import ELEMENT_SIZES
from cornerturn.kernels.production.box import box

from ...emulated_move import moved_axes, run

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


@pytest.mark.parametrize("element", ELEMENT_SIZES)
@pytest.mark.parametrize(("shape", "order"), BOXES)
def test_box(element: int, shape: tuple[int, ...], order: tuple[int, ...]) -> None:
    run(box(element, moved_axes(shape, order, element)), shape, order, element, element % 16, 3 * element)


@given(st.data())
@settings(max_examples=40)
def test_box_takes_any_permutation(data: st.DataObject) -> None:
    shape = tuple(data.draw(st.lists(st.integers(1, 9), min_size=1, max_size=5)))
    order = tuple(data.draw(st.permutations(range(len(shape)))))
    run(box(2, moved_axes(shape, order, 2)), shape, order, 2)
