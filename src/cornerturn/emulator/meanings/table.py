"""How a meaning is written down, and what several meanings need: the parts of a value's bits.

The signature beside a meaning says how its operands are read: ``t`` is the instruction's own type, ``t2`` its second
one, ``wide`` twice the width, anything else a PTX type. Source of all meanings: PTX ISA, chapter 9 (instruction set).
"""

from collections.abc import Callable

import numpy as np

from cornerturn.emulator.types import Array

Meaning = Callable[..., Array]


class Table(dict[str, tuple[str, Meaning]]):
    """``opcode.modifiers`` -> the signature of an instruction and what it computes."""

    def meaning(self, key: str, signature: str = "t = t, t") -> Callable[[Meaning], Meaning]:
        """Enter a function as the meaning of ``opcode.modifiers``."""

        def enter(function: Meaning) -> Meaning:
            self[key] = signature, function
            return function

        return enter


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
