"""Every candidate for a move is right, whether or not the planner takes it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cornerturn.kernels.kernel import ELEMENT_SIZES
from cornerturn.kernels.production.h200 import H200
from cornerturn.op.gpu.candidates import by_box, by_rows
from cornerturn.op.gpu.move import Move
from cornerturn.op.gpu.plan import CANDIDATES
from cornerturn.op.problem import canonical
from cornerturn.op.strided_view import c_order

from ...emulated_move import run


def move_of(shape: tuple[int, ...], axes: tuple[int, ...], element: int, x: int = 0, y: int = 0) -> Move:
    source = c_order(shape, element).permuted(axes)
    problem = canonical(element, source.shape, source.strides, c_order(source.shape, element).strides)
    return Move.of(problem, x, y)


@given(st.data())
@settings(max_examples=40)
def test_every_candidate_is_right(data: st.DataObject) -> None:
    element = data.draw(st.sampled_from(ELEMENT_SIZES))
    shape = tuple(data.draw(st.lists(st.sampled_from([2, 3, 5, 16, 33, 64]), min_size=2, max_size=4)))
    if np.prod(shape) > 1 << 16:
        shape = shape[:2]
    axes = tuple(data.draw(st.permutations(range(len(shape)))))
    x, y = (element * data.draw(st.integers(0, 32 // element)) for _ in range(2))
    move = move_of(shape, axes, element, x, y)
    found = [production for candidate in CANDIDATES if (production := candidate(move, H200)) is not None]
    assert found
    for production in found:
        run(production, shape, axes, element, x, y)


@pytest.mark.parametrize("candidate", CANDIDATES, ids=lambda candidate: candidate.__name__)
def test_each_is_for_some_moves_and_all_but_the_last_not_for_others(candidate) -> None:
    moves = [
        move_of((4096, 3), (1, 0), 4),  # records of whole units
        move_of((4097, 3), (1, 0), 4),  # that begin anywhere
        move_of((999, 2, 2), (0, 2, 1), 4),
        move_of((2, 49, 256), (0, 2, 1), 2),
        move_of((256, 256), (1, 0), 4),
        move_of((31, 40, 63), (1, 0, 2), 2),
        move_of((63, 40, 7), (1, 0, 2), 2),
        move_of((2, 64, 16, 128), (0, 2, 1, 3), 16),
        move_of((3,) * 8, tuple(range(7, -1, -1)), 2),
    ]
    names = {production.entry.split("<")[0] for move in moves if (production := candidate(move, H200)) is not None}
    assert names == {candidate.__name__.removeprefix("by_")}
    assert (None in [candidate(move, H200) for move in moves]) == (candidate is not by_box)


def test_rows_takes_single_elements_only_where_they_lie_close_together() -> None:
    assert by_rows(move_of((5, 5), (1, 0), 4), H200) is not None
    assert by_rows(move_of((4096, 4096), (1, 0), 4), H200) is None
