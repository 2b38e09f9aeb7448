"""What a user without a GPU is told, and what can be shown of the GPU layer without one."""

import ctypes
import re
import sys
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from cornerturn.emulator import Memory, emulate
from cornerturn.errors import DeviceError
from cornerturn.gpu import Buffer, Function, device, open_device, timing, unavailable_reason


@pytest.mark.parametrize(
    ("module", "package"), [("cuda", "cuda-bindings"), ("cuda.bindings", "cuda-bindings"), ("cuda.core", "cuda-core")]
)
def test_without_a_package_it_is_named_with_the_pip_line(module: str, package: str, monkeypatch: pytest.MonkeyPatch):
    for loaded in [name for name in sys.modules if name.startswith("cuda.")]:
        monkeypatch.delitem(sys.modules, loaded)
    monkeypatch.delattr("cuda.core", raising=False)  # an attribute would serve where the module is gone
    if module == "cuda.core":
        driver = pytest.importorskip("cuda.bindings.driver", reason="cuda-bindings is not installed")
        monkeypatch.setattr(driver, "cuInit", lambda flags: (driver.CUresult.CUDA_SUCCESS,))
        monkeypatch.setattr(driver, "cuDeviceGetCount", lambda: (driver.CUresult.CUDA_SUCCESS, 1))
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setattr(device, "_has_driver", lambda: True)
    message = f"a GPU is used through {package}, which is not installed; install it with: pip install 'cornerturn[gpu]'"
    with pytest.raises(DeviceError, match=f"^{re.escape(message)}$"):
        open_device()
    assert unavailable_reason() == message


def test_where_there_is_no_driver_no_package_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "cuda", None)
    monkeypatch.setitem(sys.modules, "cuda.bindings", None)

    def absent(name: str) -> None:
        raise OSError(f"{name}: cannot open shared object file")

    monkeypatch.setattr(ctypes, "CDLL", absent)
    assert unavailable_reason() == "no NVIDIA driver found"


def test_the_reason_is_what_opening_would_raise():
    reason = unavailable_reason()
    if reason is None:
        assert open_device().facts.ordinal == 0
    else:
        with pytest.raises(DeviceError) as caught:
            open_device()
        assert str(caught.value) == reason


def test_a_missing_driver_is_said_once(monkeypatch: pytest.MonkeyPatch):
    driver = pytest.importorskip("cuda.bindings.driver", reason="cuda-bindings is not installed")
    monkeypatch.setitem(sys.modules, "cuda.core", None)  # nobody misses it there

    def not_there(flags: int) -> None:
        raise RuntimeError("the driver's library was not found, in many words")

    monkeypatch.setattr(driver, "cuInit", not_there)
    assert unavailable_reason() == "no NVIDIA driver found"


@pytest.mark.parametrize("ordinal", [-1, 99])
def test_a_device_that_is_not_there_is_an_error(ordinal: int):
    with pytest.raises(DeviceError):
        open_device(ordinal)


def test_a_launch_hands_the_driver_the_bytes_of_every_argument(monkeypatch: pytest.MonkeyPatch):
    driver = pytest.importorskip("cuda.bindings.driver", reason="cuda-bindings is not installed")
    device, buffer = (
        SimpleNamespace(current=nullcontext, stream=SimpleNamespace(handle="stream")),
        Buffer.__new__(Buffer),
    )
    buffer.device, buffer.address = device, 0x7F00_1234_5600
    structure: Any = np.zeros((), np.dtype([("count", "u4"), ("unused", "u4"), ("stride", "i8")]))
    structure["count"], structure["stride"] = 7, -(2**40)
    arguments = [buffer, np.int32(-5), np.float16(1.5), structure[()]]
    launched = []

    def launch(function: Any, *rest: Any) -> tuple[Any]:
        *numbers, stream, where, extra = rest
        addresses = (ctypes.c_void_p * len(arguments)).from_address(where)
        values = [ctypes.string_at(at, size) for at, size in zip(addresses, (8, 4, 2, 16), strict=True)]
        launched.append((int(function), numbers, stream, values, extra))
        return (driver.CUresult.CUDA_SUCCESS,)

    monkeypatch.setattr(driver, "cuLaunchKernel", launch)
    function = Function.__new__(Function)
    function.device, function.name, function._kernel = device, "k", driver.CUkernel(99)
    function.launch((3, 2, 1), (32, 4, 1), arguments, 1024, stream=SimpleNamespace(handle="theirs"))
    values = [np.uint64(buffer.address).tobytes(), *(argument.tobytes() for argument in arguments[1:])]
    assert launched == [(99, [3, 2, 1, 32, 4, 1, 1024], "theirs", values, 0)]


def test_a_launch_that_the_driver_refuses_names_the_kernel(monkeypatch: pytest.MonkeyPatch):
    driver = pytest.importorskip("cuda.bindings.driver", reason="cuda-bindings is not installed")
    refusal = driver.CUresult.CUDA_ERROR_INVALID_VALUE
    monkeypatch.setattr(driver, "cuLaunchKernel", lambda *_: (refusal,))
    monkeypatch.setattr(driver, "cuGetErrorString", lambda status: (driver.CUresult.CUDA_SUCCESS, b"invalid argument"))
    function = Function.__new__(Function)
    function.device = SimpleNamespace(current=nullcontext, stream=SimpleNamespace(handle=0))
    function.name, function._kernel = "turn", driver.CUkernel(99)
    with pytest.raises(DeviceError, match=r"^kernel turn failed: CUDA_ERROR_INVALID_VALUE \(invalid argument\)$"):
        function.launch((1, 1, 1), (2048, 1, 1), [])


def test_the_flush_of_l2_reads_every_sector_once():
    threads, blocks = timing._L2Flush.THREADS, 5
    scratch = np.zeros(threads * blocks * 16, np.uint8)
    memory = Memory()
    reference = memory.bind(scratch, name="scratch")
    emulation = emulate(
        timing._READER_PTX, "read", memory, grid=(blocks, 1, 1), block=(threads, 1, 1), arguments=[reference]
    )
    assert emulation.hazards == ()
    (load,) = emulation.accesses
    assert (load.space, load.kind, load.width) == ("global", "load", 16)
    assert load.sectors == load.sectors_ideal == scratch.nbytes // 32
