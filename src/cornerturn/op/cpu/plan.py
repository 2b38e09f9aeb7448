"""From a problem to the kernel that solves it."""

from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path

from cornerturn.op.problem import Axis, Problem, canonical
from cornerturn.op.strided_view import CACHE_LINE_BYTES, StridedView

UNIT = Axis(1, 0, 0)

LONG_RUN_BYTES = 4096  # runs from here on are copied one by one, shorter ones gathered
GATHERED_BYTES = 512  # what leaves scratch memory at once
PARTED_BYTES = 2048  # what each output row gets at once where interleaved rows are parted
FEW_OUTPUT_RUNS = 64  # so many runs may go to as many places in turn, in the input's own order
RUN_ROWS = 4  # otherwise so many runs go to the same place, one after the other
SHORT_EXTENT_MAX = 32  # longest axis with a kernel of its own
PACKED_ROW_BYTES_MAX = 1024
PACKED_BYTES_MIN = 4 * CACHE_LINE_BYTES  # less is not worth the way through scratch memory
STRIP_LINES = 2  # whole lines that a strip writes of each output row, one after the other
BLOCK_LINES = 4
BLOCK_TILES_MAX = 32
STAGED_LINES_MIN = 8  # with fewer lines too much of an output row is edge
ALIASED_PITCH_BYTES = 1024  # at such a pitch lines meet in a quarter of a first cache's sets, or fewer
ALIASED_STREAMS_SOONER = 8
ELEMENT_BLOCK = 64  # rows and columns of elements moved one by one: the first cache holds the lines of both sides


@dataclass(frozen=True, eq=False)
class Plan:
    """How one move will be done on a CPU.

    Attributes:
        problem: the canonical problem.
        kernel: name of the kernel, a key of ``on_cpu.KERNELS``.
        why: what in the problem chose the kernel.
        stream: whether whole lines are written past the caches.
        rows: the axis that is contiguous in the output, or comes nearest to it.
        cols: the axis that is contiguous in the input, or comes nearest to it.
        outer: all other axes, outermost in the output first.
        tile: rows and columns that the kernel moves at once.
        height: rows of a strip, that is rows which are moved before the next columns.
        run: bytes or columns that stay together; the kernel says which.
        offset_in: bytes from the input's element (0, ..., 0) to the first one moved.
        offset_out: the same in the output.
    """

    problem: Problem
    kernel: str
    why: str
    stream: bool
    rows: Axis
    cols: Axis
    outer: tuple[Axis, ...]
    tile: tuple[int, int]
    height: int
    run: int = 1
    offset_in: int = 0
    offset_out: int = 0

    def __str__(self) -> str:
        problem = self.problem
        past = ", written past the caches" if self.stream else ""
        return "\n".join(
            (
                f"moves   {' x '.join(map(str, problem.shape)) or 1} elements of {problem.itemsize} bytes",
                f"strides {problem.strides_in} -> {problem.strides_out} bytes",
                f"kernel  {self.kernel}, {self.tile[0]} x {self.tile[1]} at once{past}",
                f"why     {self.why}",
            )
        )


def plan_move(source: StridedView, destination: StridedView) -> Plan:
    """Return the plan that copies ``source`` to ``destination``, two views of one shape and item size."""
    line_offset = destination.pointer % CACHE_LINE_BYTES
    return plan_strides(source.itemsize, source.shape, source.strides, destination.strides, line_offset)


@lru_cache(maxsize=4096)
def plan_strides(
    itemsize: int,
    shape: tuple[int, ...],
    strides_in: tuple[int, ...],
    strides_out: tuple[int, ...],
    line_offset: int = 0,
) -> Plan:
    """Return the plan for two arrays given by their layout; the same layout gives the same plan object.

    Args:
        itemsize: bytes of an element.
        shape: extents, none of them zero.
        strides_in: bytes, with the input's axes already permuted.
        strides_out: bytes.
        line_offset: bytes from the start of a cache line to the output's element (0, ..., 0).
    """
    return plan_problem(canonical(itemsize, shape, strides_in, strides_out), line_offset, streaming_bytes())


