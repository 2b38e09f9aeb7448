"""Arrays of any other library on an NVIDIA GPU, read through ``__cuda_array_interface__`` or DLPack.

https://nvidia.github.io/numba-cuda/user/cuda_array_interface.html,
https://dmlc.github.io/dlpack/latest/python_spec.html. Both say on which stream an array is safe to use; the work goes
there. Where nothing says on which stream the array will be used next, the call waits until the work is done.
"""

import ctypes
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from ctypes import POINTER, Structure, c_int32, c_int64, c_uint8, c_uint16, c_uint64, c_void_p
from dataclasses import dataclass
from functools import cache
from operator import index
from typing import Any

import numpy as np

from cornerturn.errors import DeviceError, UsageError
from cornerturn.op.adapters.adapter import Adapter
from cornerturn.op.gpu import engine
from cornerturn.op.gpu.choice import Choice
from cornerturn.op.strided_view import StridedView, c_order

LEGACY, PER_THREAD = 1, 2
"""The default streams as both protocols name them, which are the driver's own handles of them."""


@dataclass(frozen=True, slots=True)
class CudaArray:
    """What an exported array says of itself.

    Attributes:
        array: the exporter.
        view: its elements.
        dtype: what they are, in the exporter's words; compared, never interpreted.
        stream: ``CUstream`` on which the array is used, or None if that is not said.
        writable: whether it says that it may be written to.
    """

    array: Any
    view: StridedView
    dtype: str
    stream: int | None
    writable: bool

    device = None  # only the driver knows it, by the address

    @property
    def shape(self) -> tuple[int, ...]:
        """Extent of each axis."""
        return self.view.shape


class CudaArrayAdapter(Adapter):
    """Arrays that export ``__cuda_array_interface__``, or DLPack on a CUDA device.

    ``out`` exports ``__cuda_array_interface__``. It is required unless x is Numba's or has the Array API standard's
    ``__array_namespace__``. All methods but `transpose`, `explain` and `ndim` take what was read, a `CudaArray`.
    """

    array = CudaArray

    def ndim(self, x: Any) -> int:
        """Return the number of axes of an array."""
        return len(read(x).shape)

    def transpose(self, x: Any, axes: Sequence[int] | None = None, out: Any = None) -> Any:
        """As every adapter does, on what x and ``out`` say of themselves: each is asked once.

        Raises:
            DeviceError: there is no driver, or it refuses.
        """
        target = None if out is None else _read_output(out)
        stream = LEGACY if target is None else target.stream or LEGACY
        return super().transpose(read(x, stream), axes, target).array

    def explain(self, x: Any, axes: Sequence[int] | None = None) -> Any:
        """As every adapter does, on what x says of itself."""
        return super().explain(read(x), axes)

    def check_writable(self, out: CudaArray) -> None:
        """Refuse arrays that are read-only."""
        if not out.writable:
            raise UsageError("out is read-only: pass a writable array")

    def view(self, x: CudaArray) -> StridedView:
        """Return the strided view of what was read."""
        return x.view

    def empty(self, x: CudaArray, shape: tuple[int, ...]) -> CudaArray:
        """Return a new array of x's own library and device, read."""
        return read(_empty(x.array, x.view.pointer, shape), x.stream or LEGACY)

    def move(self, source: StridedView, destination: StridedView, x: CudaArray, out: CudaArray) -> None:
        """Put the work on the stream that the arrays name; wait if one of them names none."""
        if not source.nbytes:
            return
        if x.stream and out.stream and x.stream != out.stream:
            raise UsageError(
                f"x is used on CUDA stream {x.stream:#x}, out on {out.stream:#x}: use both on the same one"
            )
        stream = x.stream or out.stream or LEGACY
        with device_of(destination.pointer) as place, device_of(source.pointer) as ordinal:
            if place != ordinal:
                raise UsageError(
                    f"out must be on x's CUDA device {ordinal}: got {place}; nothing moves between devices"
                )
            engine.run(source, destination, stream, ordinal)
            if x.stream is None or out.stream is None:
                _wait(stream)

    def plan(self, source: StridedView, x: CudaArray) -> Choice:
        """Return the candidates on the device that holds x."""
        with device_of(source.pointer) as ordinal:
            return engine.choice_for(source, ordinal)


ADAPTER = CudaArrayAdapter()


