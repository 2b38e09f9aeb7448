import re
from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

import cornerturn
from cornerturn.errors import DeviceError, UsageError
from cornerturn.op.adapters import cuda_array
from cornerturn.op.strided_view import as_array

from .fake_gpu import asked_ordinals, choice_for

X = np.arange(60, dtype=np.float32).reshape(3, 4, 5)


class Interface:
    """An array in main memory that says it is on a GPU, with nothing but ``__cuda_array_interface__``."""

    def __init__(self, array, **other):
        self.array = array
        described = array.__array_interface__
        self.__cuda_array_interface__ = {name: described[name] for name in ("shape", "typestr", "strides", "data")}
        self.__cuda_array_interface__ |= {"version": 3, **other}


class Exported:
    """The same, with nothing but DLPack; it notes the streams that it is asked for."""

    def __init__(self, array, device=(2, 0)):
        self.array, self.device, self.streams = array, device, []

    def __dlpack__(self, *, stream=None):
        self.streams.append(stream)
        return self.array.__dlpack__()

    def __dlpack_device__(self):
        return self.device


class Standard(Exported):
    """The same, of a library that follows the Array API standard."""

    dtype, device_name = "its dtype", "its device"
    device = property(lambda self: self.device_name, lambda self, value: None)

    def __dlpack_device__(self):
        return 2, 0

    def __array_namespace__(self):
        def empty(shape, *, dtype, device):
            assert (dtype, device) == ("its dtype", "its device")
            return Standard(np.full(shape, 99, self.array.dtype))

        return SimpleNamespace(empty=empty)


class Numbas(Interface):
    """The same, as Numba's device arrays look."""

    __cuda_ndarray__ = True

    def __init__(self, array, stream=0):
        super().__init__(array, stream=stream or None)
        self.dtype, self.stream, self.ndim = array.dtype, stream, array.ndim


@pytest.fixture
def device(monkeypatch):
    """A device that moves elements in main memory and notes what happens to it, in order."""
    log = []

    @contextmanager
    def device_of(address):
        log.append(("enter", address))
        yield 3
        log.append(("leave", address))

    def run(source, destination, stream, ordinal):
        log.append(("move", source, destination, stream, ordinal))
        np.copyto(as_array(destination), as_array(source))

    monkeypatch.setattr(cuda_array, "device_of", device_of)
    monkeypatch.setattr(cuda_array.engine, "run", run)
    monkeypatch.setattr(cuda_array, "_wait", lambda stream: log.append(("wait", stream)))
    return log


def streams(log):
    return [(entry[0], entry[3] if entry[0] == "move" else entry[1]) for entry in log if entry[0] in ("move", "wait")]


VIEWS = [
    X,
    X[:, ::2],
    X[::-1, 1:],
    X.T,
    as_strided(X, strides=(0, 20, 4)),
    X[0, 0, 0, ...],
    X.astype("complex128"),
    X > 7,
]


@pytest.mark.parametrize("export", [Interface, Exported])
@pytest.mark.parametrize("x", VIEWS, ids=lambda x: f"{x.dtype}{x.shape}{x.strides}")
def test_any_strides_arrive_in_out(device, export, x):
    out = np.zeros((2, *x.T.shape), x.dtype)
    given = Interface(out[1, ...])
    assert cornerturn.transpose(export(x), out=given) is given
    np.testing.assert_array_equal(given.array, x.T, strict=True)
    assert not out[0].any()
    ((_, source, _, _, ordinal),) = [entry for entry in device if entry[0] == "move"]
    assert (source.pointer, source.shape, source.strides) == (x.ctypes.data, x.T.shape, x.T.strides)
    assert ordinal == 3


def test_the_devices_context_is_current_while_it_works(device):
    cornerturn.transpose(Interface(X), out=Interface(np.empty((5, 4, 3), X.dtype)))
    assert [entry[0] for entry in device] == ["enter", "enter", "move", "wait", "leave", "leave"]


