"""What is compared: shapes and permutations from real use, and data on which a wrong result shows."""

import re
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from cornerturn.errors import UsageError
from cornerturn.op.strided_view import AnyArray, empty_c_order

DTYPES = ("uint8", "float16", "float32", "float64", "complex128")
"""One dtype for each size of an element."""

GPU_DTYPES = ("uint8", "bfloat16", "float32", "float64", "complex128")
"""The same on a GPU: what training and inference use there."""


@dataclass(frozen=True, slots=True)
class Case:
    """A shape in C order and the permutation asked of it, as in ``numpy.transpose``."""

    shape: tuple[int, ...]
    axes: tuple[int, ...]

    @property
    def name(self) -> str:
        """For example ``8192x8192`` or ``64x1024x1024:0,2,1``; axes that are only reversed are left away."""
        shape = "x".join(map(str, self.shape))
        reverse = tuple(range(len(self.shape) - 1, -1, -1))
        return shape if self.axes == reverse else f"{shape}:{','.join(map(str, self.axes))}"

    @property
    def turned(self) -> tuple[int, ...]:
        """Shape of the result."""
        return tuple(self.shape[axis] for axis in self.axes)


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
        (Case(shape=(2, 3, 4), axes=(1, 0, 2)),)
        >>> len(parse_case("small"))
        6

    Raises:
        UsageError: it names none.
    """
    if text in GROUPS:
        return GROUPS[text]
    match = re.fullmatch(r"([0-9]{1,18}(?:x[0-9]{1,18})*)(?::([0-9]{1,2}(?:,[0-9]{1,2})*))?", text)
    if match:
        shape = tuple(map(int, match[1].split("x")))
        axes = tuple(map(int, match[2].split(","))) if match[2] else tuple(range(len(shape) - 1, -1, -1))
        if min(shape) > 0 and sorted(axes) == list(range(len(shape))):
            return (Case(shape, axes),)
    raise UsageError(f"unknown case {text!r}: give {', '.join(GROUPS)}, 8192x8192, or 64x1024x1024:0,2,1")


def held_as(dtype: str) -> np.dtype[Any]:
    """Return NumPy's dtype that holds the bits of ``dtype``: its own, or for bfloat16, which it lacks, float16.

    The first bit of the exponent is the same in both.

    Example:
        >>> held_as("float64"), held_as("bfloat16")
        (dtype('float64'), dtype('float16'))
    """
    return np.dtype("float16" if dtype == "bfloat16" else dtype)


def distinct(shape: tuple[int, ...], dtype: str) -> AnyArray:
    """Return an array whose elements differ as far as their size allows, and are finite numbers in every dtype.

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
    """Return (batch, rows, cols) if the case transposes each matrix of a batch, else None.

    Example:
        >>> as_matrices(Case((64, 3, 512, 512), (0, 2, 3, 1)))
        (64, 3, 262144)
    """
    ndim = len(case.shape)
    for batch in range(ndim):
        for rows in range(batch + 1, ndim):
            if case.axes == (*range(batch), *range(rows, ndim), *range(batch, rows)):
                return prod(case.shape[:batch]), prod(case.shape[batch:rows]), prod(case.shape[rows:])
    return None
