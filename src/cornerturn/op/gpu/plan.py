"""From a problem to the production kernel that solves it on a GPU: the candidate of least predicted time.

Candidates are compared once per *structure* of a move: what decides the kernel's code. A move of a known structure,
such as one more batch size, takes the box that was chosen, with other arguments.
"""

import math
from dataclasses import dataclass, replace
from typing import Any

from cornerturn.errors import UsageError
from cornerturn.kernels.production.axes import MAX_BLOCKS, SECTOR, MoveAxis
from cornerturn.kernels.production.box import Box
from cornerturn.kernels.production.device_code import Production
from cornerturn.kernels.production.h200 import H200
from cornerturn.kernels.production.permute import permute, relaunched
from cornerturn.kernels.production.profile import Profile
from cornerturn.op.gpu.candidates import CANDIDATES, Candidate, by_tile, is_legal
from cornerturn.op.gpu.choice import Choice
from cornerturn.op.gpu.cost import copy_seconds
from cornerturn.op.gpu.move import Move
from cornerturn.op.problem import Axis, Problem

EXACT_EXTENT = 64
"""Up to this extent, a box along an axis suits no other; above it, one of as many bits with the same factors of two."""
REMEMBERED = 4096
"""Structures that are remembered."""


def choose(problem: Problem, x: int = 0, y: int = 0, profile: Profile = H200) -> Choice:
    """Return the candidates for a problem between first elements at ``x`` and ``y`` modulo 32, the fastest first."""
    move = Move.of(problem, x, y)
    found = [candidate for candidates in CANDIDATES for candidate in candidates(move, profile)]
    ordered = tuple(sorted(found, key=lambda candidate: candidate.seconds))
    return Choice(problem, ordered, copy_seconds(move.nbytes, profile.rates))


def plan(problem: Problem, x: int, y: int, profile: Profile = H200) -> Production:
    """Return the kernel and launch for a problem between first elements at ``x`` and ``y`` modulo 32.

    Args:
        problem: what moves.
        x: address of its first element in x, modulo 32.
        y: the same in y.
        profile: of the device that it is for.

    Raises:
        UsageError: it takes more blocks than a launch has.
    """
    move = Move.of(problem, x, y)
    known = _known.setdefault((id(profile), _structure(move)), [])
    production = next(filter(None, (one.kernel_of(move) for one in known)), None)
    if production is None:
        chosen = _Known(profile, choose(problem, x, y, profile).candidates[0], move.axes, {})
        known.append(chosen)
        if len(_known) > REMEMBERED:
            _known.clear()
        production = chosen.first()
    _check_blocks(production.launch.grid[0])
    return production


def _check_blocks(blocks: int) -> None:
    if blocks > MAX_BLOCKS:
        raise UsageError(f"it takes {blocks} blocks, and a launch has at most {MAX_BLOCKS}: split an axis")


def forget() -> None:
    """Compare candidates anew for every structure."""
    _known.clear()


@dataclass(frozen=True, slots=True)
class _Known:
    """What was chosen for a structure, a box or else a tile, and the kernels that a box came to."""

    profile: Profile  # kept, so that its id stays its own
    chosen: Candidate
    axes: tuple[Axis, ...]  # of the move that it was chosen for
    kernels: dict[tuple[Any, ...], Production]

    def first(self) -> Production:
        """Return the kernel for the move that it was chosen for."""
        return self.chosen.make() if self.chosen.box is None else self.laid_over(self.chosen.box)

    def kernel_of(self, move: Move) -> Production | None:
        """Return the kernel for another move of the structure; None if what was chosen does not suit it."""
        box = self.chosen.box
        chunks = box.chunks[::-1] if box else [2 if move.element in axis[1:] else 1 for axis in move.axes]
        for chunk, before, now in zip(chunks, self.axes, move.axes, strict=True):
            if chunk > 1 and _size(before.extent) != _size(now.extent):
                return None
        if box is None:
            return next((tile.make() for tile in by_tile(move, self.profile)), None)
        axes = tuple(reversed(move.axes))
        chunks = tuple(map(_rescaled, box.chunks, box.axes, axes))
        # The box may have grown with a whole axis, which may be twice as long.
        grown = any(chunk > one for chunk, one in zip(chunks, box.chunks, strict=True))
        box = replace(box, axes=axes, chunks=chunks)
        return None if grown and not is_legal(box) else self.laid_over(box)

    def laid_over(self, box: Box) -> Production:
        """Return the kernel of a box of this structure: only what is not in the structure can tell them apart."""
        _check_blocks(box.blocks)
        which = box.chunks, box.edges, box.numbered
        if (kernel := self.kernels.get(which)) is None:
            kernel = self.kernels[which] = permute(box)
            return kernel
        return relaunched(kernel, box)


_known: dict[tuple[int, tuple[Any, ...]], list[_Known]] = {}


def _structure(move: Move) -> tuple[Any, ...]:
    """Return everything but extents that decides which kernel a move takes, and the kernel's code."""
    axes = move.axes
    order = sorted(range(len(axes)), key=lambda a: (abs(axes[a][1]), -a))
    runs = tuple(
        axes[a][1] == step for a, step in zip(order, _dense(move.element, [axes[a] for a in order]), strict=True)
    )
    dense = tuple(axis[2] == step for axis, step in zip(axes[::-1], _dense(move.element, axes[::-1]), strict=True))
    large = move.nbytes.bit_length()
    strides = ((stride % SECTOR, abs(stride) <= SECTOR) for axis in axes for stride in axis[1:])
    return (move.element, move.x, move.y, large, tuple(order), runs, dense, *strides)


def _dense(element: int, axes: "tuple[Axis, ...] | list[Axis]") -> list[int]:
    """Return the stride of each axis if all lay one after the other."""
    steps = [element]
    for axis in axes[:-1]:
        steps.append(steps[-1] * axis[0])
    return steps


def _size(extent: int) -> tuple[int, ...]:
    """Return what of the extent of an axis of a box decides which box it is."""
    return (extent,) if extent <= EXACT_EXTENT else (extent.bit_length(), math.gcd(extent, EXACT_EXTENT))


def _rescaled(chunk: int, before: MoveAxis, now: MoveAxis) -> int:
    """Return the chunk of an axis of another extent: the whole axis stays whole."""
    return now[0] if chunk == before[0] else min(chunk, now[0])
