"""From a problem to the production kernel that solves it on a GPU, and its launch."""

from collections.abc import Callable

from cornerturn.errors import UsageError
from cornerturn.kernels.production.axes import MAX_BLOCKS, MAX_EXTENT
from cornerturn.kernels.production.device_code import Production
from cornerturn.kernels.production.h200 import H200
from cornerturn.kernels.production.profile import Profile
from cornerturn.op.gpu import candidates
from cornerturn.op.gpu.move import Move
from cornerturn.op.problem import Problem

Candidate = Callable[[Move, Profile], Production | None]

CANDIDATES: tuple[Candidate, ...] = (
    candidates.by_weave,
    candidates.by_ragged_weave,
    candidates.by_shuffle,
    candidates.by_tile_run,
    candidates.by_tile,
    candidates.by_ragged_rows,
    candidates.by_records,
    candidates.by_rows,
    candidates.by_box,
)
"""In the order in which they are asked; the last one takes everything."""


def plan(problem: Problem, x: int, y: int, profile: Profile = H200) -> Production:
    """Return the kernel and launch for a problem between first elements at ``x`` and ``y`` modulo 32.

    Args:
        problem: what moves.
        x: address of its first element in x, modulo 32.
        y: the same in y.
        profile: of the device that it is for.

    Raises:
        UsageError: an axis is too long for 31 bits, or it takes more blocks than a launch has.
    """
    move = Move.of(problem, x, y)
    if (longest := max(axis.extent for axis in move.axes)) > MAX_EXTENT:
        raise UsageError(f"an axis of {longest} elements is longer than the {MAX_EXTENT} that kernels number: split it")
    chosen = next(found for candidate in CANDIDATES if (found := candidate(move, profile)) is not None)
    if (blocks := chosen.launch.grid[0]) > MAX_BLOCKS:
        raise UsageError(f"it takes {blocks} blocks, and a launch has at most {MAX_BLOCKS}: split an axis")
    return chosen