def read(x: Any, stream: int = LEGACY) -> CudaArray:
    """Return what an array on a CUDA device says of itself.

    Args:
        x: exports ``__cuda_array_interface__``, or else DLPack.
        stream: where an exporter of DLPack is to make its work so far precede ours.

    Raises:
        UsageError: x cannot be read.
    """
    interface = getattr(x, "__cuda_array_interface__", None)
    if interface is None and hasattr(x, "__dlpack__"):
        return _from_dlpack(x, stream)
    return _from_interface(x, interface)


@contextmanager
def device_of(address: int) -> Iterator[int]:
    """Make the primary context of the device that holds ``address`` current for a while; give the device's number.

    Raises:
        DeviceError: there is no driver, or the address belongs to no device.
    """
    from cuda.bindings import driver

    from cornerturn.gpu.driver import check

    attribute = driver.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
    try:
        ordinal = int(check(driver.cuPointerGetAttribute(attribute, address)))
    except DeviceError as error:
        raise DeviceError(f"address {address:#x} belongs to no CUDA device: {error}") from error
    except RuntimeError as error:  # its library is not there
        raise DeviceError("no NVIDIA driver found") from error
    check(driver.cuCtxPushCurrent(_primary_context(ordinal)))
    try:
        yield ordinal
    finally:
        check(driver.cuCtxPopCurrent())


@cache
def _primary_context(ordinal: int) -> Any:
    from cuda.bindings import driver

    from cornerturn.gpu.driver import check

    return check(driver.cuDevicePrimaryCtxRetain(check(driver.cuDeviceGet(ordinal))))


def _wait(stream: int) -> None:
    from cuda.bindings import driver

    from cornerturn.gpu.driver import check

    check(driver.cuStreamSynchronize(stream))


def _empty(x: Any, pointer: int, shape: tuple[int, ...]) -> Any:
    """Return a new array of x's own library, on the device that holds ``pointer``, x's address."""
    if _is_numbas(x):
        from numba import cuda

        with device_of(pointer) if pointer else nullcontext(0) as ordinal:
            place = cuda.gpus[ordinal]
        with place:
            return cuda.device_array(shape, x.dtype, stream=x.stream)
    if hasattr(x, "__array_namespace__"):
        return x.__array_namespace__().empty(shape, dtype=x.dtype, device=x.device)
    raise UsageError(
        f"nothing is known that makes an array of type {type(x).__name__} on a GPU: pass out=, "
        "or an array of PyTorch or CuPy that shares x's memory, as their from_dlpack makes one"
    )


def _read_output(out: Any) -> CudaArray:
    interface = getattr(out, "__cuda_array_interface__", None)
    if interface is None:
        raise UsageError(f"out must export __cuda_array_interface__: got {type(out).__name__}")
    return _from_interface(out, interface)


def _is_numbas(x: Any) -> bool:
    return bool(getattr(x, "__cuda_ndarray__", False))


def _numbas_default_stream() -> int:
    from numba import config

    return PER_THREAD if getattr(config, "CUDA_PER_THREAD_DEFAULT_STREAM", 0) else LEGACY


def _from_interface(x: Any, interface: Any) -> CudaArray:
    name = type(x).__name__
    dtype, shape, strides, address, read_only, stream = _parts(name, interface)
    try:
        elements = np.dtype(dtype)
    except (TypeError, ValueError, SyntaxError) as error:
        raise UsageError(f"{name} has elements of type {dtype!r}, which NumPy does not know: {error}") from error
    if elements.hasobject:
        raise UsageError(f"elements must be plain bytes: {name} has elements of type {dtype!r}")
    if interface.get("mask") is not None:
        raise UsageError(f"{name} has a mask, which would be lost: transpose its data and its mask each on its own")
    if stream == 0:
        raise UsageError(f"{name} names CUDA stream 0, which may mean two: its library must say 1 or 2 (version 3)")
    if stream is None and _is_numbas(x):
        stream = _numbas_default_stream()
    if strides is None:
        strides = c_order(shape, elements.itemsize).strides
    view = StridedView(address, elements.itemsize, shape, strides, x)
    return CudaArray(x, view, dtype, stream, not read_only)


_EXTENTS, _STEPS, _HANDLES = range(1 << 63), range(-(1 << 63), 1 << 63), range(1 << 64)

