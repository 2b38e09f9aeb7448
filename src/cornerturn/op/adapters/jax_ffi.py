"""The transpose as a custom call of XLA, whose handler is Python: XLA brings both buffers and, on a GPU, the stream.

XLA calls handlers through a C interface, its FFI. The structures below follow ``xla/ffi/api/c_api.h``, which is in
``jax.ffi.include_dir()``; each is named as there, without ``XLA_FFI_``. Only fields up to the last one that is needed
are declared: XLA hands over pointers, and newer versions append.
"""

import ctypes
from collections.abc import Callable
from ctypes import POINTER, Structure, c_char_p, c_int, c_int64, c_size_t, c_uint32, c_void_p
from typing import Any

import jax
import numpy as np

from cornerturn.errors import UsageError
from cornerturn.op.adapters import cuda_array
from cornerturn.op.adapters.jax_gate import Gate
from cornerturn.op.engines import move
from cornerturn.op.gpu import engine as gpu_engine
from cornerturn.op.strided_view import StridedView, c_order

TARGET = "cornerturn_transpose"

METADATA = 1  # XLA_FFI_Extension_Metadata
BUFFER = 1  # XLA_FFI_ArgType_BUFFER and XLA_FFI_RetType_BUFFER
ARRAY, SCALAR = 1, 3  # XLA_FFI_AttrType
S64 = 5  # XLA_FFI_DataType_S64
CANCELLED, INVALID_ARGUMENT, INTERNAL = 1, 3, 13  # XLA_FFI_Error_Code

Pointer = int | None
"""A pointer as ctypes gives it: None for null."""


class ExtensionBase(Structure):
    """What a chain of extensions is made of."""

    _fields_ = (("struct_size", c_size_t), ("type", c_int), ("next", c_void_p))


class ApiVersion(Structure):
    """The version of the interface that one side was built for."""

    _fields_ = (("struct_size", c_size_t), ("extension_start", c_void_p), ("major", c_int), ("minor", c_int))


class Metadata(Structure):
    """What XLA asks of a handler before it ever calls it."""

    _fields_ = (("struct_size", c_size_t), ("api_version", ApiVersion), ("traits", c_uint32))


class MetadataExtension(Structure):
    """The extension of a call frame that makes it a question for metadata."""

    _fields_ = (("base", ExtensionBase), ("metadata", POINTER(Metadata)))


class Buffer(Structure):
    """One argument or result, in row-major order."""

    _fields_ = (
        ("struct_size", c_size_t),
        ("extension_start", c_void_p),
        ("dtype", c_int),
        ("data", c_void_p),
        ("rank", c_int64),
        ("dims", POINTER(c_int64)),
    )


class Buffers(Structure):
    """``Args`` and ``Rets``, which look alike."""

    _fields_ = (
        ("struct_size", c_size_t),
        ("extension_start", c_void_p),
        ("size", c_int64),
        ("types", POINTER(c_int)),
        ("buffers", POINTER(POINTER(Buffer))),
    )


class Array(Structure):
    """An attribute of several numbers."""

    _fields_ = (("dtype", c_int), ("size", c_size_t), ("data", c_void_p))


class Scalar(Structure):
    """An attribute of one number."""

    _fields_ = (("dtype", c_int), ("value", c_void_p))


class Attrs(Structure):
    """All attributes, sorted by name."""

    _fields_ = (
        ("struct_size", c_size_t),
        ("extension_start", c_void_p),
        ("size", c_int64),
        ("types", POINTER(c_int)),
        ("names", c_void_p),
        ("attrs", POINTER(c_void_p)),
    )


class ErrorCreateArgs(Structure):
    """``Error_Create_Args``."""

    _fields_ = (("struct_size", c_size_t), ("extension_start", c_void_p), ("message", c_char_p), ("errc", c_int))


class StreamGetArgs(Structure):
    """``Stream_Get_Args``."""

    _fields_ = (("struct_size", c_size_t), ("extension_start", c_void_p), ("ctx", c_void_p), ("stream", c_void_p))


ErrorCreate = ctypes.CFUNCTYPE(c_void_p, POINTER(ErrorCreateArgs))
StreamGet = ctypes.CFUNCTYPE(c_void_p, POINTER(StreamGetArgs))


class Api(Structure):
    """The functions that a handler may call."""

    _fields_ = (
        ("struct_size", c_size_t),
        ("extension_start", c_void_p),
        ("api_version", ApiVersion),
        ("internal_api", c_void_p),
        ("error_create", ErrorCreate),
        ("error_get_message", c_void_p),
        ("error_destroy", c_void_p),
        ("handler_register", c_void_p),
        ("stream_get", StreamGet),
    )


class CallFrame(Structure):
    """All that one call brings."""

    _fields_ = (
        ("struct_size", c_size_t),
        ("extension_start", POINTER(ExtensionBase)),
        ("api", POINTER(Api)),
        ("ctx", c_void_p),
        ("stage", c_int),
        ("args", Buffers),
        ("rets", Buffers),
        ("attrs", Attrs),
    )


