"""A kernel's way from machine code to a stream: loaded, and launched through one prepared buffer of arguments.

It takes cuda-bindings alone.
"""

import ctypes
from collections.abc import Sequence
from functools import partial
from threading import Lock
from typing import Any

import numpy as np

from cornerturn.gpu.driver import check


def load_kernel(code: bytes, symbol: str, name: str) -> Any:
    """Return the ``CUkernel`` of machine code or PTX; it belongs to no context and runs in whichever is current.

    Args:
        code: cubin, or PTX, which the driver compiles.
        symbol: the kernel's name in it.
        name: what messages call it.

    Raises:
        DeviceError: the code is not for this device, or has no such kernel.
    """
    from cuda.bindings import driver

    loading = f"loading kernel {name} failed"
    library = check(driver.cuLibraryLoadData(code, [], [], 0, [], [], 0), loading)
    return check(driver.cuLibraryGetKernel(library, symbol.encode()), loading)


class Launcher:
    """A kernel ready to launch: everything but two pointers and the stream is known.

    ``launcher(x, y, stream)`` puts it on ``stream`` (a ``CUstream`` as an integer). Where the calling thread has no
    current context, that of the device that holds ``x`` becomes it.

    Args:
        kernel: ``CUkernel``, as `load_kernel` returns it.
        name: what messages call it.
        grid: blocks along x, y, z.
        block: threads along x, y, z.
        arguments: ``"x"`` and ``"y"`` for the pointers, and NumPy scalars of the parameters' exact types, which may be
            structures.
        shared_bytes: dynamic shared memory, bytes per block.
    """

    def __init__(
        self,
        kernel: Any,
        name: str,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        arguments: Sequence[str | np.generic],
        shared_bytes: int = 0,
    ) -> None:
        from cuda.bindings import driver

        self.name = name
        # The driver copies the arguments while it launches: one set of them serves all launches, one at a time.
        self._lock = Lock()
        self._x, self._y = ctypes.c_void_p(), ctypes.c_void_p()
        pointers = {"x": self._x, "y": self._y}
        self._values = [pointers[one] if isinstance(one, str) else _as_buffer(one) for one in arguments]
        self._pointers = (ctypes.c_void_p * len(self._values))(*map(ctypes.addressof, self._values))
        self._success = driver.CUresult.CUDA_SUCCESS
        self._no_context = driver.CUresult.CUDA_ERROR_INVALID_CONTEXT
        function = driver.CUfunction(int(kernel))
        self._enqueue = partial(driver.cuLaunchKernel, function, *grid, *block, shared_bytes)
        self._parameters = ctypes.addressof(self._pointers)

    def __call__(self, x: int, y: int, stream: Any) -> None:
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
        check((status,), f"kernel {self.name} failed")

    def _put(self, x: int, y: int, stream: Any) -> Any:
        with self._lock:
            self._x.value, self._y.value = x, y
            return self._enqueue(stream, self._parameters, 0)[0]


def _make_current(address: int) -> None:
    """Make the primary context of the device that holds ``address`` this thread's own, as CUDA's runtime does."""
    from cuda.bindings import driver

    ordinal = driver.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
    device = check(driver.cuPointerGetAttribute(ordinal, address), "the address of x belongs to no CUDA device")
    context = check(driver.cuDevicePrimaryCtxRetain(device), f"CUDA device {device} has no context")
    check(driver.cuCtxSetCurrent(context))


def _as_buffer(argument: np.generic) -> Any:
    return (ctypes.c_char * argument.nbytes).from_buffer_copy(argument.tobytes())
