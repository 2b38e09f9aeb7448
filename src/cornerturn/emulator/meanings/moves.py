"""Moves and conversions."""

import numpy as np

from cornerturn.emulator.meanings.table import Table
from cornerturn.emulator.spaces import WINDOWS
from cornerturn.emulator.types import Array

MEANINGS = Table()
meaning = MEANINGS.meaning


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
