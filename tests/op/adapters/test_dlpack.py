from types import SimpleNamespace

import numpy as np
import pytest

import cornerturn
from cornerturn.errors import UsageError

X = np.arange(60, dtype=np.float32).reshape(3, 4, 5)


class Exported:
    """An array of an unknown library: it exports DLPack and nothing else."""

    def __init__(self, array, device=(1, 0)):
        self.array, self.device = array, device

    def __dlpack__(self, **how):
        return self.array.__dlpack__(**how)

    def __dlpack_device__(self):
        return self.device


class Standard(Exported):
    """The same, of a library that follows the Array API standard."""

    def __array_namespace__(self):
        return SimpleNamespace(from_dlpack=lambda exported: Standard(np.from_dlpack(exported)))


@pytest.mark.parametrize("axes", [None, (2, 0, 1)])
def test_without_a_namespace_the_result_is_numpys(axes):
    y = cornerturn.transpose(Exported(X[:, ::2]), axes)
    assert y.flags.c_contiguous
    np.testing.assert_array_equal(y, X[:, ::2].transpose(axes), strict=True)


def test_with_one_it_is_of_that_library():
    y = cornerturn.transpose(Standard(X))
    assert isinstance(y, Standard)
    np.testing.assert_array_equal(y.array, X.T, strict=True)


def test_matrices_are_the_last_two_axes_also_where_x_does_not_count_its_own():
    np.testing.assert_array_equal(cornerturn.matrix_transpose(Exported(X)), np.matrix_transpose(X), strict=True)
    with pytest.raises(UsageError, match="x has 1; give it at least two"):
        cornerturn.matrix_transpose(Exported(X[0, 0]))


@pytest.mark.parametrize(
    ("x", "out", "message"),
    [
        (Exported(X, device=(10, 1)), None, r"x is on DLPack device \(10, 1\), and no engine here serves it"),
        (Exported(X), np.empty((5, 4, 3), X.dtype), "out= does not work for x of type Exported in main memory"),
        (
            Exported(np.zeros(3, "datetime64[s]")),
            None,
            "NumPy cannot read x of type Exported: DLPack only supports",
        ),
        (Exported(X.reshape((1,) * 30 + X.shape)), None, "x has 33 axes"),
    ],
)
def test_what_is_refused(x, out, message):
    with pytest.raises(UsageError, match=message):
        cornerturn.transpose(x, out=out)


def test_explain_plan_gives_the_plan_of_the_array_that_numpy_reads():
    assert cornerturn.explain_plan(Exported(X[:, ::2])) is cornerturn.explain_plan(X[:, ::2])
    with pytest.raises(UsageError, match=r"x of shape \(3, 0, 5\) is empty"):
        cornerturn.explain_plan(Exported(X[:, :0]))