@pytest.mark.parametrize(
    ("of_x", "of_out", "used", "waits"),
    [
        ({}, {}, 1, True),
        ({"stream": None}, {"stream": None}, 1, True),
        ({"stream": 7}, {}, 7, True),
        ({}, {"stream": 7}, 7, True),
        ({"stream": 7}, {"stream": 7}, 7, False),
        ({"stream": 2}, {"stream": 2}, 2, False),
    ],
)
def test_work_goes_where_the_arrays_are_used(device, of_x, of_out, used, waits):
    cornerturn.transpose(Interface(X, **of_x), out=Interface(np.empty((5, 4, 3), X.dtype), **of_out))
    assert streams(device) == [("move", used)] + waits * [("wait", used)]


@pytest.mark.parametrize(("of_out", "used"), [({}, 1), ({"stream": 7}, 7)])
def test_dlpack_is_asked_to_be_ready_on_the_stream_of_the_work(device, of_out, used):
    x = Exported(X)
    cornerturn.transpose(x, out=Interface(np.empty((5, 4, 3), X.dtype), **of_out))
    assert x.streams == [used]
    assert streams(device) == [("move", used), ("wait", used)]


def test_a_library_of_the_standard_makes_its_own_result(device):
    y = cornerturn.transpose(Standard(X), (1, 0, 2))
    assert isinstance(y, Standard)
    np.testing.assert_array_equal(y.array, X.transpose(1, 0, 2), strict=True)
    assert y.streams == [1]
    assert streams(device) == [("move", 1), ("wait", 1)]


class TestNumba:
    @pytest.fixture(autouse=True)
    def numbas(self, monkeypatch, device):
        from numba import config, cuda

        current = []

        @contextmanager
        def gpu(number):
            current.append(number)
            yield
            current.pop()

        def device_array(shape, dtype, stream):
            device.append(("allocate", current[-1]))
            return Numbas(np.full(shape, 99, dtype), stream)

        monkeypatch.setattr(cuda, "gpus", [gpu(number) for number in range(4)])
        monkeypatch.setattr(cuda, "device_array", device_array)
        monkeypatch.setattr(config, "CUDA_PER_THREAD_DEFAULT_STREAM", 0)

    @pytest.mark.parametrize(("stream", "used"), [(0, 1), (7, 7)])
    def test_the_result_is_on_xs_device_and_stream_and_nothing_waits(self, device, stream, used):
        y = cornerturn.matrix_transpose(Numbas(X, stream))
        assert isinstance(y, Numbas)
        assert y.stream == stream
        np.testing.assert_array_equal(y.array, np.matrix_transpose(X), strict=True)
        assert ("allocate", 3) in device
        assert streams(device) == [("move", used)]

    def test_its_default_stream_may_be_one_a_thread(self, device, monkeypatch):
        from numba import config

        monkeypatch.setattr(config, "CUDA_PER_THREAD_DEFAULT_STREAM", 1)
        cornerturn.transpose(Numbas(X))
        assert streams(device) == [("move", 2)]

    def test_without_elements_nothing_is_launched(self, device):
        empty = Numbas(X[:0])
        empty.__cuda_array_interface__["data"] = (0, False)
        assert cornerturn.transpose(empty).array.shape == (5, 4, 0)
        assert device == [("allocate", 0)]


def test_elements_of_no_bytes_launch_nothing(device):
    cornerturn.transpose(Interface(np.zeros((3, 4), "V0")), out=Interface(np.zeros((4, 3), "V0")))
    assert device == []


def test_an_out_that_is_the_transpose_already_stays(device):
    out = Interface(X.T)
    assert cornerturn.transpose(Interface(X), out=out) is out
    assert not device


def test_matrices_are_the_last_two_axes_also_where_x_does_not_count_its_own(device):
    out = Interface(np.empty((3, 5, 4), X.dtype))
    for x in (Interface(X), Exported(X)):
        out.array.fill(0)
        cornerturn.matrix_transpose(x, out=out)
        np.testing.assert_array_equal(out.array, np.matrix_transpose(X), strict=True)


def read_only(array):
    return Interface(array, data=(array.ctypes.data, True))


