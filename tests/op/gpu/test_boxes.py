"""The boxes that are looked at: within the array and within reason, with runs of several lengths on both sides."""

import math
import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cornerturn.kernels.kernel import ELEMENT_SIZES
from cornerturn.kernels.production.axes import MoveAxis
from cornerturn.kernels.production.box import Box
from cornerturn.op.gpu.boxes import LARGEST, SMALLEST, chunks_of, padded
from cornerturn.op.gpu.counts import wavefronts_per_request

from ...any_box import any_axes, any_box
from ...emulated_move import moved_axes


def dense(shape: tuple[int, ...], order: tuple[int, ...], element: int) -> tuple[MoveAxis, ...]:
    return tuple(reversed(moved_axes(shape, order, element)))


@given(st.integers(0, 2**32), st.integers(6, 28))
@settings(max_examples=150)
def test_chunks_are_parts_of_their_axes_and_fit_a_block(seed: int, magnitude: int) -> None:
    rng = random.Random(seed)
    element = rng.choice(ELEMENT_SIZES)
    axes = any_axes(rng, element, 1 << magnitude)
    found = chunks_of(element, axes)
    nbytes = math.prod(extent for extent, _, _ in axes) * element
    assert found
    assert len(set(found)) == len(found)
    for chunks in found:
        assert all(1 <= chunk <= extent for chunk, (extent, _, _) in zip(chunks, axes, strict=True))
        assert math.prod(chunks) * element <= LARGEST or found == (tuple(extent for extent, _, _ in axes),)
    # A box that does not pay for its block is for arrays alone that have no larger one.
    assert max(math.prod(chunks) for chunks in found) * element >= min(nbytes, SMALLEST) / 4


@pytest.mark.parametrize("element", ELEMENT_SIZES)
@pytest.mark.parametrize(
    ("shape", "order"),
    [
        ((4096, 4096), (1, 0)),
        ((4095, 4097), (1, 0)),
        ((64, 3, 16, 14, 16, 14), (0, 2, 4, 3, 5, 1)),
        ((2,) * 22, tuple(range(21, -1, -1))),
        ((3,) * 13, tuple(range(12, -1, -1))),
    ],
    ids=str,
)
def test_runs_of_both_sides_are_long_in_some_box(shape: tuple[int, ...], order: tuple[int, ...], element: int) -> None:
    axes = dense(shape, order, element)
    boxes = [Box(element, axes, chunks) for chunks in chunks_of(element, axes)]
    assert any(min(box.x_length, box.y_length) * element >= 64 for box in boxes)
    assert len({(box.x_length, box.y_length) for box in boxes}) >= 3


def test_a_short_axis_stays_whole() -> None:
    """Images of 3 channels: no box takes 2 of them and another one the third."""
    axes = dense((224, 224, 3), (2, 0, 1), 1)
    channels = next(a for a, axis in enumerate(axes) if axis[0] == 3)
    assert {chunks[channels] for chunks in chunks_of(1, axes)} <= {1, 3}
    assert any(chunks[channels] == 3 for chunks in chunks_of(1, axes))


def test_a_box_grows_to_pay_for_its_block() -> None:
    """Runs of a sector on both sides make 1 KiB of words; there are larger boxes with runs as short."""
    axes = dense((4096, 4096), (1, 0), 4)
    volumes = {math.prod(chunks) * 4 for chunks in chunks_of(4, axes)}
    assert {1 << power for power in range(10, 15)} <= volumes


@given(st.integers(0, 2**32))
@settings(max_examples=100)
def test_padding_costs_no_more_wavefronts_and_moves_the_same(seed: int) -> None:
    plain = replace(any_box(random.Random(seed)), pad=0, padded=None, skew=0)
    best = padded(plain)
    assert replace(best, pad=0, padded=None, skew=0) == plain
    assert padded(best) == best or best.direct

    def wavefronts(box: Box) -> float:
        stores, loads = wavefronts_per_request(box)
        return stores / box.shared_unit + loads / (box.element * box.pack)

    assert wavefronts(best) <= wavefronts(plain)
    if plain.direct:
        assert best == plain


def test_a_square_of_words_is_padded_until_no_bank_is_asked_twice() -> None:
    plain = Box(4, ((1024, 4096, 4), (1024, 4, 4096)), (32, 32))
    stores, loads = wavefronts_per_request(plain)
    assert (stores, loads) == (4.0, 8.0)
    best = padded(plain)
    assert wavefronts_per_request(best) == (4.0, 1.0)
    assert best.shared_unit == 16
