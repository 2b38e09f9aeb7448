"""The CUDA engine: launch a problem's kernel on a stream of the caller's.

Nothing here waits for the device. The first launch of a kernel compiles and loads it; from then on a launch can be
captured in a graph.
"""

import ctypes
from collections.abc import Callable
from functools import cache, lru_cache, partial
from threading import Lock
from typing import Any

import numpy as np

from cornerturn.errors import DeviceError
from cornerturn.kernels.production.axes import SECTOR
from cornerturn.kernels.production.device_code import Production
from cornerturn.op.gpu.plan import plan
from cornerturn.op.gpu.tuned import Target, profile_of
from cornerturn.op.problem import Problem, canonical
from cornerturn.op.strided_view import StridedView
from cornerturn.toolchain import Module, compile_source


class Launcher:
    """A kernel ready to launch on any pointers of the problem and alignment it was planned for.

    ``launcher(x, y, stream)`` puts it on ``stream`` (a ``CUstream`` as an integer). Where the calling thread has no
    current context, that of the arrays' device becomes it.
    """

    def __init__(self, production: Production, arch: str, module: Module | None = None) -> None:
        """Load the kernel for ``arch``, from ``module`` if that is compiled already."""
        from cuda.bindings import driver

        self.production = production
        image = (module or compile_source(production.source, arch)).image(production.entry)
        function = _load(image.cubin, image.symbol)
        launch = production.launch
        # The driver copies the arguments while it launches: one set of them serves all launches, one at a time.
        self._lock = Lock()
        self._x, self._y = ctypes.c_void_p(), ctypes.c_void_p()
        pointers = {"x": self._x, "y": self._y}
        self._values = [pointers[one] if isinstance(one, str) else _as_buffer(one) for one in launch.arguments]
        self._pointers = (ctypes.c_void_p * len(self._values))(*map(ctypes.addressof, self._values))
        self._success = driver.CUresult.CUDA_SUCCESS
        self._no_context = driver.CUresult.CUDA_ERROR_INVALID_CONTEXT
        arguments = (function, *launch.grid, *launch.block, launch.shared_bytes)
        self._enqueue = partial(driver.cuLaunchKernel, *arguments)
        self._parameters = ctypes.addressof(self._pointers)

    def __call__(self, x: int, y: int, stream: int) -> None:
        """Launch.

        Raises:
            DeviceError: the driver refuses the launch.
        """
        status = self._put(x, y, stream)
        if status is self._success:
            return
        if status == self._no_context:
            _make_current(x)
            status = self._put(x, y, stream)
        if status != self._success:
            raise DeviceError(f"kernel {self.production.entry} could not be launched: {status.name}")

    def _put(self, x: int, y: int, stream: int) -> Any:
        with self._lock:
            self._x.value, self._y.value = x, y
            return self._enqueue(stream, self._parameters, 0)[0]


def run(source: StridedView, destination: StridedView, stream: int, ordinal: int) -> None:
    """Put the copy, element by element, between two views of one shape and item size on a stream.

    Args:
        source: what to read, in the memory of a device whose context is current.
        destination: what to write, in the same memory; shares nothing with ``source``.
        stream: ``CUstream`` of the caller, as an integer.
        ordinal: the device's number, as the driver counts those that are visible.

    Raises:
        DeviceError: the driver refuses the kernel or its launch.
    """
    if 0 not in source.shape:
        launch, offset_in, offset_out = prepared(source, destination, ordinal)
        launch(source.pointer + offset_in, destination.pointer + offset_out, stream)


def prepared(source: StridedView, destination: StridedView, ordinal: int) -> tuple[Launcher, int, int]:
    """Return what copies between two views, none of them empty, and the bytes to add to their two addresses."""
    x, y = source.pointer % SECTOR, destination.pointer % SECTOR
    return _prepared(source.itemsize, source.shape, source.strides, destination.strides, x, y, ordinal)


@lru_cache(maxsize=4096)
def _prepared(
    itemsize: int,
    shape: tuple[int, ...],
    strides_in: tuple[int, ...],
    strides_out: tuple[int, ...],
    x: int,
    y: int,
    ordinal: int,
) -> tuple[Launcher, int, int]:
    problem = canonical(itemsize, shape, strides_in, strides_out)
    x, y = x + problem.offset_in, y + problem.offset_out
    return launcher(problem, x % SECTOR, y % SECTOR, target_of(ordinal)), problem.offset_in, problem.offset_out


@lru_cache(maxsize=1024)
def launcher(problem: Problem, x: int, y: int, target: Target) -> Launcher:
    """Return what launches one problem between first elements at ``x`` and ``y`` modulo 32."""
    return Launcher(plan(problem, x, y, profile_of(target)), target.arch)


@cache
def target_of(ordinal: int) -> Target:
    """Return the model of a CUDA device.

    Raises:
        DeviceError: there is no such device.
    """
    from cuda.bindings import driver

    of_device = f"of CUDA device {ordinal} cannot be read"
    _value((*driver.cuInit(0), None), "the CUDA driver does not start")
    device = _value(driver.cuDeviceGet(ordinal), f"there is no CUDA device {ordinal}")
    name = _value(driver.cuDeviceGetName(128, device), f"name {of_device}")
    kinds = driver.CUdevice_attribute
    major, minor, multiprocessors = (
        _value(driver.cuDeviceGetAttribute(kind, device), f"{kind.name} {of_device}")
        for kind in (
            kinds.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
            kinds.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
            kinds.CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
        )
    )
    return Target(f"sm_{major}{minor}", name.split(b"\0")[0].decode(), multiprocessors)


_after_tuning: list[Callable[[], None]] = []


def when_retuned(forget: Callable[[], None]) -> None:
    """Have ``forget`` called whenever launches that were planned before may be planned anew."""
    _after_tuning.append(forget)


def forget_plans() -> None:
    """Plan every problem anew at its next call, by what is tuned then."""
    for forget in (_prepared.cache_clear, launcher.cache_clear, *_after_tuning):
        forget()


def _make_current(address: int) -> None:
    """Make the primary context of the device that holds ``address`` this thread's own, as CUDA's runtime does."""
    from cuda.bindings import driver

    ordinal = driver.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
    device = _value(driver.cuPointerGetAttribute(ordinal, address), "the address of x belongs to no CUDA device")
    context = _value(driver.cuDevicePrimaryCtxRetain(device), f"CUDA device {device} has no context")
    driver.cuCtxSetCurrent(context)


def _value(result: tuple[Any, ...], complaint: str) -> Any:
    status, value = result
    if status != type(status).CUDA_SUCCESS:
        raise DeviceError(f"{complaint}: {status.name}")
    return value


def _as_buffer(argument: np.generic) -> Any:
    return (ctypes.c_char * argument.nbytes).from_buffer_copy(argument.tobytes())


@cache
def _load(cubin: bytes, symbol: str) -> Any:
    """Load a kernel; it belongs to no context and runs in whichever is current."""
    from cuda.bindings import driver

    library = _value(driver.cuLibraryLoadData(cubin, [], [], 0, [], [], 0), f"the driver does not load kernel {symbol}")
    kernel = _value(driver.cuLibraryGetKernel(library, symbol.encode()), f"the machine code has no kernel {symbol}")
    return driver.CUfunction(int(kernel))
