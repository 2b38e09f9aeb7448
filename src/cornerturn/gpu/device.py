"""One CUDA device: its facts, its memory, and kernels loaded from machine code and launched.

Everything runs in the device's primary context, which other frameworks share, on one stream of its own; the
context that was current before a call is current again after it.
"""

import ctypes
import sys
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray

from cornerturn.errors import DeviceError
from cornerturn.gpu.driver import check, device_errors
from cornerturn.gpu.facts import DeviceFacts, facts_of
from cornerturn.gpu.launcher import Launcher, load_kernel

PLAIN_SHARED_BYTES = 48 * 1024
"""Dynamic shared memory a block may have unasked (CUDA C++ Programming Guide, compute capabilities)."""


def open_device(ordinal: int = 0) -> "Device":
    """Return the CUDA device number ``ordinal``, ready for work.

    Raises:
        DeviceError: cuda-bindings or cuda-core is not installed, or there is no driver or no such device.
    """
    try:
        from cuda.bindings import driver
    except ImportError as error:
        raise (_missing("cuda-bindings") if _has_driver() else DeviceError("no NVIDIA driver found")) from error
    try:
        check(driver.cuInit(0))
        count = check(driver.cuDeviceGetCount())
    except DeviceError as error:
        raise DeviceError(f"no usable NVIDIA driver on this machine: {error}") from error
    except RuntimeError as error:  # its library is not there
        raise DeviceError("no NVIDIA driver found") from error
    if not 0 <= ordinal < count:
        raise DeviceError(f"no CUDA device {ordinal}: this machine shows {count}, numbered from 0")
    try:
        from cuda import core  # only now: where there is no GPU, nobody misses it
    except ImportError as error:
        raise _missing("cuda-core") from error
    return Device(core.Device(ordinal))


def _has_driver() -> bool:
    """Return whether the driver's library is on this machine: where it is not, no package brings a GPU."""
    try:
        ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
    except OSError:
        return False
    return True


def _missing(package: str) -> DeviceError:
    return DeviceError(
        f"a GPU is used through {package}, which is not installed; install it with: pip install 'cornerturn[gpu]'"
    )


def unavailable_reason(ordinal: int = 0) -> str | None:
    """Return why device ``ordinal`` cannot be used, or None when it can."""
    try:
        open_device(ordinal)
    except DeviceError as error:
        return str(error)
    return None


class Device:
    """An open device; get one from `open_device`.

    Example:
        >>> device = open_device()                                         # doctest: +SKIP
        >>> x, y = device.upload(matrix), device.allocate(matrix.nbytes)   # doctest: +SKIP
        >>> kernel = device.load(image.cubin, image.symbol)                # doctest: +SKIP
        >>> kernel.launch((32, 32, 1), (32, 32, 1), [x, y, np.int32(rows), np.int32(cols)])  # doctest: +SKIP
        >>> y.download((cols, rows), np.float32)                           # doctest: +SKIP

    Attributes:
        facts: what the device is.
        stream: the ``cuda.core`` stream on which all its work is ordered.
    """

    def __init__(self, core_device: Any) -> None:
        self._core_device = core_device
        self.facts: DeviceFacts = facts_of(core_device.device_id)
        with device_errors(f"opening CUDA device {core_device.device_id}"), self.current():
            self.stream = core_device.create_stream()

    @contextmanager
    def current(self) -> Iterator[None]:
        """Make the device's primary context current for a while."""
        from cuda.bindings import driver

        previous = check(driver.cuCtxGetCurrent())
        self._core_device.set_current()
        try:
            yield
        finally:
            check(driver.cuCtxSetCurrent(previous))

    def free_bytes(self) -> int:
        """Return the bytes of device memory that can be allocated now."""
        from cuda.bindings import driver

        with self.current():
            return int(check(driver.cuMemGetInfo())[0])

    def allocate(self, nbytes: int) -> "Buffer":
        """Return device memory of ``nbytes`` (> 0) bytes with undefined content.

        Raises:
            DeviceError: the device has less memory free.
        """
        return Buffer(self, nbytes)

    def upload(self, array: NDArray[Any]) -> "Buffer":
        """Return a new buffer that holds the elements of ``array`` in C order."""
        buffer = self.allocate(array.nbytes)
        buffer.upload(array)
        return buffer

    def load(self, cubin: bytes, symbol: str, name: str | None = None) -> "Function":
        """Return the kernel ``symbol`` of ``cubin``; messages call it ``name``.

        Raises:
            DeviceError: the code is not for this device, or has no such kernel.
        """
        return Function(self, cubin, symbol, name or symbol)

    def load_ptx(self, ptx: str, symbol: str) -> "Function":
        """Return the kernel ``symbol`` of ``ptx``, which the driver compiles for this device."""
        return Function(self, ptx.encode() + b"\0", symbol, symbol)  # the driver wants a C string

    def create_event(self) -> Any:
        """Return a ``cuda.core`` event that records its time."""
        from cuda.core import EventOptions

        with self.current():
            return self._core_device.create_event(EventOptions(timing_enabled=True))

    def create_graph_builder(self) -> Any:
        """Return a ``cuda.core`` graph builder that captures on a stream of its own."""
        with self.current():
            return self._core_device.create_graph_builder()


