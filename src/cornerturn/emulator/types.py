"""PTX's fundamental types as NumPy arrays: a register holds bits, an instruction reads them as a type.

A register's value is an array (or scalar) of the unsigned type of its width; a predicate is an array of bool.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from cornerturn.ptx import TYPE_BYTES

Array = Any
"""A NumPy array, or a NumPy scalar that has the same value for every lane."""


@dataclass(frozen=True)
class Type:
    """A PTX type.

    Attributes:
        name: as PTX spells it, for example ``s32``.
        bytes: its size.
        dtype: what an instruction computes with. bf16 has no NumPy type and computes as float32: sums, products and
            quotients may be rounded there first (24 bits of precision >= 2 * 8 + 2).
    """

    name: str
    bytes: int
    dtype: "np.dtype[Any]"

    @property
    def bits(self) -> "np.dtype[Any]":
        """The unsigned type of the same width."""
        return self.dtype if self.name == "pred" else np.dtype(f"u{self.bytes}")

    def decode(self, bits: Array) -> Array:
        """Register bits -> values; a register wider than the type gives its low bits."""
        if bits.dtype == self.dtype:
            return bits
        if bits.dtype.itemsize != self.bytes:
            bits = bits.astype(self.bits)
        if self.name == "bf16":
            return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)
        return bits.view(self.dtype)

    def encode(self, values: Array, register: "np.dtype[Any]") -> Array:
        """Values -> the bits of a ``register``; narrow integers extend by their own sign."""
        if self.name == "bf16":
            values = _round_to_bf16(values)
        elif values.dtype != self.dtype:
            values = _convert(values, self.dtype)
        if values.dtype == register:
            return values
        if values.dtype.itemsize == register.itemsize:
            return values.view(register)
        if values.dtype.kind == "f":
            values = values.view(self.bits)
        return values.astype(register)


def _convert(values: Array, dtype: "np.dtype[Any]") -> Array:
    """PTX ``cvt``: a float that becomes an integer is clamped to its range (PTX ISA, cvt).

    NaN becomes 0; where source or result has 64 bits, the highest bit alone.
    """
    if values.dtype.kind != "f" or dtype.kind not in "iu":
        return values.astype(dtype)
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    inside = (values >= low) & (values < float(high) + 1 if high < 2**53 else values < float(high))
    exact = np.where(inside, values, 0).astype(dtype)
    clamped = np.where(inside, exact, np.where(values < 0, dtype.type(low), dtype.type(high)))
    wide = 8 in (values.dtype.itemsize, dtype.itemsize)
    not_a_number = np.array(1 << (8 * dtype.itemsize - 1) if wide else 0, f"u{dtype.itemsize}").view(dtype)
    return np.where(np.isnan(values), not_a_number, clamped)


def _round_to_bf16(values: Array) -> Array:
    """Any number -> bf16 bits, to nearest, ties to even."""
    single = values if values.dtype == np.float32 else _round_to_odd(values)
    bits = single.view(np.uint32)
    rounded = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)
    return np.where(np.isnan(single), np.uint32(0x7FFF), rounded).astype(np.uint16)


def _round_to_odd(values: Array) -> Array:
    """Any number -> the float32 beside it whose last bit is 1, unless it is one: a later rounding sees no false tie."""
    near = np.asarray(values.astype(np.float32))
    back = _convert(near, values.dtype)
    even = (near.view(np.uint32) & np.uint32(1)) == 0
    beside = np.nextafter(near, np.where(values > back, np.float32(np.inf), np.float32(-np.inf)))
    return np.where((back != values) & even & np.isfinite(near), beside, near)


TYPES: dict[str, Type] = {
    "pred": Type("pred", TYPE_BYTES["pred"], np.dtype(np.bool_)),
    "bf16": Type("bf16", TYPE_BYTES["bf16"], np.dtype(np.float32)),
}
for _name, _bytes in TYPE_BYTES.items():
    if _name[1:].isdigit() and _bytes <= 8:
        _code = {"b": "u", "u": "u", "s": "i", "f": "f"}[_name[0]]
        TYPES[_name] = Type(_name, _bytes, np.dtype(f"{_code}{_bytes}"))

PACKED = {"f16x2": TYPES["f16"], "bf16x2": TYPES["bf16"]}
"""Types that hold two halves in 32 bits, and the type of a half."""

WIDER = {f"{kind}{bits}": TYPES[f"{kind}{2 * bits}"] for kind in "us" for bits in (8, 16, 32)}
"""The result type of ``mul.wide`` and ``mad.wide``."""
