"""A case laid out on a device: places for x and y, in two buffers that all cases share."""

import math
from dataclasses import dataclass, replace

from cornerturn.gpu import Buffer, Device
from cornerturn.measure.cases import Case, held_as
from cornerturn.measure.pattern import Outputs, Pattern
from cornerturn.op.strided_view import AnyArray, StridedView, c_order

ROTATION_BYTES = 1 << 31
MAX_PLACES = 1024
MEMORY_SHARE = 0.25  # of the free memory, for all places; libraries need some too
PLACE_BYTES = 512
"""Places begin on multiples of it, as what ``cudaMalloc`` returns does."""


@dataclass(frozen=True, slots=True)
class Bytes:
    """``nbytes`` bytes of a buffer from ``offset`` on, as other libraries take them: without a copy."""

    buffer: Buffer
    offset: int
    nbytes: int

    @property
    def address(self) -> int:
        """Of the first byte."""
        return self.buffer.address + self.offset

    @property
    def __cuda_array_interface__(self) -> dict[str, object]:
        """https://numba.readthedocs.io/en/stable/cuda/cuda_array_interface.html, version 3."""
        return {"version": 3, "typestr": "|u1", "data": (self.address, False), "shape": (self.nbytes,), "strides": None}


@dataclass(frozen=True, slots=True)
class Place:
    """An array that holds x, and room for y."""

    array: Bytes
    y: Bytes


@dataclass(frozen=True, slots=True)
class Stage:
    """A case laid out on a device.

    Attributes:
        device: its context is current.
        pattern: what the arrays were filled with.
        case: array and permutation.
        dtype: of the elements, by name.
        places: each with an array of its own content; the first begins with the pattern.
        pitch: bytes from one place to the next, in both buffers.
    """

    device: Device
    pattern: Pattern
    case: Case
    dtype: str
    places: tuple[Place, ...]
    pitch: int

    @property
    def x(self) -> StridedView:
        """The elements of x, in an array at address 0."""
        return self.case.view(held_as(self.dtype).itemsize)

    @property
    def y(self) -> StridedView:
        """The elements of the result at address 0."""
        return c_order(self.case.turned, held_as(self.dtype).itemsize)

    @property
    def nbytes(self) -> int:
        """Of x, and of y."""
        return self.places[0].y.nbytes

    @property
    def expected(self) -> StridedView:
        """The elements that y shall hold at the first place, counted from the first byte of the pattern."""
        return self.x.permuted(self.case.axes)

    @property
    def copied(self) -> StridedView:
        """The same for a copy of the array as it lies in memory."""
        return StridedView(0, 1, (self.nbytes,), (1,))

    def outputs(self, expected: StridedView) -> Outputs:
        """All outputs, the first of which shall hold ``expected``."""
        return Outputs(self.places[0].y.address, expected, len(self.places), self.pitch)

    def download(self) -> AnyArray:
        """The array of the first place on the host, in the dtype that `held_as` says."""
        return self.places[0].array.buffer.download(self.case.whole, held_as(self.dtype))


def moved_by(view: StridedView, nbytes: int) -> StridedView:
    """Return the same view ``nbytes`` further on."""
    return replace(view, pointer=view.pointer + nbytes)


class Pools:
    """Two buffers, which grow with the largest case: arrays that are filled once, and outputs.

    Places follow one another in them: enough for `ROTATION_BYTES` to pass between two uses of one.
    """

    def __init__(self, device: Device) -> None:
        self.device = device
        self._pattern = Pattern(device)
        self._buffers: tuple[Buffer, ...] = ()

    def stage(self, case: Case, dtype: str) -> Stage:
        """Lay out a case.

        Raises:
            DeviceError: one place does not fit.
        """
        itemsize = held_as(dtype).itemsize
        array_bytes, nbytes = math.prod(case.whole) * itemsize, math.prod(case.shape) * itemsize
        pitch = PLACE_BYTES * math.ceil(array_bytes / PLACE_BYTES)
        fitting = int((self.device.free_bytes() + 2 * self._nbytes) * MEMORY_SHARE) // (2 * pitch)
        count = max(1, min(math.ceil(ROTATION_BYTES / (array_bytes + nbytes)), MAX_PLACES, fitting))
        self._reserve(count * pitch)
        arrays, outputs = self._buffers
        places = (
            Place(Bytes(arrays, place * pitch, array_bytes), Bytes(outputs, place * pitch, nbytes))
            for place in range(count)
        )
        return Stage(self.device, self._pattern, case, dtype, tuple(places), pitch)

    @property
    def _nbytes(self) -> int:
        return self._buffers[0].nbytes if self._buffers else 0

    def _reserve(self, nbytes: int) -> None:
        if nbytes > self._nbytes:
            self.close()
            self._buffers = (self.device.allocate(nbytes), self.device.allocate(nbytes))
            self._pattern.lay(self._buffers[0])

    def close(self) -> None:
        """Free the memory."""
        for buffer in self._buffers:
            buffer.close()
        self._buffers = ()

    def __enter__(self) -> "Pools":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
