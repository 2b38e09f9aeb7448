"""A device for tests: its memory is the host's, its streams are numbers, and its work is done at once."""

import ctypes
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np

from cornerturn.errors import DeviceError
from cornerturn.gpu import DeviceFacts
from cornerturn.measure.cases import held_as

STREAM = 0x7000


class FakeBuffer:
    def __init__(self, nbytes):
        self._array = np.full(nbytes, 0x55, np.uint8)
        self.nbytes, self.address = nbytes, self._array.ctypes.data

    def upload(self, array):
        self._array[: array.nbytes] = np.ascontiguousarray(array).reshape(-1).view(np.uint8)

    def fill(self, byte):
        self._array[:] = byte

    def copy_from(self, source):
        self._array[: source.nbytes] = source._array

    def __enter__(self):
        return self

    def __exit__(self, *_):
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


class FakeBits:
    def spoil(self, address, expected, nbytes):
        memory_at(address, nbytes)[:] = ~expected._array[:nbytes]

    def equal(self, addresses, expected, nbytes):
        return all(np.array_equal(memory_at(address, nbytes), expected._array[:nbytes]) for address in addresses)


def memory_at(address, nbytes):
    return np.ctypeslib.as_array((ctypes.c_uint8 * nbytes).from_address(address))


def arrays_of(stage, place):
    """Input and output of a place as NumPy's."""
    x, y = stage.places[place].x, stage.places[place].y
    held = held_as(stage.dtype)
    return (
        memory_at(x.address, x.nbytes).view(held).reshape(stage.case.shape),
        memory_at(y.address, y.nbytes).view(held).reshape(stage.turned),
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
        x, y = arrays_of(stage, place)
        np.copyto(y.reshape(-1), x.reshape(-1))

    return enqueue


def install(monkeypatch):
    """Let `compare_gpu` work on this device."""
    from cornerturn.measure import compare_gpu

    monkeypatch.setattr(compare_gpu, "Replay", FakeReplay)
    monkeypatch.setattr(compare_gpu, "_bits", lambda device: FakeBits())
    monkeypatch.setattr(compare_gpu, "COPIES", (copies, copies))
    monkeypatch.setattr(compare_gpu, "ours", moves())
    monkeypatch.setattr(compare_gpu, "CHAIN_SECONDS", 1e-6)
    monkeypatch.setattr(compare_gpu, "ROTATION_BYTES", 4000)
