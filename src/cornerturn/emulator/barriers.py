"""Barriers of a block: threads wait until every thread that the barrier expects has arrived."""

from collections import Counter

import numpy as np

from cornerturn.emulator.counting import WARP
from cornerturn.emulator.events import BlockBarrier
from cornerturn.emulator.operands import Operands, Reader, Unsupported
from cornerturn.emulator.program import BasicBlock
from cornerturn.emulator.types import TYPES, Array
from cornerturn.emulator.wave import Lanes, Wave
from cornerturn.errors import BarrierError
from cornerturn.ptx import Instruction
from cornerturn.wording import counted

_FREE = -1


class Barriers:
    """Who waits where in one wave.

    ``number`` is the barrier a lane waits at (or -1), ``needed`` how many threads that barrier expects (0: every
    thread of the block that has not exited), ``block`` the rank of the basic block that ends with it; ``paths`` are
    the kernel's `paths_onward`.
    """

    def __init__(self, wave: Wave, blocks: list[BasicBlock], paths: Array) -> None:
        self.wave = wave
        self.blocks = blocks
        self.paths = paths
        self.number = np.full(wave.shape, _FREE, dtype=np.int32)
        self.needed = np.zeros(wave.shape, dtype=np.int32)
        self.block = np.zeros(wave.shape, dtype=np.int32)
        self.occupied = False
        self.passed = np.zeros(wave.shape, dtype=bool)  # lanes at work behind a barrier at which their block waits

    @property
    def waiting(self) -> Array:
        """Lanes that wait at a barrier."""
        return self.number != _FREE

    def park(self, mask: Array, number: Array, needed: Array, block: int) -> None:
        """The lanes of ``mask`` arrive."""
        np.copyto(self.number, number.astype(np.int32), where=mask)
        np.copyto(self.needed, needed.astype(np.int32), where=mask)
        self.block[mask] = block
        self.occupied = True

    def passed_by(self, mask: Array, rank: int) -> None:
        """The lanes of ``mask`` execute the basic block of ``rank`` while others may wait for them."""
        behind = (self.waiting & (self.needed == 0) & self.paths[self.block, rank]).any(axis=1)
        self.passed |= mask & behind[:, None]

    def release(self) -> None:
        """Release the threads of every barrier that is complete.

        Raises:
            BarrierError: none is, and nobody can still arrive: the kernel would hang.
        """
        released = np.zeros(self.wave.shape, dtype=bool)
        for number in np.unique(self.number[self.waiting]):
            here = self.number == number
            expected = np.where(here, self.needed, 0).max(axis=1)
            expected = np.where(expected > 0, expected, self.wave.alive.sum(axis=1))
            complete = here.any(axis=1) & (here.sum(axis=1) >= expected)
            group = here & complete[:, None]
            self.wave.tell(BlockBarrier(group, self.wave.alive))
            released |= group
        if not released.any():
            raise BarrierError(self._deadlock())
        self._check_convergence(released)
        self._check_attendance(released)
        self.number[released] = _FREE
        self.occupied = bool(self.waiting.any())

    def _check_attendance(self, released: Array) -> None:
        """A thread that has exited before a barrier is not waited for; one that went on without it is at fault."""
        for row in np.flatnonzero((self.passed & ~self.wave.alive & released.any(axis=1)[:, None]).any(axis=1)):
            first = row * self.wave.shape[1]
            at = int(self.block[row, released[row]].min())
            barrier, block = self._barrier(at), self.blocks[at]
            count = int(released[row].sum())
            waiting = f"{counted(count, 'thread')} {'waits' if count == 1 else 'wait'}"
            message = (
                f"{waiting} here and others of their block go on without it; every thread that has not exited "
                "must reach it"
            )
            absent = first + np.flatnonzero(self.passed[row] & ~self.wave.alive[row])
            self.wave.fault(block.start + len(block.body), barrier, "barrier not reached by all", message, absent)
        self.passed[released.any(axis=1)] = False

    def _check_convergence(self, released: Array) -> None:
        """All threads of a warp must be at the same barrier instruction (PTX ISA, bar.sync: aligned)."""
        rows, at = released.reshape(-1, WARP), self.block.reshape(-1, WARP)
        low = np.where(rows, at, len(self.blocks)).min(axis=1)
        apart = rows & (at != low[:, None]) & rows.any(axis=1)[:, None]
        if not apart.any():
            return
        lane = int(np.flatnonzero(apart)[0])
        first, other = self._barrier(int(low[lane // WARP])), self._barrier(int(at.reshape(-1)[lane]))
        message = f"threads of one warp wait at different barriers, {first.location} and {other.location}"
        block = self.blocks[int(at.reshape(-1)[lane])]
        self.wave.fault(block.start + len(block.body), other, "divergent barrier", message, np.flatnonzero(apart))

    def _barrier(self, rank: int) -> Instruction:
        end = self.blocks[rank].end
        assert end is not None
        return end

    def _deadlock(self) -> str:
        row = int(self.waiting.any(axis=1).argmax())
        (block, _), waiting = self.wave.geometry.coordinates(row * self.wave.shape[1]), self.waiting[row]
        places = []
        state = (self.block[row, waiting], self.number[row, waiting], self.needed[row, waiting])
        for (rank, number, needed), count in Counter(zip(*state, strict=True)).items():
            barrier = self._barrier(int(rank))
            expected = f", where barrier {number} expects {needed}," if needed else ""
            places.append(f"{count} at '{barrier.text}' ({barrier.location}){expected}")
        first = self._barrier(int(state[0][0])).location
        alive = counted(int(self.wave.alive[row].sum()), "thread")
        return (
            f"{first}: a barrier can never complete: of {alive} of block {block} that have not exited, "
            f"{' and '.join(places)} wait; every thread must reach the same barrier"
        )


def barrier_readers(operands: Operands, instruction: Instruction) -> tuple[Reader, Reader]:
    """Readers of a barrier's number and thread count (0 when it names none)."""
    if "sync" not in instruction.modifiers or "red" in instruction.modifiers:
        raise Unsupported("only bar.sync and barrier.sync are emulated")
    word = TYPES["u32"]
    number, *count = [operands.reader(operand, word) for operand in instruction.operands]
    return number, count[0] if count else lambda wave: np.uint32(0)


def arrive(barriers: Barriers, lanes: Lanes, readers: tuple[Reader, Reader], rank: int) -> None:
    """Lanes reach the barrier that ends the block of ``rank``."""
    shape = barriers.wave.shape
    number, needed = (np.broadcast_to(read(barriers.wave), shape) for read in readers)
    barriers.park(lanes.mask, number, needed, rank)
