"""The adapter of CuPy, on arrays in main memory that look like CuPy's; those on a device are tested in tests/gpu."""

import sys
from contextlib import contextmanager
from types import ModuleType, SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest

import cornerturn
from cornerturn.errors import UsageError
from cornerturn.op import adapters
from cornerturn.op.strided_view import as_array

X = np.arange(60, dtype=np.float32).reshape(3, 4, 5)


class Device:
    """A device that knows whether it is the current one."""

    current: ClassVar = []

    def __init__(self, number):
        self.id = number

    def __eq__(self, other):
        return self.id == other.id

    def __str__(self):
        return f"<CUDA Device {self.id}>"

    @contextmanager
    def _used(self):
        self.current.append(self.id)
        yield
        self.current.pop()

    def __enter__(self):
        self.context = self._used()
        self.context.__enter__()

    def __exit__(self, *error):
        self.context.__exit__(*error)


class Ndarray:
    """``cupy.ndarray``, as far as the adapter looks."""

    def __init__(self, array, device=3):
        self.array, self.device, self.data = array, Device(device), SimpleNamespace(ptr=array.ctypes.data)
        self.shape, self.strides, self.dtype = array.shape, array.strides, array.dtype
        self.itemsize, self.ndim = array.itemsize, array.ndim


Ndarray.__module__, Ndarray.__name__ = "cupy", "ndarray"


@pytest.fixture
def moves(monkeypatch):
    """What is asked of the engine: the current device, and the stream."""
    cupy = ModuleType("cupy")
    cupy.ndarray = Ndarray
    cupy.empty = lambda shape, dtype: Ndarray(np.full(shape, 99, dtype), Device.current[-1])
    cupy.cuda = SimpleNamespace(get_current_stream=lambda: SimpleNamespace(ptr=70 + Device.current[-1]))
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    monkeypatch.delitem(sys.modules, "cornerturn.op.adapters.cupy", raising=False)
    monkeypatch.delattr(adapters, "cupy", raising=False)
    import cornerturn.op.adapters.cupy as adapter

    asked = []

    def move(source, destination, stream):
        asked.append((Device.current[-1], stream))
        np.copyto(as_array(destination), as_array(source))

    monkeypatch.setattr(adapter, "move", move)
    yield asked
    del sys.modules["cornerturn.op.adapters.cupy"], adapters.cupy  # which holds what is not CuPy


@pytest.mark.parametrize("axes", [None, (1, 2, 0)])
@pytest.mark.parametrize("x", [X, X[::2, ::-1], X.T, X[:, :1]], ids=lambda x: str(x.strides))
def test_the_result_is_made_and_filled_on_xs_device_and_current_stream(moves, x, axes):
    y = cornerturn.transpose(Ndarray(x), axes)
    assert isinstance(y, Ndarray)
    assert y.device.id == 3
    np.testing.assert_array_equal(y.array, x.transpose(axes), strict=True)
    assert moves == [(3, (73, 3))]
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
