"""What a way to move a problem is predicted to take, in nanoseconds of one thread.

Instructions, and lines on their way between the first cache and where they are, are counted and weighed. The weights
were fitted to some thousands of measured boxes of every kernel; only ratios of two predictions mean anything.
"""

import math
from typing import NamedTuple

import numpy as np

from cornerturn.op.cpu.box import Box
from cornerturn.op.cpu.calibration import stream_nanoseconds
from cornerturn.op.cpu.kernels import KernelRecord
from cornerturn.op.cpu.machine import LINE_BYTES, cache_bytes, way_bytes, ways
from cornerturn.op.problem import Axis, Problem

ENGINE_NANOSECONDS = 400  # a call of the engine, beyond what one of NumPy takes
LAST_SHARE = 16  # of the second cache's size
NUMPY_NANOSECONDS = 0.31  # per element
NUMPY_RUN_NANOSECONDS = 8
BOX_NANOSECONDS = 6
RUN_NANOSECONDS = 2.0  # per run that leaves scratch memory


class LineCost(NamedTuple):
    """Nanoseconds that lines take on their way: each, each span of them, and beyond that one that two boxes share."""

    each: float
    span: float
    shared: float

    def nanoseconds(self, lines: float, spans: float, shared: float) -> float:
        """Nanoseconds of some lines."""
        return self.each * lines + self.span * spans + self.shared * shared


READ = (LineCost(0.45, 0, 0.4), LineCost(0.4, 0.4, 0), LineCost(0.1, 3.1, 2.4))
DIRECT = (LineCost(0.05, 0, 0), LineCost(0.05, 0.3, 0), LineCost(3.6, 2.8, 0))
WRITE = (LineCost(1.2, 0.6, 0), LineCost(1.0, 0.2, 0.7), LineCost(4.2, 3.1, 0.8))
STREAM = (LineCost(1.5, 0, 10), LineCost(0.4, 0, 3), LineCost(1.5, 0, 16))
"""By where both arrays are held: in the second cache, in the last one, in none. What is measured comes on top."""

NUMPY_LINES = ((0.3, 0.1), (0.6, 0.7), (2.0, 2.5))
"""What a line that NumPy reads takes, and one that it writes, by where the arrays are held."""

NUMPY_EVICTED = ((0.5, 0), (0.5, 3), (0.5, 6))
"""Per element that NumPy reads of a line that has left the first cache, or the second, since it read another of it."""

EVICTED = ((0.2, 0), (0.1, 0), (0.4, 1.0))
"""Per piece of a line that has left the first cache, or the second, before it is read; by where the arrays are held."""

EVICTED_RECORD = 1.5
"""Per record of lines that fall together in the first cache, and so leave it before the next record of theirs."""

SPILL = (0, 0.1, 1.7)
"""Per line of a box that the first cache does not hold as often as it is needed, by where the arrays are held."""

ALIASED_PIECE = 3.5  # per piece of a line that has to come from the second cache to be written
ALIASED_LINE = 0.9  # per line that is written as a whole


def engine_nanoseconds(problem: Problem, record: KernelRecord, box: Box, scratch: bool, stream: bool) -> float:
    """Return about what it takes a kernel to move a problem box by box."""
    level = _level(2 * problem.nbytes)
    each = BOX_NANOSECONDS + record.nanoseconds(box) + READ[level].nanoseconds(*touched(box, box.strides_in)[:3])
    each += _written_nanoseconds(record, box, scratch, stream, level)
    if scratch:
        each += box.elements(box.rest(box.y_run)) * RUN_NANOSECONDS
    elif record.columns and _is_aliased(box):
        piece = min(record.columns, LINE_BYTES)
        each += (ALIASED_LINE if piece == LINE_BYTES else ALIASED_PIECE) * box.nbytes / piece
    if record.scratch:  # a kernel of another kind needs no line twice
        each += _again_nanoseconds(record, box, scratch, level)
    return ENGINE_NANOSECONDS + box.boxes(scratch and stream) * each


class Touched(NamedTuple):
    """What a box touches on one side: lines, spans that they make, and how many lines it shares with other boxes.

    ``ways`` says how many of the lines fall together, in the first cache and in the second, as a share of what one of
    their sets holds.
    """

    lines: float
    spans: int
    shared: int
    ways: tuple[float, float]


