"""The handlers of the custom call, on call frames made by hand as XLA makes them."""

import ctypes
import re
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from cornerturn.errors import DeviceError, UsageError

jax = pytest.importorskip("jax", reason="jax is not installed")

from cornerturn.op.adapters import cuda_array, jax_ffi  # noqa: E402  (imports jax)

X = np.arange(60, dtype=np.float32).reshape(3, 4, 5)
STREAM = 0xABC0


class Frame:
    """A call frame over NumPy arrays, with all that it points to, and what the handler asked of the API."""

    def __init__(self, args, rets, axes, itemsize, axes_type=5, stream_error=None):
        self.errors = []
        self.keep = [args, rets]

        def error_create(given):
            self.errors.append((given.contents.errc, given.contents.message.decode()))
            return 0xE0 + len(self.errors)

        def stream_get(given):
            given.contents.stream = STREAM
            return stream_error

        self.api = jax_ffi.Api(error_create=jax_ffi.ErrorCreate(error_create), stream_get=jax_ffi.StreamGet(stream_get))
        self.api.api_version.minor = 42
        numbers, one = (ctypes.c_int64 * len(axes))(*axes), ctypes.c_int64(itemsize)
        array = jax_ffi.Array(axes_type, len(axes), ctypes.addressof(numbers) if axes else None)
        scalar = jax_ffi.Scalar(5, ctypes.addressof(one))
        self.keep += [numbers, one, array, scalar]
        attrs = (ctypes.c_void_p * 2)(ctypes.addressof(array), ctypes.addressof(scalar))
        self.frame = jax_ffi.CallFrame(
            api=ctypes.pointer(self.api),
            args=self.buffers(args),
            rets=self.buffers(rets),
            attrs=jax_ffi.Attrs(size=2, types=(ctypes.c_int * 2)(1, 3), attrs=attrs),
        )

    def buffers(self, arrays):
        made = [
            jax_ffi.Buffer(
                data=array.ctypes.data if array.size else None,
                rank=array.ndim,
                dims=(ctypes.c_int64 * array.ndim)(*array.shape),
            )
            for array in arrays
        ]
        self.keep.append(made)
        pointers = [ctypes.pointer(buffer) for buffer in made]
        types = (ctypes.c_int * len(arrays))(*[1] * len(arrays))
        return jax_ffi.Buffers(
            size=len(arrays), types=types, buffers=(ctypes.POINTER(jax_ffi.Buffer) * len(arrays))(*pointers)
        )

    def give(self, handler):
        return handler(ctypes.pointer(self.frame))


def frame_of(x, axes, y, **other):
    return Frame([x], [y], axes, x.itemsize, **other)


@pytest.fixture
def gpu(monkeypatch):
    """A GPU that notes what it is given, and in which device's context."""
    log = []

    @contextmanager
    def device_of(address):
        log.append(("enter", address))
        yield 5
        log.append(("leave", address))

    monkeypatch.setattr(cuda_array, "device_of", device_of)
    monkeypatch.setattr(jax_ffi.gpu_engine, "run", lambda *given: log.append(given))
    return log


CASES = [
    (X, (2, 1, 0)),
    (X, (1, 2, 0)),
    (X[0, 0], (0,)),
    (X[0, 0, 0, ...], ()),
    (X[:0], (2, 1, 0)),
    (X.astype("complex128"), (1, 0, 2)),
    (X > 7, (0, 2, 1)),
]


@pytest.mark.parametrize(("x", "axes"), CASES, ids=lambda x: str(getattr(x, "shape", x)))
def test_on_a_cpu_every_element_arrives(x, axes):
    x = x.copy()
    y = np.full([x.shape[axis] for axis in axes], 99, x.dtype)
    frame = frame_of(x, axes, y)
    assert frame.give(jax_ffi.on_cpu) is None
    np.testing.assert_array_equal(y, x.transpose(axes), strict=True)


def test_on_a_gpu_the_work_goes_on_xlas_stream_in_the_context_of_the_buffers_device(gpu):
    y = np.empty((4, 5, 3), X.dtype)
    assert frame_of(X, (1, 2, 0), y).give(jax_ffi.on_cuda) is None
    entered, (source, destination, stream, ordinal), left = gpu
    assert entered == ("enter", X.ctypes.data)
    assert left == ("leave", X.ctypes.data)
    assert (source.pointer, source.shape, source.strides) == (X.ctypes.data, (4, 5, 3), (20, 4, 80))
    assert (destination.pointer, destination.shape, destination.strides) == (y.ctypes.data, (4, 5, 3), (60, 12, 4))
    assert (source.itemsize, stream, ordinal) == (4, STREAM, 5)


def test_without_elements_a_gpu_is_left_alone(gpu):
    assert frame_of(X[:0], (2, 1, 0), np.empty((5, 4, 0), X.dtype)).give(jax_ffi.on_cuda) is None
    assert not gpu


