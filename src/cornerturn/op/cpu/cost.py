"""What a way to move a problem is predicted to take, in nanoseconds of one thread.

Instructions, and lines on their way between the first cache and where they are, are counted and weighed. The weights
were fitted to some thousands of measured boxes of every kernel; only ratios of two predictions mean anything.
"""

import math
from typing import NamedTuple

import numpy as np

from cornerturn.op.cpu.box import Box
from cornerturn.op.cpu.calibration import stream_ratio
from cornerturn.op.cpu.kernels import KernelRecord
from cornerturn.op.cpu.machine import LINE_BYTES, cache_bytes
from cornerturn.op.problem import Axis, Problem

ENGINE_NANOSECONDS = 1000  # a call of the engine, beyond what one of NumPy takes
WAYS = 8  # lines that a set of the first cache holds, at least
LAST_SHARE = 16  # of the second cache's size
NUMPY_NANOSECONDS = 0.31  # per element
NUMPY_RUN_NANOSECONDS = 8
BOX_NANOSECONDS = 6
RUN_NANOSECONDS = 2.5  # per run that leaves scratch memory
SCRATCH_NANOSECONDS = 0.3  # per line that leaves it
SPILL_NANOSECONDS = 0.8  # per line of a box that the first cache does not hold, and as much again for two


class LineCost(NamedTuple):
    """Nanoseconds that lines take on their way: each, and beyond that one that two boxes share."""

    each: float
    shared: float

    def nanoseconds(self, lines: float, shared: float) -> float:
        """Nanoseconds of some lines."""
        return self.each * lines + self.shared * shared


READ = (LineCost(0.3, 0.05), LineCost(0.6, 0.8), LineCost(2.0, 3.0))
DIRECT = (LineCost(0.1, 0.05), LineCost(0.7, 0.7), LineCost(2.5, 12))
WRITE = (LineCost(0.6, 0.1), LineCost(1.2, 0.7), LineCost(3.0, 12))
STREAM = (LineCost(1.4, 7), LineCost(1.3, 7), LineCost(1.3, 40))
"""By where both arrays are held: in the second cache, in the last one, in none."""

ALIASED_NANOSECONDS = 3.5  # per piece of a column that has to come from the second cache


def engine_nanoseconds(problem: Problem, record: KernelRecord, box: Box, scratch: bool, stream: bool) -> float:
    """Return about what it takes a kernel to move a problem box by box."""
    each = BOX_NANOSECONDS + record.nanoseconds(box) + _memory_nanoseconds(problem, record, box, scratch, stream)
    if not scratch and 0 < record.columns < LINE_BYTES and _is_aliased(box):
        each += ALIASED_NANOSECONDS * box.nbytes / record.columns
    if scratch:
        each += box.elements(box.rest(box.y_run)) * RUN_NANOSECONDS + box.nbytes / LINE_BYTES * SCRATCH_NANOSECONDS
    held = box.nbytes * (3 if scratch else 2)  # the box on both sides, and what is asked for of the next one
    each += box.nbytes / LINE_BYTES * SPILL_NANOSECONDS * min(2.0, max(0.0, held / cache_bytes(1) - 1))
    return ENGINE_NANOSECONDS + box.boxes(scratch and stream) * each


def lines_of(box: Box, strides: list[int]) -> tuple[float, float]:
    """Return the lines that a box touches on one side, and how many of them it shares with other boxes."""
    span, spans, aligned = box.item, 1, True
    for number in sorted(range(len(box.axes)), key=lambda number: abs(strides[number])):
        stride, chunk = abs(strides[number]), box.chunks[number]
        if chunk == 1 or stride == 0:
            aligned = aligned and stride % LINE_BYTES == 0
        elif stride <= span + LINE_BYTES:
            span = stride * (chunk - 1) + span
        else:
            spans *= chunk
            aligned = aligned and stride % LINE_BYTES == 0
    if aligned and span % LINE_BYTES == 0:
        return spans * (span // LINE_BYTES), 0
    return spans * max(1, span / LINE_BYTES), spans


def _memory_nanoseconds(problem: Problem, record: KernelRecord, box: Box, scratch: bool, stream: bool) -> float:
    """Return about what the lines of a box cost on their way between the first cache and where they are."""
    level = _level(2 * problem.nbytes)
    lines, shared = lines_of(box, box.strides_in)
    cost = READ[level].nanoseconds(lines, shared)
    lines, shared = lines_of(box, box.strides_out)
    if stream:
        measured = stream_ratio() * (READ[1].each + DIRECT[1].each) - READ[1].each if level == 1 else STREAM[level].each
        way = STREAM[level]._replace(each=max(0.1, measured))
        if not record.scratch:  # each run is written on its own
            shared = box.nbytes / box.record_bytes
        whole = box.in_step and box.record_bytes % LINE_BYTES == 0 if not record.scratch else box.in_step
        return cost + way.nanoseconds(lines, 0 if whole or (scratch and box.owner >= 0) else shared)
    if scratch:
        return cost + WRITE[level].nanoseconds(lines, shared)
    return cost + DIRECT[level].nanoseconds(lines, shared)


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
    sets = lines % (cache_bytes(1) // WAYS // LINE_BYTES)
    return len(lines) >= WAYS and int(np.bincount(sets).max()) >= WAYS - 1


def numpy_nanoseconds(problem: Problem) -> float:
    """Return about what NumPy's copy takes: element by element along the output's innermost axis."""
    item, nbytes, elements = problem.itemsize, 2 * problem.nbytes, math.prod(problem.shape)
    *_, inner = problem.axes or (Axis(1, item, item),)
    stays = inner.stride_in == inner.stride_out == item
    each = item / LINE_BYTES if stays else NUMPY_NANOSECONDS
    level = _level(nbytes)
    moved = 0.0
    if nbytes > cache_bytes(1):
        lines = elements * min(1.0, abs(inner.stride_in) / LINE_BYTES)
        moved = READ[level].each * lines + DIRECT[level].each * problem.nbytes / LINE_BYTES
    return elements * each + elements // inner.extent * NUMPY_RUN_NANOSECONDS + moved