REFUSED = {
    "no out": (Interface(X), None, "makes an array of type Interface on a GPU: pass out="),
    "no out, DLPack": (Exported(X), None, "makes an array of type Exported on a GPU: pass out="),
    "out of another kind": (Interface(X), X.T.copy(), "out must export __cuda_array_interface__: got ndarray"),
    "read-only": (Interface(X), read_only(X.T.copy()), "out is read-only"),
    "shape": (Interface(X), Interface(X.copy()), r"out must have the result's shape \(5, 4, 3\): got \(3, 4, 5\)"),
    "dtype": (Interface(X), Interface(X.T.astype("i4")), "out must have x's dtype <f4: got <i4"),
    "dtype of DLPack": (Exported(X), Interface(X.T.astype("i4")), "out must have x's dtype <f4: got <i4"),
    "overlap": (Interface(X[:, :, :4]), Interface(X.reshape(5, 12)[:4].reshape(4, 4, 3)), "out shares memory with x"),
    "streams": (
        Interface(X, stream=16),
        Interface(np.empty((5, 4, 3), X.dtype), stream=32),
        "x is used on CUDA stream 0x10, out on 0x20",
    ),
    "stream 0": (Interface(X, stream=0), None, "names CUDA stream 0, which may mean two"),
    "mask": (Interface(X, mask=Interface(X > 1)), None, "has a mask, which would be lost"),
    "objects": (Interface(X, typestr="|O8"), None, r"plain bytes: Interface has elements of type '\|O8'"),
    "unknown type": (Interface(X, typestr="|t4"), None, r"type '\|t4', which NumPy does not know"),
    "rank": (Interface(X.reshape((1,) * 30 + X.shape)), None, "x has 33 axes"),
    "not exported": (Exported(np.zeros(3, "datetime64[s]")), None, "does not export DLPack: DLPack only supports"),
}


