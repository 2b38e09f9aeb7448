"""cuTENSOR against a library that does on the host what its arguments say."""

import ctypes
import gc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cornerturn.errors import DeviceError
from cornerturn.measure import cutensor
from cornerturn.measure.cases import GPU_DTYPES, Case, distinct_elements, held_as
from cornerturn.op.strided_view import StridedView, as_array, c_order

HANDLE, STREAM = 0x1111, 0x2222
CODES = {14: "bfloat16", 0: "float32", 1: "float64", 4: "complex64", 5: "complex128"}
COMPUTE = {"bfloat16": "32F", "float32": "32F", "float64": "64F", "complex64": "32F", "complex128": "64F"}
BYTES_OF_ONE = {
    "32F": np.complex64(1).tobytes(),
    "64F": np.complex128(1).tobytes(),
}
TAKEN = (*GPU_DTYPES[1:], "complex64")


class FakeLibrary:
    """Each function reads what the C interface would read."""

    def __init__(self, failing: str = "") -> None:
        self.failing = failing
        self.alive: dict[int, tuple] = {}
        self.streams: list[int] = []
        self.cutensorGetVersion = lambda: 20801
        self.cutensorGetErrorString = lambda status: f"reason {status.value}".encode()
        for kind in ("TensorDescriptor", "OperationDescriptor", "PlanPreference", "Plan"):
            setattr(self, f"cutensorDestroy{kind}", lambda handle: self.alive.pop(handle.value))

    def cutensorCreate(self, handle):  # noqa: N802
        handle._obj.value = HANDLE
        return 0

    def make(self, name, pointer, *what):
        if name == self.failing:
            return 15
        pointer._obj.value = max(self.alive, default=0x5000) + 1
        self.alive[pointer._obj.value] = what
        return 0

    def cutensorCreateTensorDescriptor(self, handle, pointer, count, extents, strides, dtype, alignment):  # noqa: N802
        assert (handle.value, alignment.value in (1, 2, 4, 8, 16, 32, 64, 128)) == (HANDLE, True)
        assert (type(count), type(alignment)) == (ctypes.c_uint32, ctypes.c_uint32)
        assert (extents._type_, strides._type_) == (ctypes.c_int64, ctypes.c_int64)
        return self.make("tensor", pointer, list(extents), list(strides), CODES[dtype.value], alignment.value)

    def cutensorCreatePermutation(self, handle, pointer, x, modes_x, operator, y, modes_y, compute):  # noqa: N802
        assert (handle.value, operator.value) == (HANDLE, 1)
        assert (modes_x._type_, modes_y._type_) == (ctypes.c_int32, ctypes.c_int32)
        (shape_x, strides_x, dtype, align_x), (shape_y, strides_y, _, align_y) = (
            self.alive[x.value],
            self.alive[y.value],
        )
        assert compute == f"CUTENSOR_COMPUTE_DESC_{COMPUTE[dtype]}"
        x_axes = {mode: (extent, stride) for mode, extent, stride in zip(modes_x, shape_x, strides_x, strict=True)}
        assert [x_axes[mode][0] for mode in modes_y] == shape_y
        return self.make(
            "operation", pointer, dtype, shape_y, [x_axes[mode][1] for mode in modes_y], strides_y, align_x, align_y
        )

    def cutensorCreatePlanPreference(self, handle, pointer, algorithm, jit):  # noqa: N802
        assert (handle.value, algorithm.value, jit.value) == (HANDLE, -1, 0)
        return self.make("preference", pointer)

    def cutensorCreatePlan(self, handle, pointer, operation, preference, workspace):  # noqa: N802
        assert (handle.value, self.alive[preference.value], workspace.value) == (HANDLE, (), 0)
        return self.make("plan", pointer, *self.alive[operation.value])

    def cutensorPermute(self, handle, plan, one, x, y, stream):  # noqa: N802
        dtype, shape, strides_x, strides_y, align_x, align_y = self.alive[plan.value]
        assert (x.value % align_x, y.value % align_y) == (0, 0)
        assert (handle.value, bytes(one)) == (HANDLE, BYTES_OF_ONE[COMPUTE[dtype]])
        self.streams.append(stream.value)
        if self.failing == "permute":
            return 13
        held = held_as(dtype)

        def view(address, strides):
            steps = tuple(stride * held.itemsize for stride in strides)
            return as_array(StridedView(address.value, held.itemsize, tuple(shape), steps))

        np.copyto(view(y, strides_y), view(x, strides_x))
        return 0