Handler = ctypes.CFUNCTYPE(c_void_p, POINTER(CallFrame))


def attributes(axes: tuple[int, ...], itemsize: int) -> dict[str, Any]:
    """Return what a call of the target says beside its buffers: the permutation, and the bytes of an element."""
    return {"axes": np.array(axes, np.int64), "itemsize": np.int64(itemsize)}


def on_cpu(frame: Any) -> Pointer:
    """Handle a call on XLA's CPU: ``frame`` is a pointer to its `CallFrame`; return an error of XLA's, or None."""
    return _answer(frame.contents, move)


def on_cuda(frame: Any) -> Pointer:
    """Handle a call on a GPU of XLA's: put the work on its stream and return, as `on_cpu` does."""
    call = frame.contents

    def put(source: StridedView, destination: StridedView) -> Pointer:
        wanted = StreamGetArgs(ctypes.sizeof(StreamGetArgs), None, call.ctx, None)
        if error := call.api.contents.stream_get(wanted):
            return int(error)
        # whatever context the thread has: XLA works in the primary ones, and the address says of which device
        with cuda_array.device_of(source.pointer) as ordinal:
            gpu_engine.run(source, destination, wanted.stream or 0, ordinal)
        return None

    return _answer(call, put)


def _answer(call: Any, put: Callable[[StridedView, StridedView], Pointer]) -> Pointer:
    try:
        if call.extension_start and call.extension_start.contents.type == METADATA:
            _describe(call)
            return None
        source, destination = _views(call)
        return None if 0 in source.shape else put(source, destination)
    except BaseException as error:  # whatever leaves here would be printed, and the call would pass for done
        text = f"{type(error).__name__}: {error}".encode()
        code = INVALID_ARGUMENT if isinstance(error, UsageError) else INTERNAL
        wanted = ErrorCreateArgs(ctypes.sizeof(ErrorCreateArgs), None, text, code)
        return int(call.api.contents.error_create(wanted))


def _describe(call: Any) -> None:
    """Say which version the handler is for: XLA's own, as what it reads is the same since 0.1."""
    metadata = ctypes.cast(call.extension_start, POINTER(MetadataExtension)).contents.metadata.contents
    metadata.api_version.major = 0
    metadata.api_version.minor = call.api.contents.api_version.minor if call.api else 1  # 0.1 asks without its API
    metadata.traits = 0  # a first launch loads a kernel, which no capture of a graph allows


def _views(call: Any) -> tuple[StridedView, StridedView]:
    """Return the argument with its axes permuted, and the result."""
    args, rets, attrs = call.args, call.rets, call.attrs
    kinds = [*args.types[: args.size], *rets.types[: rets.size], *attrs.types[: attrs.size]]
    if (args.size, rets.size, kinds) != (1, 1, [BUFFER, BUFFER, ARRAY, SCALAR]):
        raise UsageError(f"{TARGET} takes a buffer, axes and itemsize, and gives a buffer: got parts of kinds {kinds}")
    axes = ctypes.cast(attrs.attrs[0], POINTER(Array)).contents
    item = ctypes.cast(attrs.attrs[1], POINTER(Scalar)).contents
    if axes.dtype != S64 or item.dtype != S64:
        raise UsageError(f"{TARGET} takes axes and itemsize as 64-bit integers: got types {axes.dtype}, {item.dtype}")
    order = (c_int64 * axes.size).from_address(axes.data) if axes.size else ()
    itemsize = c_int64.from_address(item.value).value
    return _view(args.buffers[0].contents, itemsize).permuted(order), _view(rets.buffers[0].contents, itemsize)


def _view(buffer: Any, itemsize: int) -> StridedView:
    return c_order(tuple(buffer.dims[: buffer.rank]), itemsize, buffer.data or 0)


_refusal = ErrorCreateArgs(ctypes.sizeof(ErrorCreateArgs), None, b"Python ends: nothing was transposed", CANCELLED)
_refused = CallFrame.api.offset, Api.error_create.offset, ctypes.addressof(_refusal)
_handlers = [Handler(on_cpu), Handler(on_cuda)]
_gates = [Gate(ctypes.cast(handler, c_void_p).value or 0, *_refused) for handler in _handlers]
"""Kept as long as the process, in which XLA may call them at any time."""

for _platform, _gate in zip(("cpu", "CUDA"), _gates, strict=True):
    jax.ffi.register_ffi_target(TARGET, jax.ffi.pycapsule(_gate.address), platform=_platform)


def close() -> None:
    """Turn back what XLA still has in its queues when the interpreter ends; nobody will see it."""
    try:
        jax.effects_barrier()  # but what prints or calls back is to happen
    finally:
        for gate in _gates:
            gate.close()
