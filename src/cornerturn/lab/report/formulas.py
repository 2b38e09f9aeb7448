"""Addresses as formulas: found from the addresses themselves, and checked against every one of them.

An address is tried as a sum over the bits of the thread's coordinates, which covers ``threadIdx.x / 16`` and
``threadIdx.x % 16``, then as an exclusive or of them, which covers swizzles.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Threads:
    """The threads that make the accesses, one entry per lane.

    Attributes:
        tx, ty: coordinates in the block.
        bx, by: coordinates of the block in the grid.
    """

    tx: Integers
    ty: Integers
    bx: Integers
    by: Integers


@dataclass(frozen=True)
class NamedMatrix:
    """A matrix and the names of its extents.

    Attributes:
        rows, cols: numbers of elements.
        height, pitch: their names, ``rows`` and ``cols`` for x.
    """

    name: str
    rows: int
    cols: int
    height: str
    pitch: str


def element_formula(matrix: NamedMatrix, threads: Threads, index: Integers) -> str:
    """The coordinates of the elements at flat ``index``, as ``x[32*by + ty, 32*bx + tx]``; empty if none is found.

    Example:
        >>> tx, zero = np.arange(32), np.zeros(32, dtype=np.int64)
        >>> threads, x = Threads(tx, zero, zero, zero), NamedMatrix("x", 64, 64, "rows", "cols")
        >>> element_formula(x, threads, tx * 64), element_formula(x, threads, tx * 2 + 128)
        ('x[tx, 0]', 'x[2, 2*tx]')
    """
    row, col = np.divmod(index, matrix.cols)
    first, second = sum_formula(threads, row), sum_formula(threads, col)
    if first and second:
        return f"{matrix.name}[{first}, {second}]"
    if along := sum_formula(threads, index):
        return f"{matrix.name}[i / {matrix.pitch}, i % {matrix.pitch}] with i = {along}"
    if turned := sum_formula(threads, col * matrix.rows + row):
        return f"{matrix.name}[i % {matrix.height}, i / {matrix.height}] with i = {turned}"
    return ""


def byte_formula(threads: Threads, offset: Integers) -> str:
    """The byte offsets in a block's shared memory, as ``132*ty + 4*tx``; empty if no formula is found.

    Example:
        >>> tx, zero = np.arange(256), np.zeros(256, dtype=np.int64)
        >>> byte_formula(Threads(tx, zero, zero, zero), 4 * (tx ^ (tx // 16)))
        '4*tx ^ 4*(tx / 16)'
    """
    return sum_formula(threads, offset) or xor_formula(threads, offset)


def sum_formula(threads: Threads, target: Integers) -> str:
    """``target`` as a sum over the block's coordinates and the bits of the thread's, or nothing."""
    names = [("by", 0), ("bx", 0), *_bit_names("ty", threads.ty), *_bit_names("tx", threads.tx)]
    columns = [threads.by, threads.bx, *_bits(threads.ty), *_bits(threads.tx)]
    varying = [(name, column) for name, column in zip(names, columns, strict=True) if np.ptp(column)]
    matrix = np.stack([np.ones_like(target), *(column for _, column in varying)], axis=1)
    solution = np.rint(np.linalg.lstsq(matrix.astype(float), target.astype(float), rcond=None)[0]).astype(np.int64)
    if (matrix @ solution != target).any():
        return ""
    constant, *factors = map(int, solution)
    weights = {name: factor for (name, _), factor in zip(varying, factors, strict=True) if factor}
    terms = [_scaled(weights[name, 0], name) for name in ("by", "bx") if (name, 0) in weights]
    for name, coordinate in (("ty", threads.ty), ("tx", threads.tx)):
        bits = [(bit, weights[name, bit]) for _, bit in _bit_names(name, coordinate) if (name, bit) in weights]
        terms += _runs(name, bits, len(_bits(coordinate)))
    return " + ".join([*terms, str(constant)] if constant or not terms else terms).replace("+ -", "- ")


def xor_formula(threads: Threads, target: Integers) -> str:
    """``target`` as an exclusive or of shifted bits of the thread's coordinates, or nothing."""
    coordinates = (("tx", threads.tx), ("ty", threads.ty))
    bits = [column for _, coordinate in coordinates for column in _bits(coordinate)]
    masks = _masks(bits, target)
    found = np.bitwise_xor.reduce([mask * column for mask, column in zip(masks, bits, strict=True)] or [target * 0])
    constant = int(target[0] ^ found[0])
    if (found ^ constant != target).any():
        return ""
    terms: list[str] = []
    for name, coordinate in coordinates:
        count = len(_bits(coordinate))
        own, masks = masks[:count], masks[count:]
        shifts = sorted({up - bit for bit, mask in enumerate(own) for up in _ones(mask)}, reverse=True)
        for shift in shifts:
            moved = [(bit, 1 << bit + shift) for bit, mask in enumerate(own) if bit + shift in _ones(mask)]
            terms += _runs(name, moved, count)
    return " ^ ".join([*terms, str(constant)] if constant or not terms else terms)


def _masks(bits: Sequence[Integers], target: Integers) -> list[int]:
    """What each bit adds by exclusive or: Gaussian elimination over the two-element field, free bits add nothing."""
    vectors = sum((column << n for n, column in enumerate(bits)), np.zeros_like(target))
    reduced: dict[int, tuple[int, int]] = {}
    for vector, share in zip((vectors ^ vectors[0]).tolist(), (target ^ target[0]).tolist(), strict=True):
        while vector and (high := vector.bit_length() - 1) in reduced:
            vector, share = vector ^ reduced[high][0], share ^ reduced[high][1]
        if vector:
            reduced[high] = vector, share
    masks = [0] * len(bits)
    for high, (vector, share) in sorted(reduced.items()):
        for lower in _ones(vector ^ 1 << high):
            share ^= masks[lower]
        masks[high] = share
    return masks


def _ones(number: int) -> list[int]:
    """Positions of the bits that are set."""
    return [bit for bit in range(number.bit_length()) if number >> bit & 1]


def _bits(coordinate: Integers) -> list[Integers]:
    return [coordinate >> bit & 1 for bit in range(int(coordinate.max()).bit_length())]


def _bit_names(name: str, coordinate: Integers) -> list[tuple[str, int]]:
    return [(name, bit) for bit in range(len(_bits(coordinate)))]


def _runs(name: str, bits: Sequence[tuple[int, int]], count: int) -> list[str]:
    """Terms for bits and what each adds: neighbours that double are one part of the coordinate."""

    def same(numbered: tuple[int, tuple[int, int]]) -> tuple[int, float]:
        number, (bit, weight) = numbered
        return bit - number, weight / (1 << bit)

    terms = []
    for _, run in groupby(enumerate(bits), key=same):
        members: list[tuple[int, int]] = [each for _, each in run]
        low, high, weight = members[0][0], members[-1][0] + 1, members[0][1]
        terms.append(_scaled(weight, _part(name, low, high, count)))
    return terms[::-1]


def _part(name: str, low: int, high: int, count: int) -> str:
    """Bits ``low`` to ``high`` of a coordinate of ``count`` bits."""
    shifted = f"{name} / {1 << low}" if low else name
    if high == count:
        return f"({shifted})" if low else name
    return f"({shifted} % {1 << high - low})"


def _scaled(factor: int, term: str) -> str:
    return term if factor == 1 else f"{factor}*{term}"
