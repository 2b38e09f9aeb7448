"""Test matrices: data that exposes every wrong transpose, and the comparison that finds every wrong element.

Elements are opaque words of 1, 2, 4, 8 or 16 bytes: a transpose moves bits, and only bits are compared. Float data
would not do: ``arange`` repeats values above 2**24, and NaN differs from itself.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cornerturn.errors import UsageError
from cornerturn.wording import of_all

Shape = tuple[int, int]
"""Rows and cols of x."""

Matrix = NDArray[Any]
"""Elements of one of the dtypes of `WORDS`."""

WORDS: dict[int, np.dtype[Any]] = {
    1: np.dtype("u1"),
    2: np.dtype("u2"),
    4: np.dtype("u4"),
    8: np.dtype("u8"),
    16: np.dtype([("low", "u8"), ("high", "u8")]),
}
"""The dtype of an element by its size in bytes."""

ELEMENT_BYTES = 4
"""The size of an element where none is given."""

_CHUNK = 1 << 16  # elements; the temporaries of a chunk stay in the cache


def scramble(index: NDArray[np.uint64]) -> NDArray[np.uint32]:
    """A ``uint32`` for each index below 2**64; any two indices below 2**32 give different ones.

    The 32-bit finalizer of MurmurHash3, which is a bijection: all kinds of bit patterns occur, ``float32`` NaNs
    among them. The upper half of an index is folded in first, so that an index cut to 32 bits is noticed.

    Example:
        >>> scramble(np.array([1, 1 + 2**32], dtype=np.uint64))
        array([1364076727, 2789948889], dtype=uint32)
    """
    word = (index + (index >> np.uint64(32)) * np.uint64(0x9E3779B1)).astype(np.uint32)
    word ^= word >> np.uint32(16)
    word *= np.uint32(0x85EBCA6B)
    word ^= word >> np.uint32(13)
    word *= np.uint32(0xC2B2AE35)
    word ^= word >> np.uint32(16)
    return word


def distinct(rows: int, cols: int, element_bytes: int = ELEMENT_BYTES) -> Matrix:
    """A rows x cols matrix whose elements are as distinct as their size allows.

    Elements of 4 bytes and more all differ from each other, up to 2**32 of them. Smaller ones cannot; neighbours
    along a row and along a column do differ, and everything else repeats without a pattern.

    Args:
        element_bytes: 1, 2, 4, 8 or 16.

    Example:
        >>> x = distinct(3, 5)
        >>> x.shape, x.dtype.name, np.unique(x).size
        ((3, 5), 'uint32', 15)
    """
    x = np.empty(rows * cols, dtype=WORDS[element_bytes])
    for start in range(0, x.size, _CHUNK):
        index = np.arange(start, min(start + _CHUNK, x.size), dtype=np.uint64)
        part = x[start : start + index.size]
        if element_bytes < 4:
            part[:] = scramble(index) >> np.uint32(8 * (4 - element_bytes)) & ~np.uint32(1) | _chequered(index, cols)
        else:
            words = part.view(np.uint32).reshape(index.size, -1)
            for number in range(words.shape[1]):
                words[:, number] = scramble(index + np.uint64(number << 32))
    return x.reshape(rows, cols)


def _chequered(index: NDArray[np.uint64], cols: int) -> NDArray[np.uint32]:
    """0 and 1 alternating, along rows and along columns."""
    row, col = np.divmod(index, np.uint64(cols))
    return ((row + col) & np.uint64(1)).astype(np.uint32)


def words_of(x: NDArray[Any]) -> Matrix:
    """View a matrix of any elements as words of their size; nothing is copied.

    Raises:
        UsageError: ``x`` is not a C-contiguous matrix of 1-, 2-, 4-, 8- or 16-byte elements, or is empty.

    Example:
        >>> words_of(np.ones((1, 2), dtype=np.float32))
        array([[1065353216, 1065353216]], dtype=uint32)
    """
    if not isinstance(x, np.ndarray) or isinstance(x, np.ma.MaskedArray):
        raise UsageError(f"x must be a plain NumPy array: got {type(x).__name__}; numpy.asarray(x) may make one")
    if x.ndim != 2 or x.size == 0:
        raise UsageError(f"x must have two axes, rows and cols, and an element: got shape {x.shape}")
    if x.dtype.itemsize not in WORDS or x.dtype.hasobject:
        raise UsageError(f"x must have elements of 1, 2, 4, 8 or 16 bytes, such as float32: got {x.dtype}")
    if not x.flags.c_contiguous:
        raise UsageError("x must be C-contiguous: pass numpy.ascontiguousarray(x)")
    return np.asarray(x).view(WORDS[x.dtype.itemsize])


def poison(expected: Matrix) -> Matrix:
    """A C-contiguous matrix that differs from ``expected`` everywhere: the output before the kernel runs."""
    poisoned = np.array(expected, order="C")
    bits = poisoned.reshape(-1).view(np.uint8)
    np.invert(bits, out=bits)
    return poisoned


@dataclass(frozen=True)
class Mismatch:
    """What is wrong with an output.

    Attributes:
        wrong: elements whose bits differ from the expected ones.
        unwritten: how many of these were never written; judged by the output alone, how many still hold poison.
        elements: elements of the output.
        row, col: the first wrong element of the output, in row-major order.
        got, expected: its bits, and what they should be.
        element_bytes: size of an element.
    """

    wrong: int
    unwritten: int
    elements: int
    row: int
    col: int
    got: int
    expected: int
    element_bytes: int

    def __str__(self) -> str:
        never = f", {self.unwritten} of them never written" if self.unwritten else ""
        digits = 2 * self.element_bytes
        return (
            f"{of_all(self.wrong, self.elements, 'element')} wrong{never}; the first is "
            f"y[{self.row}, {self.col}]: got 0x{self.got:0{digits}x}, expected 0x{self.expected:0{digits}x}"
        )


def find_mismatch(output: Matrix, expected: Matrix) -> Mismatch | None:
    """None if both hold the same bits, else what is wrong.

    Args:
        output: what a kernel left of `poison(expected)`.
        expected: same shape, any strides.

    Example:
        >>> x = distinct(2, 3)
        >>> print(find_mismatch(poison(x.T), x.T).wrong, find_mismatch(x.T.copy(), x.T))
        6 None
    """
    wrong = output != expected
    count = int(np.count_nonzero(wrong))
    if count == 0:
        return None
    row, col = divmod(int(np.argmax(wrong)), output.shape[1])
    return Mismatch(
        wrong=count,
        unwritten=int(np.count_nonzero(output == poison(expected))),
        elements=output.size,
        row=row,
        col=col,
        got=bits_of(output[row, col]),
        expected=bits_of(expected[row, col]),
        element_bytes=output.itemsize,
    )


def bits_of(element: np.generic) -> int:
    """The bits of an element as a number.

    Example:
        >>> bits_of(np.uint16(258)), bits_of(np.array((1, 2), WORDS[16])[()]) == 2**65 + 1
        (258, True)
    """
    return int.from_bytes(element.tobytes(), "little")


def require_memory(
    rows: int, cols: int, free_device_bytes: int | None = None, element_bytes: int = ELEMENT_BYTES
) -> None:
    """Refuse a size whose run does not fit the memory that is free now; nothing is allocated to find out.

    Args:
        rows, cols: of x.
        free_device_bytes: free memory of the GPU that is to hold x and y, None for a run on the emulator.
        element_bytes: size of an element.

    Raises:
        UsageError: it does not fit; the message names how much is needed and how much is free.
    """
    matrix = rows * cols * element_bytes
    # x, y, the mask of wrong elements, and the emulator's record of which bytes of y were written by which thread.
    spaces = [("main memory", 3 * matrix + rows * cols + 8 * max(matrix // 4, rows * cols), available_host_bytes())]
    if free_device_bytes is not None:
        spaces.append(("device memory", 2 * matrix, free_device_bytes))
    for space, needed, available in spaces:
        if needed > available:
            raise UsageError(
                f"size {rows}x{cols} needs {needed / 1e9:,.1f} GB of {space} "
                f"and {available / 1e9:,.1f} GB are free: choose a smaller size"
            )


def available_host_bytes() -> int:
    """Bytes of main memory that this process may still take: free memory, within the container's limit.

    On Linux, ``MemAvailable`` of ``/proc/meminfo`` and the control group's ``memory.max``; elsewhere physical
    memory where the system tells it, else there is no bound.
    """
    bounds = []
    meminfo = Path("/proc/meminfo")
    if meminfo.exists():
        fields = dict(line.split(":", 1) for line in meminfo.read_text().splitlines())
        bounds.append(int(fields["MemAvailable"].split()[0]) * 1024)
    elif hasattr(os, "sysconf"):
        bounds.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    group_limit = Path("/sys/fs/cgroup/memory.max")
    if group_limit.exists() and (limit := group_limit.read_text().strip()) != "max":
        bounds.append(int(limit))
    return min(bounds, default=2**63)
