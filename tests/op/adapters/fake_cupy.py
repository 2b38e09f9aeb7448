"""What looks like CuPy to its adapter, with arrays in main memory."""

import sys
from contextlib import contextmanager
from types import ModuleType, SimpleNamespace
from typing import ClassVar

import numpy as np

from cornerturn.op import adapters


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


@contextmanager
def adapter_of_fake_cupy(monkeypatch):
    """Give CuPy's adapter, bound to what only looks like CuPy; the current stream of device 3 is number 73."""
    cupy = ModuleType("cupy")
    cupy.ndarray = Ndarray
    cupy.empty = lambda shape, dtype: Ndarray(np.full(shape, 99, dtype), Device.current[-1])
    cupy.cuda = SimpleNamespace(get_current_stream=lambda: SimpleNamespace(ptr=70 + Device.current[-1]))
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    monkeypatch.delitem(sys.modules, "cornerturn.op.adapters.cupy", raising=False)
    monkeypatch.delattr(adapters, "cupy", raising=False)
    import cornerturn.op.adapters.cupy as adapter

    yield adapter
    del sys.modules["cornerturn.op.adapters.cupy"], adapters.cupy  # which holds what is not CuPy