@pytest.fixture(autouse=True)
def _constants(monkeypatch):
    monkeypatch.setattr(cutensor, "_constant", lambda library, name: name)


def aligned(array):
    """A copy that begins on a multiple of 128 bytes, as memory of a device does."""
    memory = np.empty(array.nbytes + 128, np.uint8)
    copy = np.ndarray(array.shape, array.dtype, memory.data, -memory.ctypes.data % 128)
    copy[...] = array
    return copy


@given(st.lists(st.integers(1, 5), min_size=1, max_size=5), st.sampled_from(TAKEN), st.booleans(), st.data())
def test_the_arguments_describe_the_transpose(shape, dtype, in_part, data):
    axes = tuple(data.draw(st.permutations(range(len(shape)))))
    step = st.sampled_from(["::2", ":", "::3"])
    first = [data.draw(st.integers(0, extent - 1)) for extent in shape]
    index = ",".join(f"{begin}{data.draw(step)}" for begin in first)
    case = Case(tuple(shape), axes, f"[{index}]" if in_part else "")
    x = case.view(held_as(dtype).itemsize)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cutensor, "_constant", lambda library, name: name)
        library = FakeLibrary()
        permute = cutensor.CuTensor(library).permutation(dtype, x, axes)
    array = aligned(distinct_elements(case.whole, dtype))
    want = np.ascontiguousarray(array[case.slices].transpose(axes))
    y = aligned(np.empty_like(want))
    permute(array.ctypes.data + x.pointer, y.ctypes.data, STREAM)
    assert y.tobytes() == want.tobytes()
    assert library.streams == [STREAM]


def test_the_version_is_read():
    assert cutensor.CuTensor(FakeLibrary()).version == "2.8.1"


@pytest.mark.parametrize(("dtype", "takes"), [("uint8", False), *((dtype, True) for dtype in TAKEN)])
def test_elements_of_one_byte_are_not_taken(dtype, takes):
    assert cutensor.CuTensor(FakeLibrary()).takes(dtype) is takes


@pytest.mark.parametrize("failing", ["tensor", "operation", "preference", "plan"])
def test_a_refusal_says_why_and_leaves_nothing(failing):
    library = FakeLibrary(failing)
    with pytest.raises(DeviceError, match=r"cutensorCreate\w+ answers 15: reason 15"):
        cutensor.CuTensor(library).permutation("float32", c_order((3, 4), 4), (1, 0))
    assert not library.alive


def test_a_plan_is_destroyed_with_its_permutation():
    library = FakeLibrary()
    permute = cutensor.CuTensor(library).permutation("float32", c_order((3, 4), 4), (1, 0))
    assert len(library.alive) == 5
    del permute
    gc.collect()
    assert not library.alive


def test_a_failed_launch_is_an_error():
    permute = cutensor.CuTensor(FakeLibrary("permute")).permutation("float32", c_order((3, 4), 4), (1, 0))
    with pytest.raises(DeviceError, match="cutensorPermute answers 13: reason 13"):
        permute(128, 256, 3)


def test_a_library_that_is_not_there_is_an_import_error(monkeypatch):
    pathfinder = pytest.importorskip("cuda.pathfinder")

    def missing(name):
        raise pathfinder.DynamicLibNotFoundError("not in many folders")

    monkeypatch.setattr(pathfinder, "load_nvidia_dynamic_lib", missing)
    with pytest.raises(ImportError, match=r"libcutensor\.so\.2"):
        cutensor.load()
