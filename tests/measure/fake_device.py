"""A device for tests: its memory is the host's, its streams are numbers, and its work is done at once."""

import ctypes
import math
from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace

import numpy as np

from cornerturn.errors import DeviceError
from cornerturn.gpu import DeviceFacts
from cornerturn.measure.cases import held_as
from cornerturn.measure.stage import moved_by
from cornerturn.op.strided_view import as_array, bounds

STREAM = 0x7000


class FakeBuffer:
    def __init__(self, nbytes):
        self._array = np.full(nbytes, 0x55, np.uint8)
        self.nbytes, self.address = nbytes, self._array.ctypes.data

    def upload(self, array):
        self._array[: array.nbytes] = np.ascontiguousarray(array).reshape(-1).view(np.uint8)

    def fill(self, byte):
        self._array[:] = byte

    def download(self, shape, dtype):
        return self._array[: math.prod(shape) * np.dtype(dtype).itemsize].view(dtype).reshape(shape).copy()

    def close(self):
        self._array[:] = 0xDD  # whoever still reads it gets nonsense


class FakeDevice:
    def __init__(self, free=1 << 30):
        self.facts = DeviceFacts(0, "Fake 1", "sm_90", 1, 1 << 20, free, False, "13.0")
        self.stream = SimpleNamespace(handle=STREAM, sync=lambda: None)
        self.free = free

    def current(self):
        return nullcontext()

    def free_bytes(self):
        return self.free

    def allocate(self, nbytes):
        if nbytes > self.free:
            raise DeviceError(f"{nbytes} bytes do not fit")
        return FakeBuffer(nbytes)

    def upload(self, array):
        buffer = FakeBuffer(array.nbytes)
        buffer.upload(array)
        return buffer


class FakeReplay:
    """Does at each run what a graph would."""

    def __init__(self, device, enqueue, launches):
        self.enqueue, self.launches, self.device = enqueue, launches, device

    def run(self):
        for _ in range(self.launches):
            self.enqueue(self.device.stream)
        return [1e-3]


def pattern_bytes(nbytes):
    """The first bytes of the pattern."""
    word = np.arange(1, -(-nbytes // 8) + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ((word ^ (word >> np.uint64(31))) & np.uint64(0xBFBFBFBFBFBFBFBF)).view(np.uint8)[:nbytes]


def pattern_elements(view):
    """Those of a view into the pattern, in C order, as bytes."""
    whole = pattern_bytes(bounds(view)[1])
    return as_array(replace(view, pointer=view.pointer + whole.ctypes.data)).copy().reshape(-1).view(np.uint8)


class FakePattern:
    def __init__(self, device):
        pass

    def lay(self, buffer):
        buffer.upload(pattern_bytes(buffer.nbytes))

    def spoil(self, outputs):
        for y, right in self._each(outputs):
            y[:] = ~right

    def found_in(self, outputs):
        return all(np.array_equal(y, right) for y, right in self._each(outputs))

    def _each(self, outputs):
        for output in range(outputs.count):
            further = output * outputs.pitch
            right = pattern_elements(moved_by(outputs.expected, further))
            yield memory_at(outputs.address + further, right.size), right


def memory_at(address, nbytes):
    return np.ctypeslib.as_array((ctypes.c_uint8 * nbytes).from_address(address))


def arrays_of(stage, place):
    """Input and output of a place as NumPy's."""
    array, y = stage.places[place].array, stage.places[place].y
    held = held_as(stage.dtype)
    return (
        memory_at(array.address, array.nbytes).view(held).reshape(stage.case.whole)[stage.case.slices],
        memory_at(y.address, y.nbytes).view(held).reshape(stage.case.turned),
    )


def moves(change=lambda x, place: x):
    """A library that writes what ``change`` makes of the transposed input, or nothing if that is None."""

    def prepare(stage):
        def enqueue(place, stream):
            assert stream == STREAM
            x, y = arrays_of(stage, place)
            result = change(x.transpose(stage.case.axes), place)
            if result is not None:
                np.copyto(y, result)

        return enqueue

    return prepare


def copies(stage):
    def enqueue(place, stream):
        array, y = stage.places[place].array, stage.places[place].y
        np.copyto(memory_at(y.address, y.nbytes), memory_at(array.address, y.nbytes))

    return enqueue


def install(monkeypatch):
    """Let `compare_gpu` work on this device."""
    from cornerturn.measure import compare_gpu, stage

    monkeypatch.setattr(compare_gpu, "Replay", FakeReplay)
    monkeypatch.setattr(compare_gpu, "COPIES", (copies, copies))
    monkeypatch.setattr(compare_gpu, "ours", moves())
    monkeypatch.setattr(compare_gpu, "planned_kernel", lambda stage: f"moves<{held_as(stage.dtype).itemsize}>")
    monkeypatch.setattr(compare_gpu, "CHAIN_SECONDS", 1e-6)
    monkeypatch.setattr(stage, "Pattern", FakePattern)
    monkeypatch.setattr(stage, "ROTATION_BYTES", 4000)