@pytest.mark.parametrize(("x", "out", "message"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused(device, x, out, message):
    with pytest.raises(UsageError, match=message):
        cornerturn.transpose(x, out=out)
    assert not streams(device)


class Saying:
    """Something with an interface of whatever it is given."""

    def __init__(self, interface):
        self.__cuda_array_interface__ = interface


WELL = Interface(X).__cuda_array_interface__
ADDRESS = X.ctypes.data
MALFORMED = {
    "typestr": ("a string", [None, 4, np.dtype("f4"), b"<f4"]),
    "shape": (
        "a tuple of integers, none negative",
        [None, 60, "ab", (3, 4, 2.5), (3, 4, "5"), (3, 4, None), (3, 4, -5), (3, 4, 1 << 63), {3: 4}],
    ),
    "strides": (
        r"None or a tuple of 3 integers, one for each axis",
        [(20,), (), (80, 20, 4, 4), (80, 20, 4.0), "abc", 4, (80, 20, 1 << 63), (80, 20, None)],
    ),
    "data": (
        "an address .*and whether it is read-only",
        [
            *(None, ADDRESS, (), (ADDRESS,), (ADDRESS, False, 0), "ab"),
            *((str(ADDRESS), False), (float(ADDRESS), False), (-8, False), (1 << 64, False), (0, False), (None, False)),
        ],
    ),
    "stream": ("None or an integer, 1, 2 or a handle of 64 bits", ["1", 1.0, -1, 1 << 64, (1,)]),
}
MISSING = object()


@pytest.mark.parametrize(
    ("key", "value", "rule"),
    [(key, value, rule) for key, (rule, values) in MALFORMED.items() for value in values]
    + [(key, MISSING, MALFORMED[key][0]) for key in ("typestr", "shape", "data")],
    ids=lambda value: "missing" if value is MISSING else repr(value).replace(str(ADDRESS), "address"),
)
def test_a_malformed_interface_is_refused_by_its_key(device, key, value, rule):
    interface = {name: said for name, said in (WELL | {key: value}).items() if said is not MISSING}
    well = Interface(np.zeros((5, 4, 3), X.dtype))
    message = rf"^Saying.__cuda_array_interface__\['{key}'\] must be {rule}: got "
    message += "nothing$" if value is MISSING else f"{re.escape(repr(value))}$"
    with pytest.raises(UsageError, match=message):
        cornerturn.transpose(Saying(interface), out=well)
    with pytest.raises(UsageError, match=message):
        cornerturn.transpose(well, out=Saying(interface))
    with pytest.raises(UsageError, match=message):
        cornerturn.matrix_transpose(Saying(interface))
    assert not device


@pytest.mark.parametrize("interface", [None, 5, [("shape", (3,))], "shape"], ids=repr)
def test_an_interface_that_is_none_is_refused(device, interface):
    with pytest.raises(
        UsageError, match=rf"^Saying.__cuda_array_interface__ must be a dict: got {re.escape(repr(interface))}$"
    ):
        cornerturn.transpose(Saying(interface))


def test_integers_may_be_of_any_library_and_sequences_lists(device):
    strides = [np.int64(step) for step in X.strides]
    given = Saying(WELL | {"shape": list(np.array(X.shape)), "strides": strides, "data": [np.uint64(ADDRESS), False]})
    out = Interface(np.zeros((5, 4, 3), X.dtype))
    np.testing.assert_array_equal(cornerturn.transpose(given, out=out).array, X.T, strict=True)


def test_two_devices_are_refused(device, monkeypatch):
    out = Interface(np.empty((5, 4, 3), X.dtype))

    @contextmanager
    def device_of(address):
        yield 1 if address == out.array.ctypes.data else 0

    monkeypatch.setattr(cuda_array, "device_of", device_of)
    with pytest.raises(UsageError, match="out must be on x's CUDA device 0: got 1"):
        cornerturn.transpose(Interface(X), out=out)


def test_what_only_other_exporters_of_dlpack_say(device):
    class Other(Exported):
        """Of a type that NumPy lacks, at an offset, contiguous without strides."""

        def __dlpack__(self, *, stream=None):
            capsule = self.array.__dlpack__()
            tensor = cuda_array._Tensor.from_address(cuda_array._capsule_pointer(capsule, b"dltensor"))
            tensor.code, tensor.byte_offset = 4, x[0].nbytes
            tensor.strides = None
            return capsule

    x = X.astype(np.float16)
    read = cuda_array.read(Other(x[:2]))
    assert (read.dtype, read.view.itemsize) == ("DLPack (4, 16, 1)", 2)
    np.testing.assert_array_equal(as_array(read.view).view(x.dtype), x[1:], strict=True)


def test_elements_of_less_than_a_byte_are_refused():
    class Packed(Exported):
        def __dlpack__(self, *, stream=None):
            capsule = self.array.__dlpack__()
            cuda_array._Tensor.from_address(cuda_array._capsule_pointer(capsule, b"dltensor")).bits = 4
            return capsule

    with pytest.raises(UsageError, match="whole bytes: got 4 bits"):
        cornerturn.transpose(Packed(X))


def test_without_a_driver_one_sentence_says_so():
    pytest.importorskip("cuda.bindings")
    from cornerturn.gpu import unavailable_reason

    if unavailable_reason() is None:
        pytest.skip("there is a GPU")
    with pytest.raises(DeviceError, match=r"no NVIDIA driver found|belongs to no CUDA device"):
        cornerturn.transpose(Interface(X), out=Interface(np.empty((5, 4, 3), X.dtype)))


@pytest.mark.parametrize("export", [Interface, Exported, Numbas])
@pytest.mark.parametrize("x", [X, X[:, 1:], X.T], ids=lambda x: str(x.strides))
def test_explain_plan_gives_the_choice_on_the_device_that_holds_x(device, monkeypatch, export, x):
    asked = asked_ordinals(monkeypatch)
    assert str(cornerturn.explain_plan(export(x), (1, 2, 0))) == str(choice_for(x, (1, 2, 0)))
    assert asked == [3]
    assert device == [("enter", x.ctypes.data), ("leave", x.ctypes.data)]


def test_explain_plan_refuses_what_is_empty(device):
    with pytest.raises(UsageError, match=r"x of shape \(3, 0, 5\) is empty"):
        cornerturn.explain_plan(Interface(X[:, :0]))
