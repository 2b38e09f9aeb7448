"""The CPU kernels: what the planner and the engine know of each, in one record per kernel.

Nothing here needs Numba: a record compiles its kernel when it is asked to.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from cornerturn.op.problem import Axis
from cornerturn.op.strided_view import CACHE_LINE_BYTES

if TYPE_CHECKING:
    from cornerturn.op.cpu.vectors import Kernel

ALIASED_PITCH_BYTES = 1024  # at such a pitch lines meet in a quarter of a first cache's sets, or fewer
BLOCK_LINES = 4  # whole lines that a block writes of each output row
LONG_RUN_BYTES = 4096  # runs of at least this length are copied one by one, shorter ones gathered
SHORT_EXTENT_MAX = 32  # longest axis with a kernel of its own
PACKED_ROW_BYTES_MAX = 1024
PACKED_BYTES_MIN = 4 * CACHE_LINE_BYTES  # less is not worth the way through scratch memory
STAGED_LINES_MIN = 8  # with fewer lines too much of an output row is edge
SCRATCH_BYTES = 96 * 1024  # enough for every kernel that works on less than a block
BLOCK_COLUMN_BYTES = (BLOCK_LINES + 1) * CACHE_LINE_BYTES  # scratch of a block, for each of its columns


@dataclass(frozen=True, slots=True)
class Layout:
    """What the rules of the kernels look at.

    Attributes:
        item: bytes per element.
        rows: the axis that is contiguous in the output, or comes nearest to it.
        cols: the axis that is contiguous in the input, or comes nearest to it.
        run: bytes of a run that stays together, 0 where two axes change places.
        stream: whether the output is large enough to be written past the caches.
        in_step: whether output rows start at one place of a cache line.
        alone: whether there is one run, or one row of runs.
    """

    item: int
    rows: Axis
    cols: Axis
    run: int
    stream: bool
    in_step: bool
    alone: bool = False

    @property
    def lanes(self) -> int:
        """Elements per cache line."""
        return CACHE_LINE_BYTES // self.item

    @property
    def tile(self) -> tuple[int, int]:
        """Rows and columns of the largest tile that is a power of two, and of at most a line each way."""
        rows, cols = (1 << min(axis.extent, self.lanes).bit_length() - 1 for axis in (self.rows, self.cols))
        return rows, cols

    @property
    def is_square(self) -> bool:
        """Whether both axes hold a line."""
        return self.tile == (self.lanes, self.lanes)

    @property
    def packed_in(self) -> bool:
        """Whether rows follow each other in the input."""
        return self.rows.stride_in == self.cols.extent * self.item

    @property
    def packed_out(self) -> bool:
        """Whether columns follow each other in the output."""
        return self.cols.stride_out == self.rows.extent * self.item


class Shape(Protocol):
    """What a kernel is compiled for, and cut by: a plan has it."""

    @property
    def itemsize(self) -> int:
        """Bytes per element."""

    @property
    def tile(self) -> tuple[int, int]:
        """Rows and columns that the kernel moves at once."""

    @property
    def run(self) -> int:
        """Bytes, rows or columns that stay together; the kernel says which."""

    @property
    def height(self) -> int:
        """Rows of a strip."""

    @property
    def rows(self) -> Axis:
        """The axis that strips cut."""


def _strips(shape: Shape) -> int:
    return -(-shape.rows.extent // shape.height)


def _item(shape: Shape) -> int:
    return shape.itemsize


def _run(shape: Shape) -> int:
    return shape.run


def _tile_cols(shape: Shape) -> int:
    return shape.tile[1]


def _block_scratch(shape: Shape) -> int:
    return SCRATCH_BYTES + shape.run * BLOCK_COLUMN_BYTES


@dataclass(frozen=True, slots=True)
class KernelRecord:
    """What is known of one kernel.

    Attributes:
        name: as plans and guides write it.
        load: compiles the kernel for a plan, or takes it from Numba's cache.
        legal: whether it moves a layout right, and is meant for it.
        why: what in a layout chooses it.
        place_bytes: bytes of one row at one column.
        unit: by how many columns it steps.
        strips: strips of rows, with those for the edges; tickets are groups of them.
        whole_column: whether a ticket has one unit of columns, down which the kernel carries what it leaves over.
        scratch_bytes: memory that a thread needs.
    """

    name: str
    load: Callable[[Shape], "Kernel"]
    legal: Callable[[Layout], bool]
    why: str = ""
    place_bytes: Callable[[Shape], int] = _item
    unit: Callable[[Shape], int] = lambda shape: 1
    strips: Callable[[Shape], int] = _strips
    whole_column: bool = False
    scratch_bytes: Callable[[Shape], int] = lambda shape: SCRATCH_BYTES


def _long_runs(shape: Shape) -> "Kernel":
    from cornerturn.op.cpu import runs

    return runs.long_runs()


def _line_runs(shape: Shape) -> "Kernel":
    from cornerturn.op.cpu import runs

    return runs.line_runs()


def _gathered_runs(shape: Shape) -> "Kernel":
    from cornerturn.op.cpu import runs

    return runs.gathered_runs(min(16, max(shape.itemsize, 1 << (shape.run - 1).bit_length())))


def _cached_runs(shape: Shape) -> "Kernel":
    from cornerturn.op.cpu import runs

    return runs.cached_runs(shape.itemsize)


def _single_elements(shape: Shape) -> "Kernel":
    from cornerturn.op.cpu import runs

    return runs.single_elements(shape.itemsize)


def _deinterleave(shape: Shape) -> "Kernel":
    from cornerturn.op.cpu import short_axes

    return short_axes.deinterleave(shape.itemsize, shape.tile[1])


def _interleave(shape: Shape) -> "Kernel":
    from cornerturn.op.cpu import short_axes

    return short_axes.interleave(shape.itemsize, shape.tile[0])


def _blocked_tiles(shape: Shape) -> "Kernel":
    from cornerturn.op.cpu import tiles

    return tiles.blocked_tiles(shape.itemsize)


def _streaming_tiles(shape: Shape) -> "Kernel":
    from cornerturn.op.cpu import tiles

    return tiles.streaming_tiles(shape.itemsize, shape.tile[1])


def _packed_tiles(shape: Shape) -> "Kernel":
    from cornerturn.op.cpu import tiles

    return tiles.packed_tiles(shape.itemsize, *shape.tile)


def _staged_tiles(shape: Shape) -> "Kernel":
    from cornerturn.op.cpu import tiles

    return tiles.staged_tiles(shape.itemsize)


def _cached_tiles(shape: Shape) -> "Kernel":
    from cornerturn.op.cpu import tiles

    return tiles.cached_tiles(shape.itemsize, *shape.tile)


def _has_line_runs(layout: Layout) -> bool:
    return layout.stream and layout.in_step and layout.run % CACHE_LINE_BYTES == 0


def is_aliased(pitch: int) -> bool:
    """Return whether lines so many bytes apart meet in few sets of a cache, where they push each other out."""
    return pitch % ALIASED_PITCH_BYTES == 0


RUNS = (
    KernelRecord(
        "long_runs",
        _long_runs,
        lambda layout: layout.alone or layout.run >= LONG_RUN_BYTES,
        place_bytes=lambda shape: 1,
        unit=lambda shape: CACHE_LINE_BYTES,
    ),
    KernelRecord("line_runs", _line_runs, _has_line_runs, place_bytes=_run),
    KernelRecord(
        "gathered_runs",
        _gathered_runs,
        lambda layout: (layout.stream or layout.run < CACHE_LINE_BYTES) and layout.rows.stride_out == layout.run,
        place_bytes=_run,
    ),
    KernelRecord("cached_runs", _cached_runs, lambda layout: True, place_bytes=_run),
)
"""Kernels for moves whose innermost axis stays, the first legal one first."""

TILES = (
    KernelRecord(
        "deinterleave",
        _deinterleave,
        lambda layout: (
            layout.packed_in
            and layout.cols.extent <= SHORT_EXTENT_MAX
            and layout.cols.extent % layout.lanes > 0
            and layout.rows.extent >= layout.lanes
        ),
        "short rows are parted",
        unit=_tile_cols,
    ),
    KernelRecord(
        "interleave",
        _interleave,
        lambda layout: (
            layout.packed_out
            and layout.rows.extent <= SHORT_EXTENT_MAX
            and layout.rows.extent % layout.lanes > 0
            and layout.cols.extent >= layout.lanes
        ),
        "a few rows are interleaved",
        unit=_run,
    ),
    KernelRecord(
        "blocked_tiles",
        _blocked_tiles,
        lambda layout: (
            layout.stream
            and layout.is_square
            and layout.in_step
            and layout.item <= 2
            and is_aliased(layout.rows.stride_in)
        ),
        "input rows fall on each other in the caches",
        unit=_run,
        strips=lambda shape: _strips(shape) + 1,
        scratch_bytes=_block_scratch,
    ),
    KernelRecord(
        "streaming_tiles",
        _streaming_tiles,
        lambda layout: layout.stream and layout.tile[0] == layout.lanes and layout.in_step,
        "output rows start alike in a cache line",
        unit=_tile_cols,
        strips=lambda shape: _strips(shape) + 1,
    ),
    KernelRecord(
        "packed_tiles",
        _packed_tiles,
        lambda layout: (
            layout.stream
            and layout.packed_out
            and PACKED_BYTES_MIN // layout.tile[1] <= layout.rows.extent * layout.item <= PACKED_ROW_BYTES_MAX
        ),
        "short output rows leave together",
        unit=_tile_cols,
    ),
    KernelRecord(
        "staged_tiles",
        _staged_tiles,
        lambda layout: layout.stream and layout.is_square and layout.rows.extent >= STAGED_LINES_MIN * layout.lanes,
        "output rows start anywhere in a cache line",
        unit=_run,
        strips=lambda shape: _strips(shape) + 1,
        whole_column=True,
        scratch_bytes=_block_scratch,
    ),
    KernelRecord(
        "cached_tiles",
        _cached_tiles,
        lambda layout: True,
        "the caches hold the output, or its rows are short",
        unit=_tile_cols,
        strips=lambda shape: -(-(shape.rows.extent + shape.tile[0] - 1) // shape.height),  # one may begin above row 0
    ),
)
"""Kernels for moves in which two axes change places, the first legal one first."""

SINGLE_ELEMENTS = KernelRecord(
    "single_elements",
    _single_elements,
    lambda layout: True,
    "no two axes are contiguous, one in the input and one in the output",
)

KERNELS = {record.name: record for record in (*RUNS, *TILES, SINGLE_ELEMENTS)}
"""Every record by its name."""
