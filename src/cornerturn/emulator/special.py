"""Special registers (PTX ISA, chapter 10), each a short function of the wave. Clocks are not among them."""

from collections.abc import Callable

import numpy as np

from cornerturn.emulator.counting import WARP
from cornerturn.emulator.geometry import unravel
from cornerturn.emulator.types import Array
from cornerturn.emulator.wave import Wave


def _lane(wave: Wave) -> Array:
    return (wave.lane % WARP).astype(np.uint32)


def _bit(wave: Wave) -> Array:
    return np.uint32(1) << _lane(wave)


def _below(wave: Wave) -> Array:
    return _bit(wave) - np.uint32(1)


SPECIAL_REGISTERS: dict[str, Callable[[Wave], Array]] = {
    "%laneid": _lane,
    "%warpid": lambda wave: (wave.lane // WARP).astype(np.uint32),
    "%nwarpid": lambda wave: np.uint32(wave.geometry.lanes_per_block // WARP),
    "%smid": lambda wave: np.uint32(0),
    "%nsmid": lambda wave: np.uint32(1),
    "%gridid": lambda wave: np.uint64(0),
    "%lanemask_eq": _bit,
    "%lanemask_lt": _below,
    "%lanemask_le": lambda wave: _below(wave) | _bit(wave),
    "%lanemask_gt": lambda wave: ~(_below(wave) | _bit(wave)),
    "%lanemask_ge": lambda wave: ~_below(wave),
    "%cluster_ctarank": lambda wave: np.uint32(0),
    "%cluster_nctarank": lambda wave: np.uint32(1),
}

_Coordinates = Callable[[Wave], tuple[Array, Array, Array]]

# Every block is a cluster of its own.
_COORDINATES: dict[str, _Coordinates] = {
    "%tid": lambda wave: unravel(wave.lane, wave.geometry.block),
    "%ntid": lambda wave: wave.geometry.block,
    "%ctaid": lambda wave: unravel(wave.geometry.blocks, wave.geometry.grid),
    "%nctaid": lambda wave: wave.geometry.grid,
    "%clusterid": lambda wave: unravel(wave.geometry.blocks, wave.geometry.grid),
    "%nclusterid": lambda wave: wave.geometry.grid,
    "%cluster_ctaid": lambda wave: (0, 0, 0),
    "%cluster_nctaid": lambda wave: (1, 1, 1),
}


def _along(axis: int, coordinates: _Coordinates) -> Callable[[Wave], Array]:
    return lambda wave: np.asarray(coordinates(wave)[axis], dtype=np.uint32)


for _name, _coordinates in _COORDINATES.items():
    for _axis, _letter in enumerate("xyz"):
        SPECIAL_REGISTERS[f"{_name}.{_letter}"] = _along(_axis, _coordinates)
