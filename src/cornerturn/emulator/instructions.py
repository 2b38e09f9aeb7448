"""What each PTX instruction means: one short function of NumPy arrays per instruction.

The signature beside a meaning says how its operands are read: ``t`` is the instruction's own type, ``t2`` its second
one, ``wide`` twice the width, anything else a PTX type. Source: PTX ISA, chapter 9 (instruction set). Instructions
that touch memory or other lanes are in `access`, `atomics`, `asynchronous` and `warp`; the flow of control is in
`machine`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from cornerturn.emulator.spaces import WINDOWS
from cornerturn.emulator.types import PACKED, TYPES, WIDER, Array, Type

Meaning = Callable[..., Array]

DECORATION = frozenset({"rn", "approx", "full", "uni", "to", "ftz"})
"""Modifiers that choose no other meaning here: round-to-nearest is what NumPy does."""


@dataclass(frozen=True)
class Operation:
    """A meaning bound to types: ``result = apply(*sources)``."""

    apply: Meaning
    result: Type
    sources: tuple[Type, ...]


MEANINGS: dict[str, tuple[str, Meaning]] = {}
"""``key_of`` an instruction -> its signature and what it computes."""


def meaning(key: str, signature: str = "t = t, t") -> Callable[[Meaning], Meaning]:
    """Register a function as the meaning of ``opcode.modifiers``."""

    def register(function: Meaning) -> Meaning:
        MEANINGS[key] = signature, function
        return function

    return register


def key_of(opcode: str, modifiers: tuple[str, ...]) -> str:
    """The name under which a meaning is registered: the opcode and the modifiers that choose it."""
    if opcode == "cvta" and "to" in modifiers:
        opcode = "cvta.to"
    types = (*TYPES, *PACKED)
    return ".".join([opcode, *(name for name in modifiers if name not in types and name not in DECORATION)])


def resolve(opcode: str, modifiers: tuple[str, ...]) -> Operation | None:
    """The operation of an opcode with modifiers, or None when it has no meaning here."""
    types = [name for name in modifiers if name in TYPES or name in PACKED]
    if types and types[0] in PACKED:
        return _resolve_packed(opcode, modifiers, types)
    key = key_of(opcode, modifiers)
    if key not in MEANINGS:
        return None
    signature, function = MEANINGS[key]
    names = {"t": types[0] if types else "", "t2": types[-1] if types else ""}

    def of(word: str) -> Type | None:
        return WIDER.get(names["t"]) if word == "wide" else TYPES.get(names.get(word, word))

    left, right = signature.split(" = ")
    result, sources = of(left), tuple(of(word) for word in right.split(", "))
    if result is None or None in sources:
        return None
    operation = Operation(function, result, tuple(source for source in sources if source is not None))
    return _flushing(operation) if "ftz" in modifiers else operation


def _flushing(operation: Operation) -> Operation | None:
    """``.ftz``: subnormal f32 sources and results count as zero of their sign."""
    if TYPES["f32"] not in (operation.result, *operation.sources):
        return None

    def flush(value: Array, kind: Type) -> Array:
        if kind.name != "f32":
            return value
        value = value.astype(np.float32)
        return np.where(np.abs(value) < np.finfo(np.float32).tiny, np.copysign(np.float32(0), value), value)

    def apply(*operands: Array) -> Array:
        flushed = [flush(value, kind) for value, kind in zip(operands, operation.sources, strict=True)]
        return flush(operation.apply(*flushed), operation.result)

    return Operation(apply, operation.result, operation.sources)


def _resolve_packed(opcode: str, modifiers: tuple[str, ...], types: list[str]) -> Operation | None:
    """Two halves in one 32-bit register: the scalar meaning, done on each."""
    half, whole = PACKED[types[0]], TYPES["b32"]
    if opcode == "cvt":

        def pack(high: Array, low: Array) -> Array:
            return join([half.encode(half_of(v), np.dtype(np.uint32)) for v in (low, high)], 16)

        def half_of(value: Array) -> Array:
            return value.astype(half.dtype)

        return (
            Operation(pack, whole, (TYPES["f32"], TYPES["f32"]))
            if types[-1] == "f32" and key_of(opcode, modifiers) == "cvt"
            else None
        )
    scalar = resolve(opcode, (*(name for name in modifiers if name not in PACKED), half.name))
    if scalar is None:
        return None

    def both(*operands: Array) -> Array:
        halves = [[half.decode(part) for part in split(bits, 2)] for bits in operands]
        results = [scalar.apply(*parts) for parts in zip(*halves, strict=True)]
        return join([half.encode(r, np.dtype(np.uint32)) for r in results], 16)

    return Operation(both, whole, (whole,) * len(scalar.sources))


def split(value: Array, count: int) -> list[Array]:
    """The bits of ``value`` cut into ``count`` equal parts, low part first (``mov {a, b}, c``)."""
    bits = 8 * value.dtype.itemsize // count
    narrow = np.dtype(f"u{bits // 8}")
    return [(value >> value.dtype.type(bits * k)).astype(narrow) for k in range(count)]


def join(parts: list[Array], bits: int) -> Array:
    """The reverse of ``split``: parts of ``bits`` bits, low part first (``mov c, {a, b}``)."""
    wide = np.dtype(f"u{bits * len(parts) // 8}")
    whole = parts[0].astype(wide)
    for k, part in enumerate(parts[1:], start=1):
        whole = whole | (part.astype(wide) << wide.type(bits * k))
    return whole


def width(value: Array) -> int:
    """Bits of a value's type."""
    return 8 * int(value.dtype.itemsize)


