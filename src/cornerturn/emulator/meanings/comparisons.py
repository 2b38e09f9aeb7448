"""Comparison and selection."""

import numpy as np

from cornerturn.emulator.meanings.bits import bit_and, bit_or, bit_xor
from cornerturn.emulator.meanings.table import Meaning, Table
from cornerturn.emulator.types import Array

MEANINGS = Table()
meaning = MEANINGS.meaning


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
