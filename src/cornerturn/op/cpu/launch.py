"""From a candidate to what a kernel is given: the job's numbers and tables, and how the work is cut into tickets."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cornerturn.op.cpu.box import Box, Table
from cornerturn.op.cpu.kernels import KERNELS
from cornerturn.op.cpu.machine import LINE_BYTES
from cornerturn.op.cpu.way import Candidate
from cornerturn.op.problem import Problem

HEADER = 24  # as many as `job` and `fill` name, which need Numba, and some
TICKET_BYTES = 1 << 18
SPANS_MAX = 4096


@dataclass(frozen=True, eq=False)
class Job:
    """What a kernel is called with.

    Attributes:
        kernel: name of the kernel.
        numbers: as `job` lays them out.
        tickets: how many pieces the work has.
        scratch_bytes: memory that each thread needs.
    """

    kernel: str
    numbers: NDArray[np.int64]
    tickets: int
    scratch_bytes: int


def job_of(candidate: Candidate, problem: Problem, reference: int = 0) -> Job:
    """Return the job of a candidate that is no copy of NumPy's.

    Args:
        candidate: the way to go.
        problem: what it moves.
        reference: 0, or where objects whose addresses the kernel is given hold those of their elements.
    """
    box = candidate.box
    assert box is not None
    scratch, stream = candidate.scratch, candidate.stream
    filling = KERNELS[candidate.kernel].filling(box, scratch)
    grid, owner_place, owned = _grid(box, scratch and stream, stream)
    boxes = box.boxes(scratch and stream)
    step = max(1, min(-(-boxes // 8), TICKET_BYTES // box.nbytes))
    rest = box.rest(box.y_run)
    run_bytes = box.run_bytes if KERNELS[candidate.kernel].scratch else box.record_bytes
    runs = box.offsets(rest, box.strides_out) if scratch else np.zeros(0, np.int64)
    spans, span_bytes = _spans(box) if scratch else (np.zeros(0, np.int64), 0)
    loops = filling.loops
    common: list[Any] = [
        reference, boxes, step, len(grid), grid.reshape(-1), owner_place, owned,
        len(loops), loops.reshape(-1), len(runs), runs, run_bytes, box.pitch, int(stream),
        len(spans), spans, span_bytes, problem.offset_in, problem.offset_out, *filling.numbers,
    ]  # fmt: skip
    numbers = _laid_out(common)
    return Job(candidate.kernel, numbers, -(-boxes // step), box.scratch_bytes if scratch else 0)


def _laid_out(values: list[Any]) -> NDArray[np.int64]:
    """Return a job: tables follow the header, which says where each begins."""
    numbers = [np.zeros(HEADER, np.int64)]
    end = HEADER
    for place, value in enumerate(values):
        if isinstance(value, np.ndarray):
            numbers[0][place] = end
            numbers.append(value)
            end += len(value)
        else:
            numbers[0][place] = value
    return np.concatenate(numbers)


def _grid(box: Box, shared: bool, stream: bool) -> tuple[Table, int, int]:
    """Return the axes of the grid, which of them is the owner's, and the bytes of a run that each box owns."""
    strides = box.strides_in if stream else box.strides_out
    rows: list[tuple[int, ...]] = []
    place, owned = -1, 0
    for number in sorted(range(len(box.axes)), key=lambda number: abs(strides[number])):
        extent, chunk = box.axes[number].extent, box.chunks[number]
        if chunk == extent:
            continue
        step = box.step(number, shared)
        if shared and number == box.owner:
            place, owned = len(rows), step * box.strides_out[number]
        boxes = box.boxes_along(number, shared)
        rows.append((boxes, step, extent - chunk, box.strides_in[number], box.strides_out[number]))
    return np.array(rows, np.int64).reshape(-1, 5), place, owned


def _spans(box: Box) -> tuple[Table, int]:
    """Return where the spans of the input begin that a box reads, and their length."""
    span, near = box.item, []
    for number in box.x_order:
        stride = abs(box.strides_in[number])
        if stride == 0 or stride > span + LINE_BYTES:
            break
        span = stride * (box.chunks[number] - 1) + span
        near.append(number)
    offsets = box.offsets(box.rest(tuple(near)), box.strides_in)
    if len(offsets) > SPANS_MAX:
        return np.zeros(0, np.int64), 0
    return offsets + sum(min(0, (box.chunks[n] - 1) * box.strides_in[n]) for n in near), span
