"""From an opcode and its modifiers to what it computes: the meaning, bound to types.

Instructions that touch memory or other lanes are in `access`, `atomics`, `asynchronous` and `warp`; the flow of
control is in `machine`.
"""

from dataclasses import dataclass

import numpy as np

from cornerturn.emulator.meanings import arithmetic, bits, comparisons, moves
from cornerturn.emulator.meanings.table import Meaning, join, split
from cornerturn.emulator.types import PACKED, TYPES, WIDER, Array, Type

MEANINGS = {**arithmetic.MEANINGS, **bits.MEANINGS, **comparisons.MEANINGS, **moves.MEANINGS}
"""``key_of`` an instruction -> its signature and what it computes."""

DECORATION = frozenset({"rn", "approx", "full", "uni", "to", "ftz"})
"""Modifiers that choose no other meaning here: round-to-nearest is what NumPy does."""


@dataclass(frozen=True)
class Operation:
    """A meaning bound to types: ``result = apply(*sources)``."""

    apply: Meaning
    result: Type
    sources: tuple[Type, ...]


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
