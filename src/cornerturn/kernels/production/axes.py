"""A move's axes, as the production kernels take them: packed into one structure that a launch passes by value.

A move is an element size and its axes, each ``(extent, bytes to the next element of x, the same of y)``, ordered as y
lies in memory, outermost first.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

UNIT = 16
"""Bytes of the access of one thread."""
SECTOR = 32
"""Bytes that memory moves at least."""
AXES_ROOM = (2, 4, 8, 16, 40)
"""Axes for which kernels have room. An array has at most 32; tiles and halves of axes come on top."""
MAX_BLOCKS = 2**31 - 1
"""Along gridDim.x (CUDA C++ Programming Guide, compute capabilities)."""
INDEX_LIMIT = 2**31
"""Numbers below it are divided exactly by the kernels' multiplication."""
MAX_EXTENT = INDEX_LIMIT - 4096
"""The longest axis: with a tile's width more, below 2^31, so that no coordinate in the last tile overflows."""

MoveAxis = tuple[int, int, int]
"""Extent, and the bytes from one element to the next in x and in y."""

_AXIS = np.dtype([("extent", "u4"), ("magic", "u4"), ("shift", "u4"), ("unused", "u4"), ("in", "i8"), ("out", "i8")])


def room_for(count: int) -> int:
    """Return for how many axes a kernel is compiled that is to take ``count``."""
    return next(room for room in AXES_ROOM if count <= room)


def pack_axes(axes: Sequence[MoveAxis]) -> np.generic:
    """Return the structure ``Axes`` of ``common.cu`` with these axes, the first one fastest."""
    packed: Any = np.zeros((), _axes_type(room_for(len(axes))))
    packed["count"] = len(axes)
    for place, (extent, stride_in, stride_out) in enumerate(axes):
        packed["axis"][place] = (extent, *division(extent), 0, stride_in, stride_out)
    return packed[()]  # type: ignore[no-any-return]


def _axes_type(room: int) -> np.dtype[Any]:
    return np.dtype([("count", "u4"), ("unused", "u4", 3), ("axis", _AXIS, room)])


def division(divisor: int) -> tuple[int, int]:
    """Return ``magic, shift`` with which the kernels divide by ``divisor``.

    ``n // divisor == (magic * n // 2**32 + n) >> shift`` for 0 <= n < 2**31.
    Source: T. Granlund, P. Montgomery, Division by Invariant Integers using Multiplication, 1994.
    """
    shift = (divisor - 1).bit_length()
    return ((1 << 32) * ((1 << shift) - divisor)) // divisor + 1, shift


def ends_in(element: int, axes: Sequence[MoveAxis]) -> dict[str, int]:
    """Return where x's own bytes begin and end, from its element (0, ..., 0), as the kernels take it."""
    spans = [(extent - 1) * stride_in for extent, stride_in, _ in axes]
    return {
        "x_first": sum(min(span, 0) for span in spans),
        "x_end": sum(max(span, 0) for span in spans) + element,
    }


def count_blocks(axes: Sequence[MoveAxis]) -> int:
    """Return how many blocks it takes to number these axes."""
    return math.prod(extent for extent, _, _ in axes)
