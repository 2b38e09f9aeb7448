"""An array of any library as a pointer, a shape and strides; its elements are opaque bytes."""

import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cornerturn.errors import UsageError

AnyArray = NDArray[Any]

MAX_NDIM = 32
CACHE_LINE_BYTES = 64
_NO_AXES = (Set, Mapping, str, bytes, bytearray)  # they may hold integers, but in no order, or not as axes
_OVERLAP_EFFORT: Any = 100_000  # candidate solutions that NumPy may try before an overlap counts as possible


@dataclass(frozen=True, slots=True)
class StridedView:
    """Where an array's elements are.

    Attributes:
        pointer: address of element (0, ..., 0), any alignment.
        itemsize: bytes of one element.
        shape: extent of each axis, outermost first.
        strides: bytes from one element to the next along each axis; may be negative or zero.
        owner: the array, or whatever keeps its memory alive.
    """

    pointer: int
    itemsize: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    owner: Any = field(default=None, repr=False, compare=False)

    def permuted(self, axes: Sequence[int]) -> "StridedView":
        """Return the same elements with axis ``axes[i]`` in place i; nothing moves."""
        shape = tuple(self.shape[axis] for axis in axes)
        strides = tuple(self.strides[axis] for axis in axes)
        return StridedView(self.pointer, self.itemsize, shape, strides, self.owner)

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return math.prod(self.shape) * self.itemsize

    @property
    def reach(self) -> tuple[int, int]:
        """Bytes from ``pointer`` to the first byte of all elements, and past their last; 0 and 0 if there are none."""
        if 0 in self.shape:
            return 0, 0
        spans = [(extent - 1) * stride for extent, stride in zip(self.shape, self.strides, strict=True)]
        return sum(span for span in spans if span < 0), sum(span for span in spans if span > 0) + self.itemsize

    @property
    def nested(self) -> bool:
        """Whether each axis steps over all that the axes of smaller stride span, so that no two elements overlap."""
        span = self.itemsize
        for stride, extent in sorted(
            (abs(stride), extent) for extent, stride in zip(self.shape, self.strides, strict=True)
        ):
            if extent > 1 and stride < span:
                return 0 in self.shape
            span += (extent - 1) * stride
        return True


def c_order(shape: tuple[int, ...], itemsize: int, pointer: int = 0, owner: Any = None) -> StridedView:
    """Return the view of a C-contiguous array; without ``pointer``, of one to plan with, which has no memory.

    Example:
        >>> c_order((2, 3, 4), 8).strides
        (96, 32, 8)
    """
    strides = [itemsize]
    for extent in shape[:0:-1]:
        strides.append(strides[-1] * extent)
    return StridedView(pointer, itemsize, shape, tuple(reversed(strides)) if shape else (), owner)


def view_of(x: AnyArray) -> StridedView:
    """Return the strided view of a NumPy array."""
    return StridedView(x.ctypes.data, x.itemsize, x.shape, x.strides, x)


def normalized_axes(axes: Sequence[int] | None, ndim: int) -> tuple[int, ...]:
    """Return the permutation that ``axes`` means for an array of ``ndim`` axes, as NumPy reads it.

    None reverses the axes; negative axes count from the end.

    Example:
        >>> normalized_axes(None, 3), normalized_axes((0, -1, 1), 3)
        ((2, 1, 0), (0, 2, 1))

    Raises:
        UsageError: ``axes`` is not a sequence, or not a permutation of the array's axes.
    """
    if axes is None:
        return tuple(range(ndim - 1, -1, -1))
    try:
        if isinstance(axes, _NO_AXES) or any(isinstance(axis, bool) for axis in axes):
            raise TypeError
        given = tuple(axis.__index__() for axis in axes)
    except (TypeError, AttributeError):
        raise UsageError(f"axes must be a sequence of integers: got {axes!r}") from None
    normal = tuple(axis + ndim if axis < 0 else axis for axis in given)
    if sorted(normal) != list(range(ndim)):
        raise UsageError(f"axes must name each of the {ndim} axes of x once: got {given}")
    return normal


def empty_c_order(shape: tuple[int, ...], dtype: np.dtype[Any]) -> AnyArray:
    """Return an uninitialised C-contiguous array whose first element starts a cache line.

    NumPy's own allocations start 16 bytes past one, so that every 64-byte store would touch two.
    """
    nbytes = math.prod(shape) * dtype.itemsize
    buffer = np.empty(nbytes + CACHE_LINE_BYTES, dtype=np.uint8)
    start = -buffer.ctypes.data % CACHE_LINE_BYTES
    return np.ndarray(shape, dtype, buffer.data, start)


def check_ndim(ndim: int) -> None:
    """Raise UsageError if an array has more axes than the engines take."""
    if ndim > MAX_NDIM:
        raise UsageError(f"x has {ndim} axes, and at most {MAX_NDIM} are supported: reshape it first")


def check_destination(source: StridedView, destination: StridedView) -> None:
    """Raise UsageError if elements of ``out`` may share memory with each other, or share it with x.

    A pair that is too hard to decide counts as an overlap.
    """
    if not destination.nested:
        raise UsageError(
            f"out has strides of {destination.strides} bytes: several elements share one place; "
            "pass an array that owns each"
        )
    (start, end), (start_out, end_out) = bounds(source), bounds(destination)
    if end <= start_out or end_out <= start:
        return
    try:
        shared = bool(np.shares_memory(as_array(source), as_array(destination), max_work=_OVERLAP_EFFORT))
    except np.exceptions.TooHardError:
        shared = True
    if shared:
        raise UsageError(
            "out shares memory with x, and elements would be overwritten before they are read: "
            "pass an out of its own, or copy x first"
        )


def bounds(view: StridedView) -> tuple[int, int]:
    """Return the address of a view's first byte, and the one past its last; the same if it is empty."""
    first, past = view.reach
    return view.pointer + first, view.pointer + past


class _Memory:
    """A view as NumPy's array interface describes it."""

    def __init__(self, view: StridedView) -> None:
        self.__array_interface__ = {
            "version": 3,
            "typestr": f"|V{view.itemsize}",
            "data": (view.pointer, False),
            "shape": view.shape,
            "strides": view.strides,
        }


def as_array(view: StridedView) -> AnyArray:
    """Return an array of opaque elements over a view; the caller keeps its memory alive."""
    return np.asarray(_Memory(view))