_Parts = tuple[str, tuple[int, ...], tuple[int, ...] | None, int, bool, int | None]


def _parts(name: str, interface: Any) -> _Parts:
    """Return typestr, shape, strides, address, whether it is read-only, and stream, each of the type that it must have.

    Raises:
        UsageError: a key that must be there is not, or its value is of another kind.
    """

    def wrong(key: str, rule: str) -> UsageError:
        got = repr(interface[key]) if key in interface else "nothing"
        return UsageError(f"{name}.__cuda_array_interface__[{key!r}] must be {rule}: got {got}")

    if not isinstance(interface, Mapping):
        raise UsageError(f"{name}.__cuda_array_interface__ must be a dict: got {interface!r}")
    typestr, strides, stream = interface.get("typestr"), interface.get("strides"), interface.get("stream")
    if not isinstance(typestr, str):
        raise wrong("typestr", "a string")
    if (shape := _integers(interface.get("shape"), _EXTENTS)) is None:
        raise wrong("shape", "a tuple of integers, none negative")
    if strides is not None:
        strides = _integers(strides, _STEPS)
        if strides is None or len(strides) != len(shape):
            raise wrong("strides", f"None or a tuple of {len(shape)} integers, one for each axis")
    data = interface.get("data")
    if not isinstance(data, tuple | list) or len(data) != 2:
        raise wrong("data", "an address and whether it is read-only")
    address = 0 if data[0] is None else _integer(data[0], _HANDLES)
    if address is None or (address == 0 and 0 not in shape):
        raise wrong("data", "an address of 64 bits, not null where there are elements, and whether it is read-only")
    if stream is not None and (stream := _integer(stream, _HANDLES)) is None:
        raise wrong("stream", "None or an integer, 1, 2 or a handle of 64 bits")
    return typestr, shape, strides, address, bool(data[1]), stream


def _integers(values: Any, allowed: range) -> tuple[int, ...] | None:
    """Return integers as Python's, or None if that is not what they are."""
    if not isinstance(values, tuple | list):
        return None
    numbers = tuple(number for value in values if (number := _integer(value, allowed)) is not None)
    return numbers if len(numbers) == len(values) else None


def _integer(value: Any, allowed: range) -> int | None:
    """Return an integer of any library's as Python's, or None if it is none or not allowed."""
    try:
        number = index(value)
    except TypeError:
        return None
    return number if number in allowed else None


class _Tensor(Structure):
    """``DLTensor`` of ``dlpack.h``, with which ``DLManagedTensor`` begins."""

    _fields_ = (
        ("data", c_void_p),
        ("device_type", c_int32),
        ("device_id", c_int32),
        ("ndim", c_int32),
        ("code", c_uint8),
        ("bits", c_uint8),
        ("lanes", c_uint16),
        ("shape", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("byte_offset", c_uint64),
    )


_KINDS = {0: "i", 1: "u", 2: "f", 5: "c", 6: "b"}
"""NumPy's letters for the members of ``DLDataTypeCode`` that it has."""

_capsule_pointer = ctypes.PYFUNCTYPE(c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


def _from_dlpack(x: Any, stream: int) -> CudaArray:
    """Read an exported tensor; its capsule is not taken over, so it frees the export with the view."""
    try:
        capsule = x.__dlpack__(stream=stream)
        tensor = _Tensor.from_address(_capsule_pointer(capsule, b"dltensor"))
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise UsageError(f"x of type {type(x).__name__} does not export DLPack: {error}") from error
    bits = tensor.bits * tensor.lanes
    if bits % 8:
        raise UsageError(f"elements must be whole bytes: got {bits} bits; unpack them first")
    itemsize = bits // 8
    shape = tuple(tensor.shape[: tensor.ndim])
    if tensor.strides:
        strides = tuple(step * itemsize for step in tensor.strides[: tensor.ndim])
    else:
        strides = c_order(shape, itemsize).strides
    kind = _KINDS.get(tensor.code) if tensor.lanes == 1 else None
    dtype = f"DLPack ({tensor.code}, {tensor.bits}, {tensor.lanes})"
    if kind:  # as the other protocol has it
        dtype = f"{'<' if itemsize > 1 else '|'}{kind}{itemsize}"
    view = StridedView((tensor.data or 0) + tensor.byte_offset, itemsize, shape, strides, capsule)
    return CudaArray(x, view, dtype, None, False)
