import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cornerturn.measure.cases import DTYPES, GPU_DTYPES, Case, as_matrices, distinct_elements, held_as

PARTS = [
    Case((64, 65), (1, 0), "[:,1:]"),
    Case((64, 64), (1, 0), "[:,::2]"),
    Case((4, 6, 8), (2, 0, 1), "[1:3,:,2:7:3]"),
    Case((5, 6), (0, 1), "[::3]"),
]


@pytest.mark.parametrize("case", PARTS, ids=lambda case: case.name)
def test_a_part_is_what_numpy_makes_of_it(case):
    array = distinct_elements(case.whole, "float32")
    x, view = array[case.slices], case.view(4)
    assert (view.shape, view.strides, view.pointer) == (x.shape, x.strides, x.ctypes.data - array.ctypes.data)
    assert (case.shape, case.turned) == (x.shape, x.transpose(case.axes).shape)


def test_a_label_makes_no_other_case():
    assert Case((2, 3), (1, 0), label="heads") == Case((2, 3), (1, 0))


@pytest.mark.parametrize("dtype", sorted({*DTYPES, *GPU_DTYPES, "float8_e4m3fn", "complex64"}))
@pytest.mark.parametrize("shape", [(300, 201), (256, 256)])
def test_data_are_finite_and_tell_places_apart(dtype, shape):
    x = distinct_elements(shape, dtype)
    assert (x.shape, x.dtype, x.ctypes.data % 64) == (shape, held_as(dtype), 0)
    assert np.isfinite(x).all()
    elements = x.view(np.uint8).reshape(*shape, x.itemsize)
    kinds = len(np.unique(elements.reshape(-1, x.itemsize), axis=0))
    assert kinds > 0.4 * min(256**x.itemsize, x.size)
    for axis in (0, 1):
        assert (np.diff(elements, axis=axis) != 0).any(axis=-1).all()


@given(st.lists(st.integers(1, 4), min_size=1, max_size=4), st.data())
def test_matrices_are_what_reshaping_says(shape, data):
    case = Case(tuple(shape), tuple(data.draw(st.permutations(range(len(shape))))))
    assert as_matrices(Case(case.whole, case.axes, "[:]")) is None
    x = np.arange(np.prod(shape)).reshape(shape)
    found = as_matrices(case)
    if found is None:
        assert case.axes != tuple(range(len(shape) - 1, -1, -1)) or len(shape) != 2
    else:
        assert np.array_equal(x.reshape(found).swapaxes(1, 2).ravel(), x.transpose(case.axes).ravel())
