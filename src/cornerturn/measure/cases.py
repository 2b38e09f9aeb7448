"""What is compared: shapes and permutations from real use, and data on which a wrong result shows."""

import re
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from cornerturn.errors import UsageError
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
        label: what it is in real use, in a few words; two cases are equal whatever it says.
    """

    whole: tuple[int, ...]
    axes: tuple[int, ...]
    index: str = ""
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


LARGE = (
    Case((8192, 8192), (1, 0)),
    Case((8191, 8193), (1, 0)),
    Case((4096, 4096), (1, 0)),
    Case((1024, 1024), (1, 0)),
    Case((16777216, 3), (1, 0)),
    Case((3, 16777216), (1, 0)),
    Case((64, 1024, 1024), (0, 2, 1)),
    Case((64, 3, 512, 512), (0, 2, 3, 1)),
    Case((64, 512, 512, 3), (0, 3, 1, 2)),
    Case((64, 128, 64, 64), (0, 2, 3, 1)),
    Case((16, 2048, 16, 128), (0, 2, 1, 3)),
    Case((256, 256, 256), (2, 1, 0)),
    Case((1000, 1000, 64), (1, 0, 2)),
)
SMALL = tuple(Case((size, size), (1, 0)) for size in (8, 16, 32, 64, 128, 256))

GROUPS = {"large": LARGE, "small": SMALL}


def parse_case(text: str) -> tuple[Case, ...]:
    """Return the cases that ``text`` names: a group, or one case written as `Case.name` writes it.

    Example:
        >>> parse_case("2x3x4:1,0,2")
        (Case(whole=(2, 3, 4), axes=(1, 0, 2), index='', label=''),)
        >>> len(parse_case("small"))
        6

    Raises:
        UsageError: it names none.
    """
    if text in GROUPS:
        return GROUPS[text]
    match = re.fullmatch(_NAME, text)
    if match:
        whole = tuple(map(int, match["whole"].split("x")))
        axes = tuple(map(int, match["axes"].split(","))) if match["axes"] else tuple(range(len(whole) - 1, -1, -1))
        case = Case(whole, axes, match["index"] or "")
        if min(whole) > 0 and sorted(axes) == list(range(len(whole))) and _is_part(case):
            return (case,)
    examples = "8192x8192, 64x1024x1024:0,2,1, or a part of an array: 8192x8192[:,1:]"
    raise UsageError(f"unknown case {text!r}: give {', '.join(GROUPS)}, {examples}")


_SLICE = "[0-9]{0,18}:[0-9]{0,18}(?::[0-9]{0,18})?"
_NAME = (
    "(?P<whole>[0-9]{1,18}(?:x[0-9]{1,18})*)"
    rf"(?P<index>\[{_SLICE}(?:,{_SLICE})*\])?"
    "(?::(?P<axes>[0-9]{1,2}(?:,[0-9]{1,2})*))?"
)


def _is_part(case: Case) -> bool:
    slices = case.slices
    return len(slices) <= len(case.whole) and all(part.step != 0 for part in slices) and min(case.shape) > 0


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