# --- integer and floating-point arithmetic ------------------------------------------------------------------------


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


# --- logic, shifts and bit fields ---------------------------------------------------------------------------------


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


# --- comparison and selection -------------------------------------------------------------------------------------

_ORDERED: dict[str, Meaning] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: (a < b) | (a > b) if a.dtype.kind == "f" else a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}
_COMPARISONS: dict[str, Meaning] = {
    **_ORDERED,
    "lo": _ORDERED["lt"],
    "ls": _ORDERED["le"],
    "hi": _ORDERED["gt"],
    "hs": _ORDERED["ge"],
    "num": lambda a, b: ~(np.isnan(a) | np.isnan(b)),
    "nan": lambda a, b: np.isnan(a) | np.isnan(b),
}
for _name in _ORDERED:  # equ, neu, ltu, ...: also true when an operand is NaN
    _COMPARISONS[f"{_name}u"] = lambda a, b, ordered=_ORDERED[_name]: ordered(a, b) | np.isnan(a) | np.isnan(b)

for _name, _compare in _COMPARISONS.items():
    meaning(f"setp.{_name}", "pred = t, t")(_compare)
    for _combine, _join in (("and", bit_and), ("or", bit_or), ("xor", bit_xor)):
        meaning(f"setp.{_name}.{_combine}", "pred = t, t, pred")(
            lambda a, b, c, compare=_compare, combine=_join: combine(compare(a, b), c)
        )


@meaning("selp", "t = t, t, pred")
def selp(a: Array, b: Array, chosen: Array) -> Array:
    return np.where(chosen, a, b)


@meaning("slct", "t = t, t, t2")
def slct(a: Array, b: Array, c: Array) -> Array:
    return np.where(c >= 0, a, b)


# --- moves and conversions ----------------------------------------------------------------------------------------


@meaning("mov", "t = t")
@meaning("cvt", "t = t2")
def move(a: Array) -> Array:
    return a


@meaning("cvt.rzi", "t = t2")
def round_towards_zero(a: Array) -> Array:
    return np.trunc(a)


@meaning("cvt.rni", "t = t2")
def round_to_nearest(a: Array) -> Array:
    return np.rint(a)


@meaning("cvt.rmi", "t = t2")
def round_down(a: Array) -> Array:
    return np.floor(a)


@meaning("cvt.rpi", "t = t2")
def round_up(a: Array) -> Array:
    return np.ceil(a)


for _space, _window in WINDOWS.items():
    if _window.base == 0:
        meaning(f"cvta.{_space}", "t = t")(move)
        meaning(f"cvta.to.{_space}", "t = t")(move)
    else:
        meaning(f"cvta.{_space}", "t = t")(lambda a, base=_window.base: a + a.dtype.type(base))
        meaning(f"cvta.to.{_space}", "t = t")(lambda a, base=_window.base: a - a.dtype.type(base))
    meaning(f"isspacep.{_space}", "pred = u64")(
        lambda a, window=_window: (a >= np.uint64(window.base)) & (a < np.uint64(window.end))
    )
