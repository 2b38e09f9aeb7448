from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from cornerturn.errors import UsageError
from cornerturn.op.strided_view import (
    CACHE_LINE_BYTES,
    StridedView,
    as_array,
    bounds,
    c_order,
    check_destination,
    check_ndim,
    empty_c_order,
    normalized_axes,
    view_of,
)

Array = NDArray[Any]
SHAPES = st.lists(st.integers(0, 5), max_size=5).map(tuple)


@st.composite
def views(draw: st.DrawFn) -> Array:
    """Arrays of 2-byte elements, with any strides that stay within their memory."""
    steps = draw(st.lists(st.sampled_from([1, 2, -1, -3]), max_size=4))
    shape = tuple(draw(st.integers(0, 3)) * abs(step) for step in steps)
    return np.zeros(shape, np.int16)[(..., *(slice(None, None, step) for step in steps))]


@given(SHAPES, st.sampled_from([1, 2, 16]))
def test_c_order_is_numpys(shape: tuple[int, ...], itemsize: int) -> None:
    x = np.empty(shape, f"V{itemsize}")
    view = c_order(shape, itemsize, x.ctypes.data, x)
    assert view.owner is x
    assert len(view.strides) == len(shape)
    if 0 not in shape:  # where NumPy writes what it likes
        assert view == view_of(x)


@given(views())
def test_bounds_are_those_that_numpy_finds(x: Array) -> None:
    view = view_of(x)
    wanted = np.lib.array_utils.byte_bounds(x) if x.size else (view.pointer, view.pointer)
    assert bounds(view) == wanted
    assert view.reach == tuple(end - view.pointer for end in wanted)


@given(views(), st.data())
def test_a_view_is_the_array_and_its_permutation_the_arrays(x: Array, data: st.DataObject) -> None:
    axes = data.draw(st.permutations(range(x.ndim)))
    view = view_of(x).permuted(axes)
    assert view == view_of(x.transpose(axes))
    assert view.owner is x
    seen = as_array(view)
    assert (seen.ctypes.data, seen.shape, seen.strides) == (x.ctypes.data, view.shape, view.strides)


@given(views())
def test_what_numpy_slices_is_nested(x: Array) -> None:
    assert view_of(x).nested


@pytest.mark.parametrize(
    ("shape", "strides", "nested"),
    [
        ((4, 3), (0, 8), False),
        ((4, 3), (8, 8), False),
        ((4, 3), (16, 8), False),
        ((4, 3), (24, 8), True),
        ((4, 3), (-24, 8), True),
        ((4, 3), (8, -32), True),
        ((1, 3), (0, 8), True),
        ((4, 3), (24, 4), False),
        ((4, 0), (0, 0), True),
        ((), (), True),
    ],
)
def test_nested_means_that_no_two_elements_overlap(
    shape: tuple[int, ...], strides: tuple[int, ...], nested: bool
) -> None:
    assert StridedView(0, 8, shape, strides).nested == nested


@given(SHAPES, st.sampled_from(["u1", "f8", "V3"]))
def test_a_new_array_starts_a_cache_line(shape: tuple[int, ...], dtype: str) -> None:
    x = empty_c_order(shape, np.dtype(dtype))
    assert (x.shape, x.dtype, x.flags.c_contiguous, x.flags.writeable) == (shape, np.dtype(dtype), True, True)
    assert x.ctypes.data % CACHE_LINE_BYTES == 0 or not x.size


@given(st.integers(0, 6), st.data())
def test_axes_are_read_as_numpy_does(ndim: int, data: st.DataObject) -> None:
    axes = data.draw(st.permutations([axis - data.draw(st.sampled_from([0, ndim])) for axis in range(ndim)]))
    x = np.empty(tuple(range(2, ndim + 2)))
    assert tuple(x.shape[axis] for axis in normalized_axes(axes, ndim)) == x.transpose(axes).shape
    assert tuple(x.shape[axis] for axis in normalized_axes(None, ndim)) == x.T.shape


def test_a_pair_that_is_too_hard_to_decide_counts_as_an_overlap() -> None:
    shape, memory = (2,) * 12, np.zeros(1 << 19, np.uint8)
    x = as_strided(memory, shape, tuple(3**power * 7 // 5 + 1 for power in range(12)))
    out = as_strided(memory[1:], shape, tuple(3**power for power in range(12)))
    with pytest.raises(np.exceptions.TooHardError):
        np.shares_memory(x, out, max_work=100_000)
    with pytest.raises(UsageError, match="out shares memory with x"):
        check_destination(view_of(x), view_of(out))


def test_thirty_three_axes_are_refused() -> None:
    check_ndim(32)
    with pytest.raises(UsageError, match="x has 33 axes, and at most 32"):
        check_ndim(33)
