"""The CPU engine: run a plan on two pointers."""

import numpy as np

from cornerturn.op.planner import Plan
from cornerturn.op.problem import Problem


def run(plan: Plan, source: int, destination: int) -> None:
    """Move the bytes of one plan.

    The caller keeps both arrays alive until this returns; the GIL is released meanwhile.

    Args:
        plan: from ``plan_move``.
        source: address of the input's element (0, ..., 0).
        destination: address of the output's element (0, ..., 0).
    """
    problem = plan.problem
    np.copyto(
        _array(problem, destination + problem.offset_out, problem.strides_out),
        _array(problem, source + problem.offset_in, problem.strides_in),
    )


class _Memory:
    """Memory as NumPy's array interface describes it."""

    def __init__(self, problem: Problem, pointer: int, strides: tuple[int, ...]) -> None:
        self.__array_interface__ = {
            "version": 3,
            "typestr": f"|V{problem.itemsize}",
            "data": (pointer, False),
            "shape": problem.shape,
            "strides": strides,
        }


def _array(problem: Problem, pointer: int, strides: tuple[int, ...]) -> np.ndarray[tuple[int, ...], np.dtype[np.void]]:
    return np.asarray(_Memory(problem, pointer, strides))
