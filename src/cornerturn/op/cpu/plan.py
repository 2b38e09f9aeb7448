"""From a problem to the kernel that solves it."""

from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path

from cornerturn.op.cpu.kernels import BLOCK_LINES, LONG_RUN_BYTES, RUNS, SINGLE_ELEMENTS, TILES, Layout, is_aliased
from cornerturn.op.problem import Axis, Problem, canonical
from cornerturn.op.strided_view import CACHE_LINE_BYTES, StridedView

UNIT = Axis(1, 0, 0)

GATHERED_BYTES = 512  # what leaves scratch memory at once
PARTED_BYTES = 2048  # what each output row gets at once where interleaved rows are parted
FEW_OUTPUT_RUNS = 64  # so many runs may go to as many places in turn, in the input's own order
RUN_ROWS = 4  # otherwise so many runs go to the same place, one after the other
STRIP_LINES = 2  # whole lines that a strip writes of each output row, one after the other
BLOCK_TILES_MAX = 32
ALIASED_STREAMS_SOONER = 8
ELEMENT_BLOCK = 64  # rows and columns of elements moved one by one: the first cache holds the lines of both sides


@dataclass(frozen=True, eq=False)
class Plan:
    """How one move will be done on a CPU.

    Attributes:
        problem: the canonical problem.
        kernel: name of the kernel, a key of ``kernels.KERNELS``.
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

    @property
    def itemsize(self) -> int:
        """Bytes per element."""
        return self.problem.itemsize

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
        stream = stream or (is_aliased(cols.stride_out) and problem.nbytes >= streaming_bytes // ALIASED_STREAMS_SOONER)
        plan = _tiles(problem, stream, rows, cols, outer, line_offset)
    else:
        cols, outer = _nearest(outer, than=rows)
        name, why = SINGLE_ELEMENTS.name, SINGLE_ELEMENTS.why
        plan = Plan(problem, name, why, False, rows, cols, tuple(outer), (1, 1), ELEMENT_BLOCK)
    return replace(plan, offset_in=problem.offset_in + plan.offset_in, offset_out=problem.offset_out + plan.offset_out)


def _runs(problem: Problem, stream: bool, run: int, outer: list[Axis], line_offset: int) -> Plan:
    """Plan a move whose innermost axis is contiguous on both sides: runs of ``run`` bytes."""
    elements = run // problem.itemsize
    why = f"runs of {run} bytes stay together" if outer else "one run of bytes"
    rows = outer.pop() if outer else UNIT
    alone = rows is UNIT
    if alone or run >= LONG_RUN_BYTES:
        cols = UNIT
    else:
        cols, outer = _nearest(outer, than=rows)
    in_step = line_offset == 0 and _lines_agree(rows, cols, *outer)
    layout = Layout(problem.itemsize, rows, cols, run, stream, in_step, alone)
    name = next(record.name for record in RUNS if record.legal(layout))
    match name:
        case "long_runs":
            height, cols, run = 1, Axis(run, 1, 1), 1
        case "line_runs":
            height = RUN_ROWS if cols.extent > FEW_OUTPUT_RUNS else 1
        case "gathered_runs":
            height = max(1, GATHERED_BYTES // run)
        case _:
            height, stream = RUN_ROWS, False
    tile = (height if name in ("line_runs", "gathered_runs") else 1), elements
    return Plan(problem, name, why, stream, rows, cols, tuple(outer), tile, height, run)


def _tiles(problem: Problem, stream: bool, rows: Axis, cols: Axis, outer: list[Axis], line_offset: int) -> Plan:
    """Plan a move with one axis contiguous in the output, ``rows``, and another in the input, ``cols``."""
    if cols.stride_in < 0:  # the output may as well be written from its other end
        extent, stride_in, stride_out = cols
        offset_in, offset_out = (extent - 1) * stride_in, (extent - 1) * stride_out
        cols = Axis(extent, -stride_in, -stride_out)
        plan = _tiles(problem, stream, rows, cols, outer, line_offset + offset_out)
        return replace(plan, offset_in=offset_in, offset_out=offset_out)

    in_step = _lines_agree(cols, *outer) and line_offset % problem.itemsize == 0
    layout = Layout(problem.itemsize, rows, cols, 0, stream, in_step)
    lanes = layout.lanes
    record = next(record for record in TILES if record.legal(layout))
    tile, height, run = layout.tile, STRIP_LINES * lanes, _block_cols(lanes)
    match record.name:
        case "deinterleave":
            tile = lanes, cols.extent
            height = min(PARTED_BYTES, 8 * LONG_RUN_BYTES // cols.extent) // CACHE_LINE_BYTES * lanes
        case "interleave":
            tile = rows.extent, lanes
            height = rows.extent
            run = max(1, LONG_RUN_BYTES // (CACHE_LINE_BYTES * rows.extent)) * lanes
        case "packed_tiles":
            height = rows.extent
        case "cached_tiles":
            height = STRIP_LINES * tile[0]
        case "blocked_tiles" | "staged_tiles":
            height = BLOCK_LINES * lanes
    why = f"two axes change places; {record.why}"
    return Plan(problem, record.name, why, stream, rows, cols, tuple(outer), tile, height, run)


def _nearest(axes: list[Axis], than: Axis) -> tuple[Axis, list[Axis]]:
    """Return the axis with the smallest step in the input, if it is smaller than that of ``than``, and the others."""
    nearest = min(axes, key=lambda axis: abs(axis.stride_in), default=UNIT)
    if nearest is UNIT or abs(nearest.stride_in) >= abs(than.stride_in):
        return UNIT, axes
    return nearest, [axis for axis in axes if axis is not nearest]


def _lines_agree(*axes: Axis) -> bool:
    """Return whether stepping along the axes keeps the place within a cache line of the output."""
    return all(axis.stride_out % CACHE_LINE_BYTES == 0 for axis in axes)


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
