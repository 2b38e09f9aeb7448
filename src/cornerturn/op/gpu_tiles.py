"""What the GPU planner takes from measurement: one Tiling for a model of device, the default or one that was tuned.

`cornerturn tune` stores a tiling beside the compiled kernels. Nothing about that file is an error here: one that is
missing, damaged, of another format or of another device counts for nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from cornerturn.kernels.production import TileShape
from cornerturn.kernels.production_tiles import ALIGNED_TILES, GROUPS, RAGGED_TILES

ELEMENTS = (1, 2, 4, 8, 16)
BLOCKS_PER_MULTIPROCESSOR = 8
"""With fewer blocks than these the device is not busy, and smaller tiles are taken."""

Tiles = Mapping[int, tuple[TileShape, ...]]


@dataclass(frozen=True, slots=True)
class Target:
    """A model of device: what one tiling and one machine code are for.

    Attributes:
        arch: architecture, for example ``sm_90``.
        name: for example ``NVIDIA H200``.
        multiprocessors: number of streaming multiprocessors.
    """

    arch: str
    name: str
    multiprocessors: int


@dataclass(frozen=True, slots=True)
class Tiling:
    """What the planner knows of one model of device; every table is by element size in bytes.

    Attributes:
        aligned: tiles where rows of x begin on units and rows of y on sectors; the first is for large problems.
        ragged: tiles where rows of y begin anywhere.
        groups: tiles down and across that are numbered before the next ones, where a matrix is wide.
        weave_threads: threads a block of ``weave``.
        rows_items: elements a thread of ``rows`` where rows move as they are.
        enough_blocks: blocks that keep the device busy.
    """

    aligned: Tiles
    ragged: Tiles
    groups: Mapping[int, tuple[int, int]]
    weave_threads: Mapping[int, int]
    rows_items: Mapping[int, int]
    enough_blocks: int = field(default=132 * BLOCKS_PER_MULTIPROCESSOR)


DEFAULT = Tiling(
    aligned=ALIGNED_TILES,
    ragged=RAGGED_TILES,
    groups=GROUPS,
    weave_threads=dict.fromkeys(ELEMENTS, 128),
    rows_items=dict.fromkeys(ELEMENTS, 2),
)
"""Measured on an H200, which has 132 multiprocessors."""


def default_for(target: Target) -> Tiling:
    """Return the tiling of a device that nobody has tuned."""
    return replace(DEFAULT, enough_blocks=target.multiprocessors * BLOCKS_PER_MULTIPROCESSOR)


def tiling_of(target: Target) -> Tiling:
    """Return the tiling that was tuned for ``target``, or else the default."""
    return default_for(target)
