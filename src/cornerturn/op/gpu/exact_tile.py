"""Exactly what a launch of ``tile`` counts: requests, sectors and wavefronts, as the emulator would count them.

As `exact` does for boxes: blocks whose tiles lie alike are counted once, by the accesses that ``tile.cu`` writes down.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from cornerturn.kernels.grid import ceil_div
from cornerturn.kernels.production.axes import SECTOR, UNIT, MoveAxis
from cornerturn.kernels.production.tile import tiles_along
from cornerturn.kernels.production.tile_shape import TileShape
from cornerturn.op.gpu.counts import WARP
from cornerturn.op.gpu.traffic import Access, ExactCounts, Flags, Integers, access, total

SINGLES = 64
"""Tiles at either end of an axis that are looked at one by one; those between repeat where both ends of x are far."""


class _Block(NamedTuple):
    """Where a tile lies: those that agree in all of this count alike.

    Attributes:
        x, y: addresses modulo 32 of its first elements, in x of the halo's.
        low, high: bytes of x before that element, negative where it is none, and from it on: as far as they matter.
        above, rows, cols: rows of the matrix above those that it writes, rows from there on and columns: no more than
            it has.
    """

    x: int
    y: int
    low: int
    high: int
    above: int = 0
    rows: int = 0
    cols: int = 0


class _Tile:
    """How the threads of a block walk over a tile: the numbers of ``fill_tile`` and ``tile``, by their names there."""

    def __init__(self, element: int, pitch_in: int, pitch_out: int, shape: TileShape, x_units: bool, halo: int) -> None:
        self.element, self.shape, self.x_units, self.halo = element, shape, x_units, halo
        self.pitch_in, self.pitch_out = pitch_in, pitch_out
        self.unit = UNIT // element
        self.lead = halo * self.unit
        self.thread = np.arange(shape.threads)
        across, quad, lane = shape.cols // self.unit, self.thread // WARP, self.thread % WARP
        if across % 8 == 0 and shape.rows // shape.micro_rows % 4 == 0:
            self.unit_col = quad % (across // 8) * 8 + lane % 8
            micro_row = quad // (across // 8) * 4 + lane // 8
        else:
            self.unit_col, micro_row = self.thread % across, self.thread // across
        self.turn_rows = shape.micro_rows * shape.threads // across
        self.turns = shape.rows // self.turn_rows
        self.row, self.col = micro_row * shape.micro_rows, self.unit_col * self.unit
        self.written = shape.rows // self.unit - halo
        self.lanes = self._lanes(max(self.lead, 1))

    def _lanes(self, step: int) -> int:
        threads, cols, lanes = self.shape.threads, self.shape.cols, 1
        while lanes < self.written and lanes < WARP and threads % (2 * lanes) == 0:
            turn = threads // (2 * lanes)
            if turn < cols and turn % step:
                break
            lanes *= 2
        return lanes

    def edges(self, row: Integers, rows: int, col: Integers, width: int) -> tuple[Integers, Integers]:
        """Return the least bytes of x before and from the tile's first element for units of some rows to be x's own."""
        first = row * self.pitch_in + col * self.element
        last = first + (rows - 1) * self.pitch_in
        return UNIT - np.minimum(first, last), np.maximum(first, last) + (width + 2 * self.unit) * self.element

    def of_turn(self, turn: int) -> tuple[Integers, Integers]:
        """Return `edges` of what each thread reads in a turn."""
        return self.edges(self.row + turn * self.turn_rows, self.shape.micro_rows, self.col, self.unit)

    def of_tile(self) -> tuple[Integers, Integers]:
        """Return `edges` of a whole tile."""
        none = np.zeros(1, np.int64)
        return self.edges(none, self.shape.rows, none, self.shape.cols)


def exact_tile_counts(
    element: int,
    rows: MoveAxis,
    cols: MoveAxis,
    outer: Sequence[MoveAxis],
    shape: TileShape,
    x_units: bool,
    halo: int,
    at: tuple[int, int],
) -> ExactCounts:
    """Return what the launch of ``tile`` counts.

    Args:
        element, rows, cols, shape, x_units, halo: as of `tile`.
        outer: all other axes, near ones too.
        at: addresses of the first elements in x and y, modulo 32.
    """
    tile = _Tile(element, rows[1], cols[2], shape, x_units, halo)
    blocks = _blocks(tile, rows, cols, outer, at).items()
    return total((one, times) for block, times in blocks for part in (_reads, _writes) for one in part(tile, block))


def _blocks(
    tile: _Tile, rows: MoveAxis, cols: MoveAxis, outer: Sequence[MoveAxis], at: tuple[int, int]
) -> Counter[_Block]:
    """Return the tiles that count differently, and how many there are of each."""
    (lows, highs), shape, lead = _thresholds(tile), tile.shape, tile.lead
    far = max(lows[-1], highs[-1]) + lead * abs(tile.pitch_in) + 1
    down, across = tiles_along(rows[0], cols[0], shape, lead)

    def of_rows(n: int) -> dict[str, int]:
        row = n * (shape.rows - lead)
        return {"above": min(row, lead), "rows": min(rows[0] - row, shape.rows)}

    def of_cols(n: int) -> dict[str, int]:
        return {"cols": min(cols[0] - n * shape.cols, shape.cols)}

    found = Counter({_Block(*at, 0, tile.element): 1})
    along = [_along(axis, axis[0], 1, 0, far, lambda _: {}) for axis in outer]
    along += [
        _along(cols, across, shape.cols, 0, far, of_cols),
        _along(rows, down, shape.rows - lead, lead, far, of_rows),
    ]
    for places in along:
        before, found = found, Counter()
        for one, count in before.items():
            for other, times in places.items():
                summed = [mine + its for mine, its in zip(one, other, strict=True)]
                block = _Block(
                    summed[0] % SECTOR, summed[1] % SECTOR, *(min(near, far) for near in summed[2:4]), *summed[4:]
                )
                found[block] += count * times
    alike: Counter[_Block] = Counter()
    for block, count in found.items():
        low, high = (0, 0) if tile.x_units else (_step_below(lows, block.low), _step_below(highs, block.high))
        alike[block._replace(low=low, high=high)] += count
    return alike


def _along(
    axis: MoveAxis, count: int, hop: int, lead: int, far: int, more: Callable[[int], dict[str, int]]
) -> Counter[_Block]:
    """Return the blocks along an axis, every so many elements: what each adds to a `_Block`."""
    extent, step_in, step_out = axis
    found: Counter[_Block] = Counter()

    def add(n: int, times: int) -> None:
        first = n * hop - lead
        before, after = first, extent - 1 - first
        if step_in < 0:
            before, after = after, before
        low, high = (min(steps * abs(step_in), far) for steps in (before, after))
        block = _Block(first * step_in % SECTOR, n * hop * step_out % SECTOR, low, high)
        found[block._replace(**more(n))] += times

    ends = max(SINGLES, -(-far // max(abs(step_in) * hop, 1)))
    middle = range(ends, count - ends)
    for n in (*range(min(ends, count)), *range(max(middle.stop, ends), count)):
        add(n, 1)
    for n in middle[:SECTOR]:  # from there on they repeat
        add(n, len(range(n, middle.stop, SECTOR)))
    return found


def _thresholds(tile: _Tile) -> tuple[Integers, Integers]:
    """Return every number of bytes before and after a tile at which some thread reads otherwise."""
    lows, highs = zip(tile.of_tile(), *map(tile.of_turn, range(tile.turns)), strict=True)
    return np.unique(np.concatenate(lows)), np.unique(np.concatenate(highs))


def _step_below(steps: Integers, number: int) -> int:
    """Return the last step that a number reaches; less than all where it reaches none."""
    place = int(np.searchsorted(steps, number, "right"))
    return int(steps[place - 1] if place else steps[0] - 1)


def _reads(tile: _Tile, block: _Block) -> Iterator[Access]:
    """Units of x, one or two for each that is shifted, or elements; and columns of a few rows into the tile."""
    threads, element, micro_rows = tile.shape.threads, tile.element, tile.shape.micro_rows
    whole = _owned(block, tile.of_tile())
    for turn in range(tile.turns):
        row = tile.row + turn * tile.turn_rows
        owned = whole | _owned(block, tile.of_turn(turn))
        for i in range(micro_rows):
            at = block.x + (row + i) * tile.pitch_in + tile.col * element
            inside = (row + i - tile.lead < block.rows) & (row + i >= tile.lead - block.above)
            if tile.x_units:
                yield access(threads, "global_load", UNIT, at, inside & (tile.col < block.cols))
                continue
            for unit in (at // UNIT * UNIT, at // UNIT * UNIT + UNIT):
                yield access(threads, "global_load", UNIT, unit, owned)
            for k in range(tile.unit):
                yield access(
                    threads, "global_load", element, at + k * element, ~owned & inside & (tile.col + k < block.cols)
                )
    width = micro_rows * element
    for turn in range(tile.turns):
        for k in range(tile.unit):
            place = (tile.unit_col * (tile.shape.rows + 1)) * UNIT + tile.row * element
            yield access(
                threads, "shared_store", width, place + (k * tile.shape.rows + turn * tile.turn_rows) * element
            )


def _owned(block: _Block, edges: tuple[Integers, Integers]) -> Flags:
    low, high = edges
    return np.asarray((block.low >= low) & (block.high >= high))


def _writes(tile: _Tile, block: _Block) -> Iterator[Access]:
    """Units of y, each from one or two units of the tile; elements at both ends of a row of y."""
    threads, element, unit, units = tile.shape.threads, tile.element, tile.unit, tile.shape.rows // tile.unit
    lane, column = tile.thread % tile.lanes, tile.thread // tile.lanes
    turn_cols = threads // tile.lanes
    begin = block.y + column * tile.pitch_out
    before = begin % (tile.halo * UNIT) if tile.halo else np.zeros_like(begin)
    for span in range(ceil_div(tile.written, tile.lanes)):
        u = lane + span * tile.lanes
        row, at = u * unit - before // element, tile.lead * element - before + u * UNIT
        taken = (u < tile.written) & (row + unit > -block.above) & (row < block.rows)
        full = (row >= -block.above) & (row + unit <= block.rows) if tile.halo else np.ones_like(taken)
        for turn in range(ceil_div(tile.shape.cols, turn_cols)):
            c = column + turn * turn_cols
            active = taken & (c < min(tile.shape.cols, block.cols))
            held = (c * units + c // unit) * UNIT + at
            to = begin - before + u * UNIT + turn * turn_cols * tile.pitch_out
            yield access(threads, "shared_load", UNIT, held // UNIT * UNIT, active & full)
            if tile.halo and unit > 1:
                yield access(threads, "shared_load", UNIT, (held + UNIT - 1) // UNIT * UNIT, active & full)
            yield access(threads, "global_store", UNIT, to, active & full)
            first, last = np.maximum(-block.above - row, 0), np.minimum(block.rows - row, unit)
            for k in range(unit if tile.halo else 0):
                single = active & ~full & (first + k < last)
                place = (first + k) * element
                yield access(threads, "shared_load", element, held + place, single)
                yield access(threads, "global_store", element, to + place, single)
