"""A case: an array, a part of it and a permutation; and data on which a wrong result shows."""

from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from cornerturn.op.strided_view import AnyArray, StridedView, c_order, empty_c_order

DTYPES = ("uint8", "float16", "float32", "float64", "complex128")
"""One dtype for each size of an element."""

GPU_DTYPES = ("uint8", "bfloat16", "float32", "float64", "complex128")
"""The same on a GPU: what training and inference use there."""


@dataclass(frozen=True, slots=True)
class Case:
    """An array in C order, perhaps a part of it, and the permutation asked of that, as in ``numpy.transpose``.

    Attributes:
        whole: shape of the array.
        axes: axis ``axes[i]`` becomes axis i of the result.
        index: the part of the array that is x, as Python writes it: ``[:,1:]``; empty if it is all of it.
        dtype: of its elements, where that belongs to the case.
        label: what it is in real use, in a few words; two cases are equal whatever it says.
    """

    whole: tuple[int, ...]
    axes: tuple[int, ...]
    index: str = ""
    dtype: str = ""
    label: str = field(default="", compare=False)

    @property
    def name(self) -> str:
        """For example ``8192x8192`` or ``64x1024x1024:0,2,1``; axes that are only reversed are omitted."""
        array = "x".join(map(str, self.whole)) + self.index
        reverse = tuple(range(len(self.whole) - 1, -1, -1))
        return array if self.axes == reverse else f"{array}:{','.join(map(str, self.axes))}"

    @property
    def slices(self) -> tuple[slice, ...]:
        """``array[slices]`` is x."""
        return tuple(slice(*map(_bound, part.split(":"))) for part in self.index[1:-1].split(",")) if self.index else ()

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of x."""
        return self.view(1).shape

    @property
    def turned(self) -> tuple[int, ...]:
        """Shape of the result."""
        return tuple(self.shape[axis] for axis in self.axes)

    def view(self, itemsize: int) -> StridedView:
        """Return where the elements of x are, in an array at address 0.

        Example:
            >>> Case((4, 10), (1, 0), "[:,1::2]").view(4)
            StridedView(pointer=4, itemsize=4, shape=(4, 5), strides=(40, 8))
        """
        array = c_order(self.whole, itemsize)
        pointer, shape, strides = 0, list(array.shape), list(array.strides)
        for axis, part in enumerate(self.slices):
            kept = range(shape[axis])[part]
            pointer += kept.start * strides[axis]
            shape[axis], strides[axis] = len(kept), kept.step * strides[axis]
        return StridedView(pointer, itemsize, tuple(shape), tuple(strides))


def _bound(text: str) -> int | None:
    return int(text) if text else None


_HELD_AS = {"bfloat16": "float16", "float8_e4m3fn": "uint8"}


def held_as(dtype: str) -> np.dtype[Any]:
    """Return NumPy's dtype that holds the bits of ``dtype``: its own, or one of the same size where NumPy lacks it.

    Example:
        >>> held_as("float64"), held_as("bfloat16"), held_as("float8_e4m3fn")
        (dtype('float64'), dtype('float16'), dtype('uint8'))
    """
    return np.dtype(_HELD_AS.get(dtype, dtype))


def distinct_elements(shape: tuple[int, ...], dtype: str) -> AnyArray:
    """Return an array whose elements differ as far as their size allows, and are finite numbers in NumPy's dtypes.

    The numbers 0, 1, 2 ... are spread over all bits by a multiplication (Knuth's multiplicative hashing), so that
    neighbours along every axis differ in every byte. What NumPy lacks comes in the dtype that `held_as` says.
    """
    held = held_as(dtype)
    words = {1: "u4", 2: "u4", 4: "u4"}.get(held.itemsize, "u8")
    count = prod(shape) * (2 if held.kind == "c" else 1)
    spread = np.arange(count, dtype=words) * np.dtype(words).type(2654435761 if words == "u4" else 0x9E3779B97F4A7C15)
    part = held.itemsize // (2 if held.kind == "c" else 1)
    bits = (spread >> (8 * (spread.itemsize - part))).astype(f"u{part}")
    if held.kind in "fc":
        bits &= ~(1 << (8 * part - 2)) & (1 << 8 * part) - 1  # the exponent's first bit: neither infinite nor NaN
    x = empty_c_order(shape, held)
    x.reshape(-1).view(bits.dtype)[:] = bits
    return x


def as_matrices(case: Case) -> tuple[int, int, int] | None:
    """Return (batch, rows, cols) if the case transposes each matrix of a whole batch, else None.

    Example:
        >>> as_matrices(Case((64, 3, 512, 512), (0, 2, 3, 1)))
        (64, 3, 262144)
    """
    shape, ndim = case.whole, len(case.whole)
    for batch in range(ndim if not case.index else 0):
        for rows in range(batch + 1, ndim):
            if case.axes == (*range(batch), *range(rows, ndim), *range(batch, rows)):
                return prod(shape[:batch]), prod(shape[batch:rows]), prod(shape[rows:])
    return None
