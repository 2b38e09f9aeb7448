import sys
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


class TestDLPack:
    @pytest.mark.parametrize("axes", [None, (2, 0, 1)])
    def test_without_a_namespace_the_result_is_numpys(self, axes):
        y = cornerturn.transpose(Exported(X[:, ::2]), axes)
        assert y.flags.c_contiguous
        np.testing.assert_array_equal(y, X[:, ::2].transpose(axes), strict=True)

    def test_with_one_it_is_of_that_library(self):
        y = cornerturn.transpose(Standard(X))
        assert isinstance(y, Standard)
        np.testing.assert_array_equal(y.array, X.T, strict=True)

    def test_matrices_are_the_last_two_axes_also_where_x_does_not_count_its_own(self):
        np.testing.assert_array_equal(cornerturn.matrix_transpose(Exported(X)), np.matrix_transpose(X), strict=True)
        with pytest.raises(UsageError, match="x has 1; give it at least two"):
            cornerturn.matrix_transpose(Exported(X[0, 0]))

    @pytest.mark.parametrize(
        ("x", "out", "message"),
        [
            (Exported(X, device=(2, 1)), None, r"x is on DLPack device \(2, 1\), and no engine here serves it"),
            (Exported(X), np.empty((5, 4, 3), X.dtype), "out= works with NumPy and PyTorch"),
            (
                Exported(np.zeros(3, "datetime64[s]")),
                None,
                "NumPy cannot read x of type Exported: DLPack only supports",
            ),
            (Exported(X.reshape((1,) * 30 + X.shape)), None, "x has 33 axes"),
        ],
    )
    def test_what_is_refused(self, x, out, message):
        with pytest.raises(UsageError, match=message):
            cornerturn.transpose(x, out=out)


@pytest.mark.parametrize("x", [[[1, 2]], 3.0, None, "text"])
def test_what_is_no_array_is_refused(x):
    with pytest.raises(UsageError, match=f"transpose takes an array: got {type(x).__name__}"):
        cornerturn.transpose(x)


def test_half_imported_libraries_do_no_harm(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace())
    assert cornerturn.transpose(Exported(X)).shape == (5, 4, 3)


@pytest.fixture
def jax():
    return pytest.importorskip("jax", reason="jax is not installed")


class TestJax:
    @pytest.mark.parametrize(
        "dtype", ["bool", "uint8", "int4", "float8_e4m3fn", "bfloat16", "float32", "complex64", "float64", "complex128"]
    )
    @pytest.mark.parametrize("axes", [None, (2, 0, 1)])
    def test_every_dtype_comes_back_as_it_went(self, jax, dtype, axes):
        with jax.enable_x64(True):
            x = jax.numpy.asarray(X % 7, dtype)
        y = cornerturn.transpose(x, axes)
        assert isinstance(y, jax.Array)
        assert (y.dtype, y.device) == (x.dtype, x.device)
        np.testing.assert_array_equal(np.asarray(y), np.asarray(x).transpose(axes), strict=True)

    def test_nothing_is_copied_on_the_way(self, jax, monkeypatch):
        from cornerturn.op import jax_arrays

        moves = []
        monkeypatch.setattr(jax_arrays, "move_on_cpu", lambda *views: moves.append(views))
        x = jax.numpy.ones((300, 400), "bfloat16")
        y = cornerturn.transpose(x)
        ((source, destination),) = moves
        assert source.pointer == x.unsafe_buffer_pointer()
        assert destination.pointer == y.unsafe_buffer_pointer()

    @pytest.mark.parametrize("transform", ["jit", "grad", "vmap"])
    def test_tracers_are_refused_with_advice(self, jax, transform):
        traced = getattr(jax, transform)(lambda x: cornerturn.transpose(x).sum())
        with pytest.raises(UsageError, match=r"traced by JAX .* use jax.numpy.permute_dims"):
            traced(jax.numpy.ones((3, 4)))

    def test_out_and_keys_are_refused(self, jax):
        with pytest.raises(UsageError, match="JAX arrays never change"):
            cornerturn.transpose(jax.numpy.ones((3, 4)), out=np.empty((4, 3)))
        with pytest.raises(UsageError, match=r"plain bytes: got dtype key<"):
            cornerturn.transpose(jax.random.split(jax.random.key(0), (2, 3)))
