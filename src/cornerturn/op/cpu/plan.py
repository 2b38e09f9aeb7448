"""From a problem to the way that is predicted to take the least time."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from cornerturn.op.cpu import store
from cornerturn.op.cpu.box import Box, grown
from cornerturn.op.cpu.cost import engine_nanoseconds, numpy_nanoseconds
from cornerturn.op.cpu.kernels import KERNELS, KernelRecord
from cornerturn.op.cpu.machine import LINE_BYTES, cache_bytes
from cornerturn.op.cpu.way import NUMPY_COPY, Candidate
from cornerturn.op.problem import Problem, canonical
from cornerturn.op.strided_view import StridedView
from cornerturn.showing import Shown

FEW_ELEMENTS = 2048
"""NumPy copies so many elements in less time than it takes to look up how to move them."""

WANTS = (
    (256, 128),
    (256, 256),
    (512, 512),
    (128, 512),
    (512, 128),
    (64, 256),
    (256, 64),
    (1024, 1024),
    (256, 2048),
    (2048, 256),
)
"""Bytes of the runs of a box, in the input and in the output, that are tried."""

STREAM_BYTES_MIN = 1 << 16
"""Smaller outputs are never written past the caches."""

RUN_BOX_BYTES = 1 << 16
"""Bytes of a box whose runs are copied from the input, in its order, to the output."""


@dataclass(frozen=True, eq=False)
class Plan(Shown):
    """How one move will be done on a CPU.

    Attributes:
        problem: the canonical problem.
        candidates: what was compared, the best one first.
    """

    problem: Problem
    candidates: tuple[Candidate, ...]

    @property
    def chosen(self) -> Candidate:
        """The way that is taken."""
        return self.candidates[0]

    @property
    def kernel(self) -> str:
        """Name of the kernel that is taken."""
        return self.chosen.kernel

    @property
    def why(self) -> str:
        """Why this way is taken."""
        if len(self.candidates) == 1:
            turned_off = "NUMBA_DISABLE_JIT is set, and NumPy copies"
            return turned_off if store.turned_off() else f"there are at most {FEW_ELEMENTS} elements"
        known = KERNELS.get(self.kernel)
        lesson = known.lesson if known else "a call of the engine costs more than it saves"
        return f"{lesson}; the shortest of {len(self.candidates)} ways, as predicted"

    def __repr__(self) -> str:
        return f"<Plan: {self.kernel} for {self.problem.nbytes:,} bytes>"

    def __str__(self) -> str:
        problem = self.problem
        lines = [
            f"moves   {' x '.join(map(str, problem.shape)) or 1} elements of {problem.itemsize} bytes",
            f"strides {problem.strides_in} -> {problem.strides_out} bytes",
            f"kernel  {self.kernel}",
            f"why     {self.why}",
            "",
            f"{'candidate':<12} {'box':>24}  {'way':<32} {'predicted':>12}",
        ]
        best: dict[tuple[str, bool, bool], str] = {}
        for way in self.candidates:
            best.setdefault((way.kernel, way.scratch, way.stream), str(way))
        return "\n".join((*lines, *best.values()))


def plan_move(source: StridedView, destination: StridedView) -> Plan:
    """Return the plan that copies ``source`` to ``destination``, two views of one shape and item size."""
    aligned = destination.pointer % LINE_BYTES == 0
    return plan_strides(source.itemsize, source.shape, source.strides, destination.strides, aligned)


@lru_cache(maxsize=4096)
def plan_strides(
    itemsize: int,
    shape: tuple[int, ...],
    strides_in: tuple[int, ...],
    strides_out: tuple[int, ...],
    aligned: bool = False,
) -> Plan:
    """Return the plan for two arrays given by their layout; the same layout gives the same plan object.

    Args:
        itemsize: bytes of an element.
        shape: extents, none of them zero.
        strides_in: bytes, with the input's axes already permuted.
        strides_out: bytes.
        aligned: whether the output's element (0, ..., 0) starts a line.
    """
    problem = canonical(itemsize, shape, strides_in, strides_out)
    few = math.prod(shape) <= FEW_ELEMENTS
    return plan_problem(problem, itemsize, aligned and problem.offset_out % LINE_BYTES == 0, few)


def plan_problem(problem: Problem, item: int, aligned: bool = False, few: bool = False) -> Plan:
    """Return the plan for a problem.

    Args:
        problem: the move.
        item: bytes of an element of the arrays, of which the problem's may be several.
        aligned: whether the output's first element moved starts a line.
        few: whether the arrays have at most FEW_ELEMENTS.
    """
    ways = [] if few or store.turned_off() else _candidates(problem, aligned)
    candidates = [*ways, Candidate(NUMPY_COPY, None, False, False, numpy_nanoseconds(problem, item))]
    return Plan(problem, tuple(sorted(candidates, key=lambda candidate: candidate.nanoseconds)))


def _candidates(problem: Problem, aligned: bool) -> Iterator[Candidate]:
    large = problem.nbytes >= STREAM_BYTES_MIN
    most = cache_bytes(1) * (2 if large else 1)
    boxes = {box.chunks: box for wants in WANTS for box in (grown(problem, *wants, most, aligned),)}
    ways = [(True, False), (False, False), *([(True, True)] if large else [])]
    for box in boxes.values():
        for record in KERNELS.values():
            if record.scratch:
                yield from _ways(problem, record, box, ways)
    box = grown(problem, RUN_BOX_BYTES, problem.itemsize, 4 * RUN_BOX_BYTES, aligned)
    for record in KERNELS.values():
        if not record.scratch:
            yield from _ways(problem, record, box, [(False, False), *([(False, True)] if large else [])])


def _ways(problem: Problem, record: KernelRecord, box: Box, ways: list[tuple[bool, bool]]) -> Iterator[Candidate]:
    fits = {scratch: record.fits(box, scratch) for scratch in {scratch for scratch, _ in ways}}
    for scratch, stream in ways:
        if fits[scratch]:
            nanoseconds = engine_nanoseconds(problem, record, box, scratch, stream)
            yield Candidate(record.name, box, scratch, stream, nanoseconds)
