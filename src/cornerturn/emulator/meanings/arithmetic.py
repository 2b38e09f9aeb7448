"""Integer and floating-point arithmetic."""

from fractions import Fraction

import numpy as np

from cornerturn.emulator.meanings.table import Meaning, Table, split, width
from cornerturn.emulator.types import Array

MEANINGS = Table()
meaning = MEANINGS.meaning


@meaning("add")
def add(a: Array, b: Array) -> Array:
    return a + b


@meaning("sub")
def sub(a: Array, b: Array) -> Array:
    return a - b


@meaning("mul")
@meaning("mul.lo")
def mul(a: Array, b: Array) -> Array:
    return a * b


@meaning("mul.wide", "wide = t, t")
def mul_wide(a: Array, b: Array) -> Array:
    wide = np.dtype(f"{a.dtype.kind}{2 * a.dtype.itemsize}")
    return a.astype(wide) * b.astype(wide)


@meaning("mul.hi")
def mul_hi(a: Array, b: Array) -> Array:
    if width(a) < 64:
        return (mul_wide(a, b) >> mul_wide(a, b).dtype.type(width(a))).astype(a.dtype)
    x, y = a.astype(np.uint64), b.astype(np.uint64)
    (x0, x1), (y0, y1) = ([part.astype(np.uint64) for part in split(v, 2)] for v in (x, y))
    half = np.uint64(32)
    middle = x1 * y0 + ((x0 * y0) >> half)
    carry = x0 * y1 + (middle & np.uint64(0xFFFFFFFF))
    high = x1 * y1 + (middle >> half) + (carry >> half)
    if a.dtype.kind == "i":
        high = high - np.where(a < 0, y, np.uint64(0)) - np.where(b < 0, x, np.uint64(0))
    return high.astype(a.dtype)


@meaning("mul24.lo")
def mul24(a: Array, b: Array) -> Array:
    unused = a.dtype.type(8)
    return ((a << unused) >> unused) * ((b << unused) >> unused)


@meaning("mad.lo", "t = t, t, t")
def mad(a: Array, b: Array, c: Array) -> Array:
    return a * b + c


@meaning("mad.hi", "t = t, t, t")
def mad_hi(a: Array, b: Array, c: Array) -> Array:
    return mul_hi(a, b) + c


@meaning("mad.wide", "wide = t, t, wide")
def mad_wide(a: Array, b: Array, c: Array) -> Array:
    return mul_wide(a, b) + c


@meaning("sad", "t = t, t, t")
def sad(a: Array, b: Array, c: Array) -> Array:
    return c + np.where(a < b, b - a, a - b)


def _field(word: Array, place: int, bits: int) -> Array:
    """Bits of a word, extended by its sign if it has one."""
    return (word << (32 - bits * (place + 1))) >> (32 - bits)


def _dot(halves: int) -> Meaning:
    """Two halves of a by the two bytes of b that begin at byte ``halves``."""

    def dp2a(a: Array, b: Array, c: Array) -> Array:
        parts = (_field(a, k, 16).astype(c.dtype) * _field(b, halves + k, 8).astype(c.dtype) for k in (0, 1))
        return c + sum(parts)

    return dp2a


meaning("dp2a.lo", "t = t, t2, t")(_dot(0))
meaning("dp2a.hi", "t = t, t2, t")(_dot(2))


@meaning("dp4a", "t = t, t2, t")
def dp4a(a: Array, b: Array, c: Array) -> Array:
    return c + sum(_field(a, k, 8).astype(c.dtype) * _field(b, k, 8).astype(c.dtype) for k in range(4))


@meaning("div")
def div(a: Array, b: Array) -> Array:
    if a.dtype.kind == "f":
        return a / b
    safe = np.where(b == 0, b.dtype.type(1), b)
    quotient = a // safe
    if a.dtype.kind == "i":  # NumPy rounds down, C towards zero
        quotient = quotient + ((quotient * safe != a) & ((a < 0) != (safe < 0)))
    return np.where(b == 0, ~a.dtype.type(0), quotient).astype(a.dtype)


@meaning("rem")
def rem(a: Array, b: Array) -> Array:
    return np.where(b == 0, a, a - div(a, b) * b)


@meaning("abs", "t = t")
def absolute(a: Array) -> Array:
    return np.abs(a)


@meaning("neg", "t = t")
def neg(a: Array) -> Array:
    return -a


@meaning("min")
def minimum(a: Array, b: Array) -> Array:
    return _number(minimum_nan(a, b), a, b)


@meaning("max")
def maximum(a: Array, b: Array) -> Array:
    return _number(maximum_nan(a, b), a, b)


@meaning("min.NaN")
def minimum_nan(a: Array, b: Array) -> Array:
    return _ordered(np.minimum, a, b, tie=np.bitwise_or)


@meaning("max.NaN")
def maximum_nan(a: Array, b: Array) -> Array:
    return _ordered(np.maximum, a, b, tie=np.bitwise_and)


def _ordered(choose: Meaning, a: Array, b: Array, tie: Meaning) -> Array:
    """NaN, the canonical one, if either is; of equal floats, which differ in the sign of zero only, ``tie``."""
    if a.dtype.kind != "f":
        return choose(a, b)
    bits = np.dtype(f"u{a.dtype.itemsize}")
    chosen = np.where(a == b, tie(a.view(bits), b.view(bits)).view(a.dtype), choose(a, b))
    return np.where(np.isnan(chosen), (~bits.type(0) >> bits.type(1)).view(a.dtype), chosen)


def _number(chosen: Array, a: Array, b: Array) -> Array:
    """The other operand where exactly one is NaN."""
    if a.dtype.kind != "f":
        return chosen
    return np.where(np.isnan(a) & ~np.isnan(b), b, np.where(np.isnan(b) & ~np.isnan(a), a, chosen))


@meaning("fma", "t = t, t, t")
def fma(a: Array, b: Array, c: Array) -> Array:
    """One rounding. Below double: the sum is rounded to odd in double, which the result's own rounding cannot spoil."""
    if a.dtype == np.float64:
        return np.asarray(_fma64(a, b, c), dtype=np.float64)
    product, addend = a.astype(np.float64) * b.astype(np.float64), c.astype(np.float64)
    total = np.asarray(product + addend)
    back = total - product
    error = (product - (total - back)) + (addend - back)
    even = (total.view(np.uint64) & np.uint64(1)) == 0
    inexact = np.isfinite(total) & (error != 0) & even
    towards = np.where(error > 0, np.inf, -np.inf)
    return np.where(inexact, np.nextafter(total, towards), total)


def _fma64_one(a: float, b: float, c: float) -> float:
    if not np.isfinite([a, b, c]).all() or a == 0 or b == 0:
        return a * b + c
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    try:
        return float(exact) if exact else a * b + c
    except OverflowError:
        return float(np.copysign(np.inf, 1 if exact > 0 else -1))


_fma64 = np.frompyfunc(_fma64_one, 3, 1)


@meaning("rcp", "t = t")
def rcp(a: Array) -> Array:
    return a.dtype.type(1) / a


@meaning("sqrt", "t = t")
def sqrt(a: Array) -> Array:
    return np.sqrt(a)


@meaning("rsqrt", "t = t")
def rsqrt(a: Array) -> Array:
    return a.dtype.type(1) / np.sqrt(a)


@meaning("copysign")
def copysign(a: Array, b: Array) -> Array:
    return np.copysign(b, a)
