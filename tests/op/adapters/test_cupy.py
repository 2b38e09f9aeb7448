"""The adapter of CuPy, on arrays in main memory that look like CuPy's; those on a device are tested in tests/gpu."""

import numpy as np
import pytest

import cornerturn
from cornerturn.errors import UsageError
from cornerturn.op.strided_view import as_array

from .fake_cupy import Device, Ndarray, adapter_of_fake_cupy
from .fake_gpu import asked_ordinals, choice_for

X = np.arange(60, dtype=np.float32).reshape(3, 4, 5)


@pytest.fixture
def moves(monkeypatch):
    """What is asked of the engine: the current device, and the stream."""
    asked = []

    def run(source, destination, stream, ordinal):
        asked.append((Device.current[-1], stream, ordinal))
        np.copyto(as_array(destination), as_array(source))

    with adapter_of_fake_cupy(monkeypatch) as adapter:
        monkeypatch.setattr(adapter.engine, "run", run)
        yield asked


@pytest.mark.parametrize("axes", [None, (1, 2, 0)])
@pytest.mark.parametrize("x", [X, X[::2, ::-1], X.T, X[:, :1]], ids=lambda x: str(x.strides))
def test_the_result_is_made_and_filled_on_xs_device_and_current_stream(moves, x, axes):
    y = cornerturn.transpose(Ndarray(x), axes)
    assert isinstance(y, Ndarray)
    assert y.device.id == 3
    np.testing.assert_array_equal(y.array, x.transpose(axes), strict=True)
    assert moves == [(3, 73, 3)]
    assert Device.current == []


def test_out_is_filled_whatever_its_strides(moves):
    room = np.zeros((5, 4, 3, 2), X.dtype)
    out = Ndarray(room[..., 1])
    assert cornerturn.transpose(Ndarray(X), out=out) is out
    np.testing.assert_array_equal(room[..., 1], X.T)
    assert not room[..., 0].any()


def test_an_out_that_is_the_transpose_already_stays(moves):
    out = Ndarray(X.T)
    assert cornerturn.transpose(Ndarray(X), out=out) is out
    assert not moves


@pytest.mark.parametrize(
    ("out", "message"),
    [
        (np.empty((5, 4, 3), "f4"), "out must be a cupy.ndarray as x is: got ndarray"),
        (Ndarray(X.copy()), r"out must have the result's shape \(5, 4, 3\): got \(3, 4, 5\)"),
        (Ndarray(X.T.astype("i4")), "out must have x's dtype float32: got int32; nothing is converted"),
        (Ndarray(X.T.copy(), 4), "x's device <CUDA Device 3>: got <CUDA Device 4>; nothing moves between devices"),
        (Ndarray(X.reshape(5, 4, 3)), "out shares memory with x"),
    ],
    ids=["kind", "shape", "dtype", "device", "overlap"],
)
def test_what_is_refused(moves, out, message):
    with pytest.raises(UsageError, match=message):
        cornerturn.transpose(Ndarray(X), out=out)
    assert not moves


def test_more_axes_than_are_supported_are_refused(moves):
    with pytest.raises(UsageError, match="x has 33 axes"):
        cornerturn.transpose(Ndarray(X.reshape((1,) * 30 + X.shape)))


@pytest.mark.parametrize("x", [X, X[:, 1:], X[1:, ::-1, ::2]], ids=lambda x: str(x.strides))
def test_explain_plan_gives_the_choice_on_xs_device(moves, monkeypatch, x):
    asked = asked_ordinals(monkeypatch)
    assert str(cornerturn.explain_plan(Ndarray(x), (1, 2, 0))) == str(choice_for(x, (1, 2, 0)))
    assert (asked, moves) == ([3], [])


def test_explain_plan_refuses_what_transpose_does_and_what_is_empty(moves):
    with pytest.raises(UsageError, match="axes must name each of the 3 axes"):
        cornerturn.explain_plan(Ndarray(X), (0, 1, 1))
    with pytest.raises(UsageError, match=r"x of shape \(3, 0, 5\) is empty"):
        cornerturn.explain_plan(Ndarray(X[:, :0]))
