"""What the planner knows of one model of device: every tile and every limit that was found by measurement."""

from collections.abc import Mapping
from dataclasses import dataclass

from cornerturn.kernels.production.tile_shape import TileShape

Tiles = Mapping[int, tuple[TileShape, ...]]


@dataclass(frozen=True, slots=True)
class Profile:
    """A model of device, as the planner sees it. Every table is by element size in bytes.

    Attributes:
        aligned: tiles where rows of x begin on units and rows of y on sectors; the first is for large problems.
        loose: the same where rows of x do not begin on the 256 bytes of a wide read; without, as ``aligned``.
        ragged: tiles where rows of y begin anywhere; the first is for large problems.
        near: tiles where another axis lies between the two of a tile, in x and in y.
        groups: tiles down and across that are numbered before the next ones, where an aligned matrix is wide; none
            where an element size is missing.
        fitting_threads: the fewest threads of a tile that few rows fill.
        fitting_ragged_units: units of the longest row of x for which a ragged tile that fits it pays; without, any.
        run_limit: elements of the longest rows of y for ``tile_run``.
        weave_threads: threads per block of ``weave``.
        rows_items: elements per thread of ``rows`` where long rows move as they are.
        enough_blocks: blocks that keep the device busy.
        similar_cost: a tile further down its table must save more than this, or the one above it is taken.
        waste_limit: a matrix that fills less than this part of its tiles goes element by element.
        group_pitch: tiles are numbered in groups where rows lie multiples of this many bytes apart.
        keep_bytes: from this size on, x and y do not fit L2 together, and lines of x are kept there longer.
        loose_narrow: element sizes whose reads are not wide unless rows of x begin on what a wide read fetches.
        weave_units: units of 16 bytes along the long axis that make a warp of its own worth it.
        weave_longest: the longest short axis that is looked at.
        interleave_limit: the longest short axis that ``weave`` makes records of.
        deinterleave_limit: the longest short axis of which ``weave`` takes records apart.
        odd_weave_limit: the same for axes of odd length, both ways; without, as above.
        ragged_interleave_limit: the longest short axis that ``ragged_weave`` makes records of.
        ragged_deinterleave_limit: the longest short axis of which ``ragged_weave`` takes records apart.
        shuffle_limit: elements of the largest block that is permuted within itself.
        ragged_rows_element: elements up to this size are moved in units where rows begin anywhere.
        ragged_rows_bytes: the shortest run of rows that is worth blocks of its own.
        shifted_element: elements up to this size are then read in units too.
        short_row_bytes: up to this size, a row's neighbours in x should be read soon after it.
        long_row_threads: threads per block that moves longer rows.
        block_rows: rows that blocks of ``rows`` take together along each of two axes.
        scatter_limit: inflation of reads and writes together up to which single elements are faster than boxes.
    """

    aligned: Tiles
    loose: Tiles
    ragged: Tiles
    near: Tiles
    groups: Mapping[int, tuple[int, int]]
    fitting_threads: int
    fitting_ragged_units: Mapping[int, int]
    run_limit: Mapping[int, int]
    weave_threads: Mapping[int, int]
    rows_items: Mapping[int, int]
    enough_blocks: int
    similar_cost: float
    waste_limit: int
    group_pitch: int
    keep_bytes: int
    loose_narrow: tuple[int, ...]
    weave_units: int
    weave_longest: int
    interleave_limit: Mapping[int, int]
    deinterleave_limit: Mapping[int, int]
    odd_weave_limit: Mapping[int, int]
    ragged_interleave_limit: Mapping[int, int]
    ragged_deinterleave_limit: Mapping[int, int]
    shuffle_limit: int
    ragged_rows_element: int
    ragged_rows_bytes: int
    shifted_element: int
    short_row_bytes: int
    long_row_threads: int
    block_rows: int
    scatter_limit: float
