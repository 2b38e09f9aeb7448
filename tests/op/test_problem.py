import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cornerturn.op.problem import Problem, canonical
from cornerturn.op.strided_view import c_order

CASES = {
    # name: item size, input shape, permutation, then the canonical item size, shape and strides in and out
    "copy": (4, (5, 6, 7), (0, 1, 2), 8, (105,), (8,), (8,)),
    "prime copy": (1, (1, 1000003), (1, 0), 1, (1000003,), (1,), (1,)),
    "matrix": (4, (512, 256), (1, 0), 4, (256, 512), (4, 1024), (2048, 4)),
    "batch of matrices": (2, (4, 16, 32), (0, 2, 1), 2, (4, 32, 16), (1024, 2, 64), (1024, 32, 2)),
    "attention heads": (
        *(2, (8, 2048, 32, 128), (0, 2, 1, 3), 16),
        *((8, 32, 2048, 16), (16777216, 256, 8192, 16), (16777216, 524288, 256, 16)),
    ),
    "de-interleave": (4, (1000, 3), (1, 0), 4, (3, 1000), (4, 12), (4000, 4)),
    "channels last": (1, (6, 3, 50, 70), (0, 2, 3, 1), 1, (6, 3500, 3), (10500, 1, 3500), (10500, 3, 1)),
    "unit axes": (4, (1, 512, 1, 256, 1), (4, 3, 2, 1, 0), 4, (256, 512), (4, 1024), (2048, 4)),
    "rows of 4 bytes": (1, (30, 40, 4), (1, 0, 2), 4, (40, 30), (4, 160), (120, 4)),
    "rows of 12 bytes": (1, (30, 40, 12), (1, 0, 2), 4, (40, 30, 3), (12, 480, 4), (360, 12, 4)),
    "items of 3 bytes": (3, (30, 40), (1, 0), 1, (40, 30, 3), (3, 120, 1), (90, 3, 1)),
    "items of 24 bytes": (24, (30, 40), (1, 0), 8, (40, 30, 3), (24, 960, 8), (720, 24, 8)),
    "scalar": (8, (), (), 8, (), (), ()),
}


@pytest.mark.parametrize("name", CASES)
def test_canonical_form(name: str) -> None:
    item, shape, axes, new_item, new_shape, strides_in, strides_out = CASES[name]
    turned = tuple(shape[axis] for axis in axes)
    x, y = c_order(shape, item).permuted(axes), c_order(turned, item)
    problem = canonical(item, turned, x.strides, y.strides)
    assert problem == Problem(new_item, new_shape, strides_in, strides_out)


def test_fifteen_axes_reversed_stay_fifteen() -> None:
    shape = (3,) * 15
    strides = c_order(shape, 4).strides
    problem = canonical(4, shape, strides[::-1], strides)
    assert problem.shape == shape
    assert problem.strides_in == strides[::-1]


def test_output_from_its_end_is_written_from_its_start() -> None:
    problem = canonical(4, (5, 7), (28, 4), (-28, 4))
    assert problem == Problem(4, (5, 7), (-28, 4), (28, 4), offset_in=112, offset_out=-112)


def test_two_reversals_are_a_copy() -> None:
    problem = canonical(4, (5,), (-4,), (-4,))
    assert problem == Problem(4, (5,), (4,), (4,), offset_in=-16, offset_out=-16)


def test_repeated_elements_keep_their_stride_of_zero() -> None:
    problem = canonical(4, (3, 6, 5), (0, 0, 4), (120, 20, 4))
    assert (problem.shape, problem.strides_in) == ((18, 5), (0, 4))


Axes = st.lists(
    st.tuples(st.integers(1, 4), st.sampled_from([-24, -8, -4, 0, 1, 2, 4, 8, 12, 32])), min_size=0, max_size=4
)


@given(Axes, st.sampled_from([1, 2, 3, 4, 6, 8, 16]), st.randoms(use_true_random=False))
def test_every_byte_keeps_its_place(axes, item, random) -> None:
    """The canonical problem moves the same bytes between the same offsets, whatever the output's axis order."""
    order = random.sample(range(len(axes)), len(axes))
    shape = tuple(extent for extent, _ in axes)
    strides_in = tuple(stride for _, stride in axes)
    strides_out = [0] * len(axes)
    step = item
    for axis in order:
        strides_out[axis] = step * random.choice([1, -1])
        step *= shape[axis] + random.choice([0, 0, 1])
    problem = canonical(item, shape, strides_in, tuple(strides_out))
    assert moved_bytes(problem.itemsize, problem) == moved_bytes(
        item, Problem(0, shape, strides_in, tuple(strides_out))
    )
    assert list(problem.strides_out) == sorted(problem.strides_out, reverse=True)
    assert 1 not in problem.shape


def moved_bytes(item: int, problem: Problem) -> set[tuple[int, int]]:
    return {
        (
            problem.offset_in + byte + sum(i * s for i, s in zip(place, problem.strides_in, strict=True)),
            problem.offset_out + byte + sum(i * s for i, s in zip(place, problem.strides_out, strict=True)),
        )
        for place in itertools.product(*map(range, problem.shape))
        for byte in range(item)
    }