def test_an_error_of_xlas_goes_back_to_xla(gpu):
    frame = frame_of(X, (2, 1, 0), np.empty((5, 4, 3), X.dtype), stream_error=0xBAD)
    assert frame.give(jax_ffi.on_cuda) == 0xBAD
    assert not gpu


@pytest.mark.parametrize(
    ("raised", "code"),
    [(UsageError("too long"), 3), (DeviceError("refused"), 13), (ValueError("odd"), 13), (KeyboardInterrupt(), 13)],
    ids=repr,
)
@pytest.mark.parametrize("handler", ["on_cpu", "on_cuda"])
def test_what_an_engine_raises_becomes_an_error_of_xlas(gpu, monkeypatch, handler, raised, code):
    def fail(*_):
        raise raised

    monkeypatch.setattr(jax_ffi, "move", fail)
    monkeypatch.setattr(jax_ffi.gpu_engine, "run", fail)
    frame = frame_of(X, (2, 1, 0), np.empty((5, 4, 3), X.dtype))
    assert frame.give(getattr(jax_ffi, handler)) == 0xE1
    assert frame.errors == [(code, f"{type(raised).__name__}: {raised}")]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"args": [X, X]}, r"takes a buffer, axes and itemsize, .* got parts of kinds \[1, 1, 1, 1, 3\]"),
        ({"rets": []}, r"got parts of kinds \[1, 1, 3\]"),
        ({"axes_type": 4}, "as 64-bit integers: got types 4, 5"),
    ],
)
def test_a_call_that_is_not_ours_is_an_error(given, message):
    frame = Frame(**{"args": [X], "rets": [X.T.copy()], "axes": (2, 1, 0), "itemsize": 4} | given)
    assert frame.give(jax_ffi.on_cpu) == 0xE1
    ((code, text),) = frame.errors
    assert code == 3
    assert re.search(message, text)


@pytest.mark.parametrize(("with_api", "minor"), [(True, 42), (False, 1)])
@pytest.mark.parametrize("handler", [jax_ffi.on_cpu, jax_ffi.on_cuda])
def test_the_question_for_metadata_is_answered_and_nothing_else_done(handler, with_api, minor, gpu):
    y = np.zeros((5, 4, 3), X.dtype)
    frame = frame_of(X, (2, 1, 0), y)
    metadata = jax_ffi.Metadata(traits=0xFF)
    extension = jax_ffi.MetadataExtension(metadata=ctypes.pointer(metadata))
    extension.base.type = jax_ffi.METADATA
    frame.frame.extension_start = ctypes.cast(ctypes.pointer(extension), ctypes.POINTER(jax_ffi.ExtensionBase))
    if not with_api:
        frame.frame.api = None
    assert frame.give(handler) is None
    assert (metadata.api_version.major, metadata.api_version.minor, metadata.traits) == (0, minor, 0)
    assert not y.any()
    assert not gpu


HEADER_NAMES = {
    "ExtensionBase": "Extension_Base",
    "ApiVersion": "Api_Version",
    "MetadataExtension": "Metadata_Extension",
    "ErrorCreateArgs": "Error_Create_Args",
    "StreamGetArgs": "Stream_Get_Args",
}
"""Where a name differs by more than its first part."""
SAME = {
    "base": "extension_base",
    "major": "major_version",
    "minor": "minor_version",
    "error_create": "xla_ffi_error_create",
    "error_get_message": "xla_ffi_error_getmessage",
    "error_destroy": "xla_ffi_error_destroy",
    "handler_register": "xla_ffi_handler_register",
    "stream_get": "xla_ffi_stream_get",
}


@pytest.mark.parametrize(
    ("ours", "theirs", "buffers"),
    [(name, HEADER_NAMES.get(name, name), None) for name in HEADER_NAMES]
    + [(name, name, None) for name in ("Metadata", "Buffer", "Array", "Scalar", "Attrs", "Api", "CallFrame")]
    + [("Buffers", "Args", "args"), ("Buffers", "Rets", "rets")],
)
def test_the_structures_are_those_of_the_header_that_jax_brings(ours, theirs, buffers):
    text = (Path(jax.ffi.include_dir()) / "xla/ffi/api/c_api.h").read_text()
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)
    body = re.search(rf"struct XLA_FFI_{theirs} {{(.*?)}}", text, flags=re.DOTALL)[1]
    fields = [re.findall(r"\w+", line)[-1].lower() for line in body.split(";") if line.strip()]
    declared = [buffers if name == "buffers" else SAME.get(name, name) for name, _ in getattr(jax_ffi, ours)._fields_]
    assert fields[: len(declared)] == declared


def test_the_target_is_called_by_compiled_functions():
    lowered = jax.jit(
        lambda x: jax.ffi.ffi_call(jax_ffi.TARGET, jax.ShapeDtypeStruct((5, 3, 4), x.dtype))(
            x, **jax_ffi.attributes((2, 0, 1), 4)
        )
    )
    np.testing.assert_array_equal(np.asarray(lowered(X)), X.transpose(2, 0, 1), strict=True)