class Buffer:
    """Device memory; freed by `close`, at the end of a ``with`` block, or with its last reference.

    Attributes:
        device: the device it lies on.
        nbytes: its size.
        address: its address on the device.
    """

    def __init__(self, device: Device, nbytes: int) -> None:
        from cuda.bindings import driver

        self.device = device
        self.nbytes = nbytes
        with device.current():
            # Not from cuda.core's memory pool: it keeps what is freed, and then nobody can tell what is free.
            status, address = driver.cuMemAlloc(nbytes)
            if status == driver.CUresult.CUDA_ERROR_OUT_OF_MEMORY:
                free = device.free_bytes()
                raise DeviceError(
                    f"{nbytes / 1e9:.2f} GB do not fit {device.facts.name}, "
                    f"which has {free / 1e9:.2f} GB free; take a smaller size"
                )
            check((status,))
        self.address = int(address)
        self._free = weakref.finalize(self, _free, device, self.address)

    def upload(self, array: NDArray[Any]) -> None:
        """Overwrite the start of the buffer with the elements of ``array`` in C order."""
        from cuda.bindings import driver

        contiguous = np.ascontiguousarray(array)
        self._require(contiguous.nbytes)
        stream = self.device.stream
        with self.device.current():
            check(driver.cuMemcpyHtoDAsync(self.address, contiguous.ctypes.data, contiguous.nbytes, stream.handle))
            check(driver.cuStreamSynchronize(stream.handle))

    def download(self, shape: int | Sequence[int], dtype: DTypeLike) -> NDArray[Any]:
        """Return a NumPy array of ``shape`` and ``dtype`` with what the buffer starts with."""
        from cuda.bindings import driver

        array = np.empty(shape, dtype)
        self._require(array.nbytes)
        stream = self.device.stream
        with self.device.current():
            check(driver.cuMemcpyDtoHAsync(array.ctypes.data, self.address, array.nbytes, stream.handle))
            check(driver.cuStreamSynchronize(stream.handle))
        return array

    def fill(self, byte: int) -> None:
        """Set every byte of the buffer to ``byte`` (0 to 255)."""
        from cuda.bindings import driver

        with self.device.current():
            check(driver.cuMemsetD8Async(self.address, byte, self.nbytes, self.device.stream.handle))

    def copy_from(self, source: "Buffer", stream: Any = None) -> None:
        """Copy all of ``source`` to the start of this buffer with the driver's own copy, in stream order."""
        from cuda.bindings import driver

        self._require(source.nbytes)
        stream = stream or self.device.stream
        with self.device.current():
            check(driver.cuMemcpyDtoDAsync(self.address, source.address, source.nbytes, stream.handle))

    def close(self) -> None:
        """Free the memory, once all work on it is done."""
        self._free()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _require(self, nbytes: int) -> None:
        if nbytes > self.nbytes:
            raise DeviceError(f"{nbytes} bytes do not fit a device buffer of {self.nbytes} bytes")


class Function:
    """A kernel on a device, launched with other arguments each time; get one from `Device.load`."""

    def __init__(self, device: Device, code: bytes, symbol: str, name: str) -> None:
        self.device = device
        self.name = name
        with device.current():
            self._kernel = load_kernel(code, symbol, f"{name} for {device.facts.arch}")

    def launch(
        self,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        arguments: Sequence[Buffer | np.generic],
        shared_bytes: int = 0,
        stream: Any = None,
    ) -> None:
        """Launch the kernel and wait for it; with a ``stream``, only put it there.

        Args:
            grid: blocks along x, y, z.
            block: threads along x, y, z.
            arguments: buffers, passed as their addresses, and NumPy scalars of the parameters' exact types, which
                may be structures.
            shared_bytes: dynamic shared memory, bytes per block.
            stream: a ``cuda.core`` stream, which may be capturing a graph.

        Raises:
            DeviceError: the driver refuses the launch, or the kernel fails.
        """
        values = [np.uint64(item.address) if isinstance(item, Buffer) else item for item in arguments]
        launcher = Launcher(self._kernel, self.name, grid, block, values, shared_bytes)
        with self.device.current():
            if shared_bytes > PLAIN_SHARED_BYTES:
                self._allow_shared_bytes(shared_bytes)
            launcher(0, 0, (stream or self.device.stream).handle)
            if stream is None:
                with device_errors(f"kernel {self.name}"):
                    self.device.stream.sync()

    def _allow_shared_bytes(self, shared_bytes: int) -> None:
        from cuda.bindings import driver

        attribute = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        allowed = driver.cuKernelSetAttribute(attribute, shared_bytes, self._kernel, self.device.facts.ordinal)
        check(allowed, f"kernel {self.name} failed")


def _free(device: Device, address: int) -> None:
    from cuda.bindings import driver

    with device.current():
        driver.cuMemFree(address)  # unchecked: after a failed kernel the whole context is gone already
