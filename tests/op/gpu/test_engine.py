"""The launch of a planned kernel, by a driver that notes what it is given."""

import ctypes

import numpy as np
import pytest

from cornerturn.errors import DeviceError
from cornerturn.measure.tune import Case
from cornerturn.op.gpu import engine as gpu_engine
from cornerturn.op.gpu.engine import Launcher
from cornerturn.op.gpu.plan import plan

driver = pytest.importorskip("cuda.bindings.driver")
FUNCTION, STREAM = 0x77, 0x99
PRODUCTION = plan(Case((512, 768)).problem(4), 0, 0)


class Driver:
    """Answers as it is told to, and reads each parameter from where it lies."""

    def __init__(self, *answers):
        self.answers, self.launched, self.contexts = list(answers), [], []

    def launch(self, function, *rest):
        *numbers, stream, parameters, extra = rest
        assert (function, stream, extra) == (FUNCTION, STREAM, 0)
        launch = PRODUCTION.launch
        assert numbers == [*launch.grid, *launch.block, launch.shared_bytes]
        addresses = (ctypes.c_void_p * len(launch.arguments)).from_address(parameters)
        sizes = [8 if isinstance(argument, str) else argument.nbytes for argument in launch.arguments]
        self.launched.append([ctypes.string_at(*where) for where in zip(addresses, sizes, strict=True)])
        return (self.answers.pop(0) if self.answers else driver.CUresult.CUDA_SUCCESS,)


@pytest.fixture
def launcher_by(monkeypatch):
    def make(*answers):
        noting = Driver(*answers)
        monkeypatch.setattr(driver, "cuLaunchKernel", noting.launch)
        monkeypatch.setattr(gpu_engine, "_load", lambda cubin, symbol: FUNCTION)
        monkeypatch.setattr(gpu_engine, "_make_current", noting.contexts.append)
        return Launcher(PRODUCTION, "sm_90"), noting

    return make


def parameters(x, y):
    pointers = {"x": np.uint64(x), "y": np.uint64(y)}
    arguments = (pointers[one] if isinstance(one, str) else one for one in PRODUCTION.launch.arguments)
    return [argument.tobytes() for argument in arguments]


def test_every_launch_has_its_own_pointers_and_all_else_as_planned(launcher_by):
    launcher, noting = launcher_by()
    launcher(0x7F00_0000_0000, 0x1000, STREAM)
    launcher(0x2000, 0x3000, STREAM)
    assert noting.launched == [parameters(0x7F00_0000_0000, 0x1000), parameters(0x2000, 0x3000)]
    assert noting.contexts == []


def test_a_thread_without_a_context_gets_that_of_x(launcher_by):
    launcher, noting = launcher_by(driver.CUresult.CUDA_ERROR_INVALID_CONTEXT)
    launcher(0x1000, 0x2000, STREAM)
    assert noting.launched == [parameters(0x1000, 0x2000)] * 2
    assert noting.contexts == [0x1000]


def test_a_refusal_is_named_and_not_tried_again(launcher_by):
    launcher, noting = launcher_by(driver.CUresult.CUDA_ERROR_INVALID_VALUE)
    with pytest.raises(DeviceError, match=r"kernel tile<4, .* could not be launched: CUDA_ERROR_INVALID_VALUE"):
        launcher(0x1000, 0x2000, STREAM)
    assert (len(noting.launched), noting.contexts) == (1, [])
