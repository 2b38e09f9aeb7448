"""A launch, by a driver that notes what it is given."""

import ctypes
from typing import Any

import numpy as np
import pytest

from cornerturn.errors import DeviceError
from cornerturn.gpu import Launcher, launcher, load_kernel

driver = pytest.importorskip("cuda.bindings.driver")
STREAM, GRID, BLOCK, SHARED_BYTES = 0x99, (5, 2, 1), (64, 4, 1), 3072
STRUCTURE: Any = np.zeros((), np.dtype([("count", "u4"), ("unused", "u4"), ("stride", "i8")]))
STRUCTURE["count"], STRUCTURE["stride"] = 7, -(2**40)
ARGUMENTS = ("x", np.int32(-5), "y", STRUCTURE[()], np.float16(1.5))
SIZES = (8, 4, 8, 16, 2)


class Driver:
    """Answers as it is told to, and reads each parameter from where it lies."""

    def __init__(self, *answers):
        self.answers, self.launched, self.contexts = list(answers), [], []

    def launch(self, function, *rest):
        *numbers, stream, parameters, extra = rest
        assert (int(function), stream, extra) == (0x77, STREAM, 0)
        assert numbers == [*GRID, *BLOCK, SHARED_BYTES]
        addresses = (ctypes.c_void_p * len(ARGUMENTS)).from_address(parameters)
        self.launched.append([ctypes.string_at(*where) for where in zip(addresses, SIZES, strict=True)])
        return (self.answers.pop(0) if self.answers else driver.CUresult.CUDA_SUCCESS,)


@pytest.fixture
def launcher_by(monkeypatch):
    def make(*answers):
        noting = Driver(*answers)
        monkeypatch.setattr(driver, "cuLaunchKernel", noting.launch)
        monkeypatch.setattr(driver, "cuGetErrorString", lambda status: (driver.CUresult.CUDA_SUCCESS, b"in words"))
        monkeypatch.setattr(launcher, "_make_current", noting.contexts.append)
        return Launcher(driver.CUkernel(0x77), "turn", GRID, BLOCK, ARGUMENTS, SHARED_BYTES), noting

    return make


def parameters(x, y):
    pointers = {"x": np.uint64(x), "y": np.uint64(y)}
    return [(pointers[one] if isinstance(one, str) else one).tobytes() for one in ARGUMENTS]


def test_every_launch_has_its_own_pointers_and_all_else_as_prepared(launcher_by):
    launch, noting = launcher_by()
    launch(0x7F00_0000_0000, 0x1000, STREAM)
    launch(0x2000, 0x3000, STREAM)
    assert noting.launched == [parameters(0x7F00_0000_0000, 0x1000), parameters(0x2000, 0x3000)]
    assert noting.contexts == []


def test_a_thread_without_a_context_gets_that_of_x(launcher_by):
    launch, noting = launcher_by(driver.CUresult.CUDA_ERROR_INVALID_CONTEXT)
    launch(0x1000, 0x2000, STREAM)
    assert noting.launched == [parameters(0x1000, 0x2000)] * 2
    assert noting.contexts == [0x1000]


def test_a_refusal_is_named_and_not_tried_again(launcher_by):
    launch, noting = launcher_by(driver.CUresult.CUDA_ERROR_INVALID_VALUE)
    with pytest.raises(DeviceError, match=r"^kernel turn failed: CUDA_ERROR_INVALID_VALUE \(in words\)$"):
        launch(0x1000, 0x2000, STREAM)
    assert (len(noting.launched), noting.contexts) == (1, [])


def test_a_kernel_that_cannot_be_loaded_is_named(monkeypatch):
    refused = (driver.CUresult.CUDA_ERROR_INVALID_IMAGE, None)
    monkeypatch.setattr(driver, "cuLibraryLoadData", lambda *_: refused)
    monkeypatch.setattr(driver, "cuGetErrorString", lambda status: (driver.CUresult.CUDA_SUCCESS, b"in words"))
    with pytest.raises(DeviceError, match=r"^loading kernel turn failed: CUDA_ERROR_INVALID_IMAGE \(in words\)$"):
        load_kernel(b"no machine code", "symbol", "turn")
