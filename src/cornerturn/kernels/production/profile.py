"""What the planner knows of one model of device: every tile and every limit that was found by measurement."""

from collections.abc import Mapping
from dataclasses import dataclass

from cornerturn.kernels.production.tile_shape import TileShape

Tiles = Mapping[int, tuple[TileShape, ...]]


@dataclass(frozen=True, slots=True)
class Rates:
    """What bounds `permute` on a device: rates and latencies, and how far they overlap.

    Attributes:
        multiprocessors: number of them.
        clock: hertz.
        copy: bytes per second, read and written, of a long copy.
        launch: seconds from the start of an empty kernel to its end.
        fill: seconds until memory is busy, and until the last bytes have arrived.
        x_sector, y_sector: cost of a sector that a run touches in part, as a share of one that is full.
        stored_sector: cost of a sector that several stores write, for each but one.
        short_run: cost of runs of x that share what DRAM moves at once.
        uncovered: cost of elements of boxes that lie beyond the array.
        one_sector_read, one_sector_write: cost of runs of one sector; of longer ones, by the square of their length.
        scattered_read: cycles per line that is touched where units are gathered from x itself.
        scattered_write: cost of short runs of y where blocks follow one another in x.
        few_warps: cost per warp that a multiprocessor has too few of to hide latencies.
        few_blocks: cost of a multiprocessor that has one block, which first reads and then writes.
        many_units: cost per unit that each thread reads or gathers after the first few: a large block seldom does both.
        prologue, per_axis, place: instructions of a warp: of any, per axis of blocks, per element that is found alone.
        access: instructions per access to memory, with its address.
        read_window: instructions besides per aligned unit of a run of x that begins anywhere.
        issue: issue slots per counted instruction.
        read_wait, direct_wait, gather_wait: seconds per step that a thread waits for.
        overlap: exponent of the norm that adds the bounds up: 1, one after the other; infinite, all at once.
    """

    multiprocessors: int
    clock: float
    copy: float
    launch: float
    fill: float
    x_sector: float
    y_sector: float
    stored_sector: float
    short_run: float
    uncovered: float
    one_sector_read: float
    one_sector_write: float
    scattered_read: float
    scattered_write: float
    few_warps: float
    few_blocks: float
    many_units: float
    prologue: float
    per_axis: float
    place: float
    access: float
    read_window: float
    issue: float
    read_wait: float
    direct_wait: float
    gather_wait: float
    overlap: float


@dataclass(frozen=True, slots=True)
class Profile:
    """A model of device, as the planner sees it. Every table is by element size in bytes.

    Attributes:
        rates: what bounds `permute`.
        tile_share, ragged_tile_share: of the copy's speed, that tiles reach where rows are long; the second where rows
            of y begin anywhere.
        tile_bytes, ragged_tile_bytes: the shortest rows for which they do.
        lone_ragged: element sizes of which that holds for a single matrix alone.
        tile_seconds: that they take longer than a copy, whatever the size.
        small_tile_share: the share of tiles, where it is another for arrays below ``small_bytes``.
        direct_bytes: up to this size, units of y may be gathered from x itself, which saves a wait.
        aligned: tiles where rows of x begin on units and rows of y on sectors; the first is for large problems.
        loose: the same where rows of x do not begin on the 256 bytes of a wide read; without, as ``aligned``.
        ragged: tiles where rows of y begin anywhere; the first is for large problems.
        near: tiles where another axis lies between the two of a tile, in x and in y.
        groups: tiles down and across that are numbered before the next ones, where an aligned matrix is wide; none
            where an element size is missing.
        fitting_threads: the fewest threads of a tile that few rows fill.
        fitting_ragged_units: units of the longest row of x for which a ragged tile that fits it pays; without, any.
        enough_blocks: blocks that keep the device busy.
        similar_cost: a tile further down its table must save more than this, or the one above it is taken.
        group_pitch: tiles are numbered in groups where rows lie multiples of this many bytes apart.
        keep_bytes: from this size on, x and y do not fit L2 together, and lines of x are kept there longer.
        loose_narrow: element sizes whose reads are not wide unless rows of x begin on what a wide read fetches.
    """

    rates: Rates
    tile_share: Mapping[int, float]
    ragged_tile_share: Mapping[int, float]
    tile_bytes: int
    ragged_tile_bytes: int
    lone_ragged: tuple[int, ...]
    tile_seconds: float
    small_tile_share: Mapping[int, float]
    small_bytes: int
    direct_bytes: int
    aligned: Tiles
    loose: Tiles
    ragged: Tiles
    near: Tiles
    groups: Mapping[int, tuple[int, int]]
    fitting_threads: int
    fitting_ragged_units: Mapping[int, int]
    enough_blocks: int
    similar_cost: float
    group_pitch: int
    keep_bytes: int
    loose_narrow: tuple[int, ...]
