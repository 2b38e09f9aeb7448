"""Random moves: the same for a seed, of the sizes asked for, and real moves."""

import math
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cornerturn.errors import UsageError
from cornerturn.measure.cases import Case
from cornerturn.measure.moves import ELEMENTS, EVERYDAY, MIN_BYTES, RANKS, random_moves
from cornerturn.op.problem import canonical
from cornerturn.op.strided_view import c_order

MIB = 1 << 20


def nbytes(case: Case, element: int) -> int:
    return math.prod(case.shape) * element


def test_a_seed_leads_to_the_same_moves_for_ever():
    """Figures name their seed: what is drawn for it must not change."""
    first = [(case.name, element) for case, element in random_moves(6, 11, 32 * MIB, 256 * MIB)]
    assert first == PINNED


def test_fewer_moves_are_the_first_of_more():
    assert random_moves(5, 3, MIB, 4 * MIB) == random_moves(50, 3, MIB, 4 * MIB)[:5]
    assert random_moves(5, 3, MIB, 4 * MIB) != random_moves(5, 4, MIB, 4 * MIB)


@given(st.integers(0, 2**32), st.integers(MIN_BYTES, 1 << 30), st.floats(2, 5000))
def test_sizes_are_within_the_bounds(seed, low, ratio):
    high = math.ceil(low * ratio)
    assert all(low <= nbytes(*move) <= high for move in random_moves(4, seed, low, high))


@given(st.integers(0, 2**32))
def test_every_move_moves(seed):
    for case, element in random_moves(4, seed, 1 << 12, 1 << 20):
        x, y = c_order(case.shape, element).permuted(case.axes), c_order(case.turned, element)
        problem = canonical(element, x.shape, x.strides, y.strides)
        assert len(problem.axes) >= 2, case.name


def test_ranks_elements_and_sizes_are_drawn_evenly():
    moves = random_moves(2000, 0, 1 << 16, 1 << 24)
    assert set(Counter(len(case.shape) for case, _ in moves)) == set(RANKS)
    assert set(Counter(element for _, element in moves)) == set(ELEMENTS)
    for counts in (Counter(len(case.shape) for case, _ in moves), Counter(element for _, element in moves)):
        assert min(counts.values()) > 2000 / 5 * 0.8
    octaves = np.histogram([math.log2(nbytes(*move)) for move in moves], 8, (16, 24))[0]
    assert min(octaves) > 2000 / 8 * 0.7


def test_extents_are_everyday_ones_multiples_of_8_and_others():
    extents = [extent for case, _ in random_moves(500, 0, MIB, 256 * MIB) for extent in case.shape]
    everyday = sum(extent in EVERYDAY for extent in extents) / len(extents)
    eights = sum(extent % 8 == 0 and extent not in EVERYDAY for extent in extents) / len(extents)
    assert everyday > 0.4
    assert eights > 0.1
    assert everyday + eights < 0.9
    assert all(below < above for below, above in pairwise(EVERYDAY))


@pytest.mark.parametrize(("low", "high"), [(MIN_BYTES - 1, MIB), (MIB, 2 * MIB - 1), (MIB, 1)])
def test_sizes_that_cannot_be_drawn_are_refused(low, high):
    with pytest.raises(UsageError, match=f"moves of {low} to {high} bytes cannot be drawn: the smallest has at least"):
        random_moves(1, 0, low, high)


PINNED = [
    ("56x12x5x32000:0,3,2,1", 1),
    ("64x120x8x257:0,3,2,1", 16),
    ("85424x80x4:2,0,1", 8),
    ("1536x3x8x64x3x14:0,5,1,3,2,4", 1),
    ("569x56x4024:0,2,1", 2),
    ("806502x2x2x4x2:2,0,1,4,3", 4),
]