def plan_problem(problem: Problem, line_offset: int = 0, streaming_bytes: int = 0) -> Plan:
    """Return the plan for a problem; outputs of at least ``streaming_bytes`` are written past the caches."""
    stream = problem.nbytes >= streaming_bytes
    item = problem.itemsize
    *outer, rows = problem.axes or (Axis(1, item, item),)
    if rows.stride_in == rows.stride_out == item:
        plan = _runs(problem, stream, rows.extent * item, outer, line_offset)
    elif rows.stride_out == item and (facing := [axis for axis in outer if abs(axis.stride_in) == item]):
        cols = facing[-1]
        outer.remove(cols)
        stream = stream or (_aliased(cols.stride_out) and problem.nbytes >= streaming_bytes // ALIASED_STREAMS_SOONER)
        plan = _tiles(problem, stream, rows, cols, outer, line_offset)
    else:
        cols, outer = _nearest(outer, than=rows)
        why = "no two axes are contiguous, one in the input and one in the output"
        tile = (1, 1)
        plan = Plan(problem, "single_elements", why, False, rows, cols, tuple(outer), tile, ELEMENT_BLOCK)
    return replace(plan, offset_in=problem.offset_in + plan.offset_in, offset_out=problem.offset_out + plan.offset_out)


def _runs(problem: Problem, stream: bool, run: int, outer: list[Axis], line_offset: int) -> Plan:
    """Plan a move whose innermost axis is contiguous on both sides: runs of ``run`` bytes."""
    elements = run // problem.itemsize
    why = f"runs of {run} bytes stay together" if outer else "one run of bytes"
    rows = outer.pop() if outer else UNIT
    if run >= LONG_RUN_BYTES or rows is UNIT:
        return Plan(problem, "long_runs", why, stream, rows, Axis(run, 1, 1), tuple(outer), (1, elements), 1)
    cols, outer = _nearest(outer, than=rows)
    if stream and run % CACHE_LINE_BYTES == line_offset == 0 and _lines_agree(rows, cols, *outer):
        height = RUN_ROWS if cols.extent > FEW_OUTPUT_RUNS else 1
        return Plan(problem, "line_runs", why, stream, rows, cols, tuple(outer), (height, elements), height, run)
    if (stream or run < CACHE_LINE_BYTES) and rows.stride_out == run:
        height = max(1, GATHERED_BYTES // run)
        return Plan(problem, "gathered_runs", why, stream, rows, cols, tuple(outer), (height, elements), height, run)
    return Plan(problem, "cached_runs", why, False, rows, cols, tuple(outer), (1, elements), RUN_ROWS, run)


def _tiles(problem: Problem, stream: bool, rows: Axis, cols: Axis, outer: list[Axis], line_offset: int) -> Plan:
    """Plan a move with one axis contiguous in the output, ``rows``, and another in the input, ``cols``."""
    if cols.stride_in < 0:  # the output may as well be written from its other end
        extent, stride_in, stride_out = cols
        offset_in, offset_out = (extent - 1) * stride_in, (extent - 1) * stride_out
        cols = Axis(extent, -stride_in, -stride_out)
        plan = _tiles(problem, stream, rows, cols, outer, line_offset + offset_out)
        return replace(plan, offset_in=offset_in, offset_out=offset_out)

    item = problem.itemsize
    lanes = CACHE_LINE_BYTES // item
    packed_in = rows.stride_in == cols.extent * item
    packed_out = cols.stride_out == rows.extent * item
    rest = tuple(outer)

    if packed_in and cols.extent <= SHORT_EXTENT_MAX and cols.extent % lanes and rows.extent >= lanes:
        height = min(PARTED_BYTES, 8 * LONG_RUN_BYTES // cols.extent) // CACHE_LINE_BYTES * lanes
        why = f"rows of {cols.extent} are parted"
        return Plan(problem, "deinterleave", why, stream, rows, cols, rest, (lanes, cols.extent), height)
    if packed_out and rows.extent <= SHORT_EXTENT_MAX and rows.extent % lanes and cols.extent >= lanes:
        run = max(1, LONG_RUN_BYTES // (CACHE_LINE_BYTES * rows.extent)) * lanes
        why = f"{rows.extent} rows are interleaved"
        return Plan(problem, "interleave", why, stream, rows, cols, rest, (rows.extent, lanes), rows.extent, run)

    tile = _power_of_two(min(rows.extent, lanes)), _power_of_two(min(cols.extent, lanes))
    square = tile == (lanes, lanes)
    agree = _lines_agree(cols, *outer) and line_offset % item == 0
    if stream and square and agree and item <= 2 and _aliased(rows.stride_in):
        kernel, why, height = "blocked_tiles", "input rows fall on each other in the caches", BLOCK_LINES * lanes
    elif stream and tile[0] == lanes and agree:
        kernel, why, height = "streaming_tiles", "output rows start alike in a cache line", STRIP_LINES * lanes
    elif stream and packed_out and PACKED_BYTES_MIN // tile[1] <= rows.extent * item <= PACKED_ROW_BYTES_MAX:
        kernel, why, height = "packed_tiles", "short output rows leave together", rows.extent
    elif stream and square and rows.extent >= STAGED_LINES_MIN * lanes:
        kernel, why, height = "staged_tiles", "output rows start anywhere in a cache line", BLOCK_LINES * lanes
    else:
        kernel, why, height = "cached_tiles", "the caches hold the output, or its rows are short", STRIP_LINES * tile[0]
    why = f"two axes change places; {why}"
    return Plan(problem, kernel, why, stream, rows, cols, rest, tile, height, _block_cols(lanes))


def _nearest(axes: list[Axis], than: Axis) -> tuple[Axis, list[Axis]]:
    """Return the axis with the smallest step in the input, if it is smaller than that of ``than``, and the others."""
    nearest = min(axes, key=lambda axis: abs(axis.stride_in), default=UNIT)
    if nearest is UNIT or abs(nearest.stride_in) >= abs(than.stride_in):
        return UNIT, axes
    return nearest, [axis for axis in axes if axis is not nearest]


def _aliased(pitch: int) -> bool:
    """Return whether lines so many bytes apart meet in few sets of a cache, where they push each other out."""
    return pitch % ALIASED_PITCH_BYTES == 0


def _lines_agree(*axes: Axis) -> bool:
    """Return whether stepping along the axes keeps the place within a cache line of the output."""
    return all(axis.stride_out % CACHE_LINE_BYTES == 0 for axis in axes)


def _power_of_two(extent: int) -> int:
    """Return the largest power of two that is not larger."""
    return 1 << (extent.bit_length() - 1)


@cache
def streaming_bytes() -> int:
    """Return the output size in bytes from which writing past the caches pays: a quarter of the last-level cache."""
    return cache_bytes(level=3, otherwise=1 << 25) // 4


def _block_cols(lanes: int) -> int:
    """Return how many columns a block holds: its half-transposed tiles take half of the second cache."""
    tiles = cache_bytes(level=2, otherwise=1 << 18) // 2 // (BLOCK_LINES * lanes * CACHE_LINE_BYTES)
    return min(tiles, BLOCK_TILES_MAX) * lanes


@cache
def cache_bytes(level: int, otherwise: int) -> int:
    """Return the size of a data cache as Linux tells it, or ``otherwise``."""
    for index in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*"):
        try:
            if (index / "level").read_text().strip() == str(level):
                return int((index / "size").read_text().strip().removesuffix("K")) * 1024
        except (OSError, ValueError):
            continue
    return otherwise
