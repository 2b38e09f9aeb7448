"""From a problem to the kernel that solves it."""

from dataclasses import dataclass
from functools import lru_cache

from cornerturn.op.arrays import StridedView
from cornerturn.op.problem import Problem, canonical


@dataclass(frozen=True, slots=True)
class Plan:
    """How one move will be done.

    Attributes:
        problem: the canonical problem.
        kernel: ``copy``, ``rows``, ``tiles`` or ``strided``.
        why: one sentence: what in the problem chose the kernel.
    """

    problem: Problem
    kernel: str
    why: str

    def __str__(self) -> str:
        shape = " x ".join(map(str, self.problem.shape)) or "1"
        return f"{shape} elements of {self.problem.itemsize} bytes, kernel {self.kernel}: {self.why}"


def plan_move(source: StridedView, destination: StridedView) -> Plan:
    """Return the plan that copies ``source`` to ``destination``, two views of one shape and item size."""
    return _plan(source.itemsize, source.shape, source.strides, destination.strides)


@lru_cache(maxsize=1024)
def _plan(itemsize: int, shape: tuple[int, ...], strides_in: tuple[int, ...], strides_out: tuple[int, ...]) -> Plan:
    problem = canonical(itemsize, shape, strides_in, strides_out)
    return Plan(problem, "strided", "every element on its own")