def touched(box: Box, strides: list[int]) -> Touched:
    """Return what a box touches on one side, given by its strides."""
    span, spans, aligned = box.item, 1, True
    places = [1, 1]
    for number in sorted(range(len(box.axes)), key=lambda number: abs(strides[number])):
        stride, chunk = abs(strides[number]), box.chunks[number]
        if chunk == 1 or stride == 0:
            aligned = aligned and stride % LINE_BYTES == 0
        elif stride <= span + LINE_BYTES:
            span = stride * (chunk - 1) + span
        else:
            spans *= chunk
            aligned = aligned and stride % LINE_BYTES == 0
            for level in (0, 1):
                way = way_bytes(level + 1)
                places[level] *= min(chunk, way // math.gcd(stride, way))
    each = max(1.0, span / LINE_BYTES)
    lines = spans * each
    first, second = (
        lines / min(way_bytes(level) / LINE_BYTES, places[level - 1] * each) / ways(level) for level in (1, 2)
    )
    return Touched(lines, spans, 0 if aligned and span % LINE_BYTES == 0 else spans, (first, second))


def _again_nanoseconds(record: KernelRecord, box: Box, scratch: bool, level: int) -> float:
    """Return about what lines of a box take that leave a cache before the kernel has read all pieces of them."""
    lines, _, _, ways = touched(box, box.strides_in)
    pieces = max(lines, box.nbytes / min(record.reads or box.record_bytes, LINE_BYTES))
    first = max(0.0, 1 - 0.5 / ways[0])  # of this box's lines and of the next one's, which are asked for meanwhile
    second = max(0.0, 1 - 1 / ways[1])
    held = box.nbytes * (3 if scratch else 2)  # the box on both sides, and what is asked for of the next one
    spilt = min(1.0, max(0.0, 2 * held / cache_bytes(1) - 2))
    evicted = EVICTED[level][0] * first + EVICTED[level][1] * second
    if not record.reads:  # one load after the other
        evicted += EVICTED_RECORD * max(0.0, 1 - 1 / ways[0])
    return evicted * pieces + SPILL[level] * spilt * box.nbytes / LINE_BYTES


def _written_nanoseconds(record: KernelRecord, box: Box, scratch: bool, stream: bool, level: int) -> float:
    """Return about what the lines of a box take on their way from the first cache."""
    lines, spans, shared, _ = touched(box, box.strides_out)
    dearer = stream_nanoseconds() if level == 1 else 0.0
    if stream:
        return STREAM[level].nanoseconds(lines, spans, _cut_lines(record, box, scratch)) + max(0.0, dearer) * lines
    way = WRITE[level] if scratch else DIRECT[level]
    return way.nanoseconds(lines, spans, shared) + max(0.0, -dearer) * lines


def _cut_lines(record: KernelRecord, box: Box, scratch: bool) -> float:
    """Return the lines of the output that a box writes past the caches and not as a whole."""
    runs = box.elements(box.rest(box.y_run)) if scratch else box.nbytes / box.record_bytes
    if box.in_step and (scratch or box.record_bytes % LINE_BYTES == 0):
        return 0.0
    if not scratch or box.owner < 0:
        return runs
    return 0.0 if box.ends_in_step else runs / box.boxes_along(box.owner, True)


def _level(nbytes: int) -> int:
    """Return where so many bytes are held: 0 in the second cache, 1 in a process's share of the last one, 2 in none.

    The last cache is shared with others, not only of this process, hence a share counts of what it has.
    """
    share = min(cache_bytes(3) // 2, LAST_SHARE * cache_bytes(2))
    return 0 if nbytes <= cache_bytes(2) else 1 if nbytes <= share else 2


def _is_aliased(box: Box) -> bool:
    """Return whether lines of the columns that a box fills side by side push each other out of the first cache."""
    _, cols = box.matrix
    lines = np.unique(box.offsets(cols, box.strides_out) // LINE_BYTES)
    sets = lines % (way_bytes(1) // LINE_BYTES)
    return len(lines) >= ways(1) and int(np.bincount(sets).max()) >= ways(1) - 1


def numpy_nanoseconds(problem: Problem, item: int) -> float:
    """Return about what NumPy's copy takes: elements of ``item`` bytes, one by one along the output's inner axis."""
    nbytes = problem.nbytes
    *_, inner = problem.axes or (Axis(1, problem.itemsize, problem.itemsize),)
    if inner.stride_in == inner.stride_out == problem.itemsize:  # a run
        runs, each = nbytes // (inner.extent * problem.itemsize), nbytes / LINE_BYTES
    elif problem.itemsize > item:  # elements that make one of the problem's are a run for NumPy
        runs, each = nbytes // problem.itemsize, nbytes / LINE_BYTES
    else:
        runs, each = (
            nbytes // problem.itemsize // inner.extent,
            nbytes / max(item, problem.itemsize) * NUMPY_NANOSECONDS,
        )
    moved = 0.0
    if 2 * nbytes > cache_bytes(1):
        level = _level(2 * nbytes)
        read, written = NUMPY_LINES[level]
        elements = nbytes / problem.itemsize
        moved = read * elements * min(1.0, abs(inner.stride_in) / LINE_BYTES) + written * nbytes / LINE_BYTES
        first, second = touched(Box(problem.itemsize, (inner,), (inner.extent,)), [inner.stride_in]).ways
        evicted = NUMPY_EVICTED[level]
        moved += elements * (evicted[0] * max(0.0, 1 - 1 / first) + evicted[1] * max(0.0, 1 - 1 / second))
    return each + runs * NUMPY_RUN_NANOSECONDS + moved
