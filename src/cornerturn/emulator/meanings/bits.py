"""Logic, shifts and bit fields."""

from typing import Any

import numpy as np

from cornerturn.emulator.meanings.table import Meaning, Table, join, width
from cornerturn.emulator.types import Array

MEANINGS = Table()
meaning = MEANINGS.meaning


@meaning("and")
def bit_and(a: Array, b: Array) -> Array:
    return a & b


@meaning("or")
def bit_or(a: Array, b: Array) -> Array:
    return a | b


@meaning("xor")
def bit_xor(a: Array, b: Array) -> Array:
    return a ^ b


@meaning("not", "t = t")
def bit_not(a: Array) -> Array:
    return ~a


@meaning("cnot", "t = t")
def cnot(a: Array) -> Array:
    return (a == 0).astype(a.dtype)


@meaning("lop3", "t = t, t, t, u32")
def lop3(a: Array, b: Array, c: Array, table: Array) -> Array:
    result = a ^ a
    for row in range(8):
        chosen = (a if row & 4 else ~a) & (b if row & 2 else ~b) & (c if row & 1 else ~c)
        result = result | np.where((table >> row) & 1, chosen, a.dtype.type(0))
    return result


def _shift(a: Array, b: Array, shifted: Meaning) -> Array:
    """PTX shifts everything out at amounts of the width and above; NumPy leaves those undefined."""
    if np.ndim(b) == 0:
        return shifted(a, a.dtype.type(b)) if b < width(a) else a ^ a
    return np.where(b < width(a), shifted(a, (b & (width(a) - 1)).astype(a.dtype)), a.dtype.type(0))


@meaning("shl", "t = t, u32")
def shl(a: Array, b: Array) -> Array:
    return _shift(a, b, np.left_shift)


@meaning("shr", "t = t, u32")
def shr(a: Array, b: Array) -> Array:
    return _shift(a, np.minimum(b, width(a) - 1) if a.dtype.kind == "i" else b, np.right_shift)


@meaning("shf.l.wrap", "b32 = b32, b32, u32")
def shf_l(low: Array, high: Array, shift: Array) -> Array:
    return ((join([low, high], 32) << (shift & 31).astype(np.uint64)) >> np.uint64(32)).astype(np.uint32)


@meaning("shf.r.wrap", "b32 = b32, b32, u32")
def shf_r(low: Array, high: Array, shift: Array) -> Array:
    return (join([low, high], 32) >> (shift & 31).astype(np.uint64)).astype(np.uint32)


@meaning("shf.l.clamp", "b32 = b32, b32, u32")
def shf_l_clamp(low: Array, high: Array, shift: Array) -> Array:
    return np.where(shift < 32, shf_l(low, high, shift), low)


@meaning("shf.r.clamp", "b32 = b32, b32, u32")
def shf_r_clamp(low: Array, high: Array, shift: Array) -> Array:
    return np.where(shift < 32, shf_r(low, high, shift), high)


def _low_ones(length: Array, dtype: "np.dtype[Any]") -> Array:
    return ~shl(~dtype.type(0), length)


def _place(value: Array, dtype: "np.dtype[Any]") -> Array:
    """A field's position or length: of 32-bit instructions the low 8 bits count, of 64-bit ones all, as on an H200."""
    return value & 255 if dtype.itemsize == 4 else value


@meaning("bfe", "t = t, u32, u32")
def bfe(a: Array, position: Array, length: Array) -> Array:
    """A field that reaches past the top is filled with the sign (signed) or zero."""
    position, length = _place(position, a.dtype), _place(length, a.dtype)
    shifted, mask = shr(a, position), _low_ones(length, a.dtype)
    if a.dtype.kind == "u":
        return shifted & mask
    negative = (shr(shifted, np.maximum(length, 1) - 1) & 1).astype(bool) & (length > 0)
    return (shifted & mask) | np.where(negative, ~mask, a.dtype.type(0))


@meaning("bfi", "t = t, t, u32, u32")
def bfi(a: Array, b: Array, position: Array, length: Array) -> Array:
    position, length = _place(position, a.dtype), _place(length, a.dtype)
    mask = shl(_low_ones(length, a.dtype), position)
    return (b & ~mask) | (shl(a, position) & mask)


@meaning("bmsk.clamp", "b32 = u32, u32")
def bmsk_clamp(position: Array, length: Array) -> Array:
    return shl(_low_ones(length, length.dtype), position)


@meaning("popc", "u32 = t")
def popc(a: Array) -> Array:
    return np.bitwise_count(a)


@meaning("clz", "u32 = t")
def clz(a: Array) -> Array:
    for shift in (1, 2, 4, 8, 16, 32)[: width(a).bit_length() - 1]:
        a = a | (a >> a.dtype.type(shift))
    return (width(a) - np.bitwise_count(a).astype(np.int64)).astype(np.uint32)


@meaning("bfind", "u32 = t")
def bfind(a: Array) -> Array:
    bits = np.where(a < 0, ~a, a).astype(f"u{a.dtype.itemsize}")
    return np.uint32(width(a) - 1) - clz(bits)


@meaning("bfind.shiftamt", "u32 = t")
def bfind_shift_amount(a: Array) -> Array:
    """How far to shift left until the bit found is the top one."""
    found = bfind(a)
    return np.where(found == ~np.uint32(0), found, np.uint32(width(a) - 1) - found)


@meaning("brev", "t = t")
def brev(a: Array) -> Array:
    masks = {1: 0x5555555555555555, 2: 0x3333333333333333, 4: 0x0F0F0F0F0F0F0F0F}
    for shift, mask in masks.items():
        keep = a.dtype.type(mask & (2 ** width(a) - 1))
        a = ((a >> a.dtype.type(shift)) & keep) | ((a & keep) << a.dtype.type(shift))
    return np.asarray(a).byteswap()


def _permute(a: Array, b: Array, selector: Array) -> Array:
    """Byte k of the result is byte ``selector[k] & 7`` of b:a; bit 3 of the nibble spreads that byte's sign."""
    both = join([a, b], 32)
    parts = []
    for k in range(4):
        nibble = (selector >> (4 * k)) & 15
        byte = ((both >> ((nibble & 7).astype(np.uint64) * np.uint64(8))) & np.uint64(255)).astype(np.uint32)
        sign = np.where(byte & 128, np.uint32(255), np.uint32(0))
        parts.append(np.where(nibble & 8, sign, byte))
    return join(parts, 8)


meaning("prmt", "b32 = b32, b32, b32")(_permute)


def _permute_mode(selectors: tuple[int, int, int, int]) -> Meaning:
    table = np.array(selectors, dtype=np.uint32)
    return lambda a, b, c: _permute(a, b, table[c & 3])


for _mode, _selectors in {
    "f4e": (0x3210, 0x4321, 0x5432, 0x6543),
    "b4e": (0x5670, 0x6701, 0x7012, 0x0123),
    "rc8": (0x0000, 0x1111, 0x2222, 0x3333),
    "ecl": (0x3210, 0x3211, 0x3222, 0x3333),
    "ecr": (0x0000, 0x1110, 0x2210, 0x3210),
    "rc16": (0x1010, 0x3232, 0x1010, 0x3232),
}.items():
    meaning(f"prmt.{_mode}", "b32 = b32, b32, b32")(_permute_mode(_selectors))
