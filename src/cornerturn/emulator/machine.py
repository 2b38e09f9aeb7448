"""Runs a wave: always the basic block of lowest rank that a lane is at, for all lanes that are at it."""

from dataclasses import dataclass
from itertools import count

import numpy as np

from cornerturn.emulator.barriers import Barriers, arrive, barrier_readers
from cornerturn.emulator.decode import decode
from cornerturn.emulator.events import WaveEnds
from cornerturn.emulator.operands import Action, Operands, Reader, Unsupported
from cornerturn.emulator.program import EXITS, BasicBlock, blocks_of, is_barrier, is_failed_assertion, paths_onward
from cornerturn.emulator.standstill import Standstill
from cornerturn.emulator.types import TYPES, Array
from cornerturn.emulator.wave import Lanes, Wave
from cornerturn.errors import EmulatorError
from cornerturn.ptx import Entry, Instruction

MAX_TURNS = 100_000
"""Visits of a wave to one basic block after which its loop is taken to be endless."""


@dataclass(frozen=True)
class DecodedBlock:
    """A basic block, decoded; ``barrier`` is set when it ends with one, ``guard`` when its end is predicated."""

    block: BasicBlock
    actions: tuple[Action, ...]
    guard: Reader | None
    barrier: tuple[Reader, Reader] | None


class Machine:
    """One kernel, decoded and ready to run waves.

    Args:
        symbols: address of every variable and parameter, in its own space.

    Raises:
        EmulatorError: an instruction has no meaning in the emulator.
    """

    def __init__(self, entry: Entry, symbols: dict[str, int]) -> None:
        self.entry = entry
        self.blocks = blocks_of(entry)
        self.paths = paths_onward(self.blocks)
        operands = Operands(entry, symbols)
        self.decoded = [_decode_block(operands, block) for block in self.blocks]

    def run(self, wave: Wave) -> None:
        """Run every lane of the wave until it exits.

        Raises:
            EmulatorError: a barrier can never complete, a loop does not end, or the kernel traps.
        """
        barriers, end = Barriers(wave, self.blocks, self.paths), len(self.blocks)
        standstill, turns = Standstill(wave, barriers), [0] * end
        for step in count():
            ready: Array = np.where(barriers.waiting, end, wave.pc) if barriers.occupied else wave.pc
            rank = int(ready.min())
            if rank < end:
                self._visit(wave, barriers, rank, ready == rank)
                turns[rank] += 1
                if turns[rank] == MAX_TURNS or standstill.reached(step):
                    raise EmulatorError(self._endless(rank, turns[rank]))
            elif barriers.occupied:
                barriers.release()
            else:
                break
        wave.tell(WaveEnds(wave.warp_instructions, wave.lane_instructions))

    def _endless(self, rank: int, turns: int) -> str:
        where = self.entry.instructions[self.blocks[rank].start].location
        why = f"has not ended after {turns} turns" if turns == MAX_TURNS else "changes neither registers nor memory"
        return (
            f"{where}: a loop of kernel {self.entry.source_name} {why}; threads that wait for others by reading memory "
            "in a loop are not emulated"
        )

    def _visit(
        self,
        wave: Wave,
        barriers: Barriers,
        rank: int,
        mask: Array,
    ) -> None:
        decoded = self.decoded[rank]
        block, end = decoded.block, decoded.block.end
        if barriers.occupied and block.body:
            barriers.passed_by(mask, rank)
        lanes = Lanes(mask, whole=bool((mask == wave.alive).all()))
        size = len(block.body) + (end is not None)
        wave.warp_instructions += size * lanes.warps
        wave.lane_instructions += size * lanes.count
        for action in decoded.actions:
            action(wave, lanes)
        wave.pc[mask] = block.following
        if end is None:
            if block.following == len(self.blocks):
                wave.alive &= ~mask
            return
        acting = lanes if decoded.guard is None else lanes.where(decoded.guard(wave))
        wave.lane_instructions -= lanes.count - acting.count
        if end.opcode == "bra":
            wave.pc[acting.mask] = block.target
        elif end.opcode in EXITS:
            wave.pc[acting.mask] = wave.end
            wave.alive &= ~acting.mask
        elif decoded.barrier is not None:
            arrive(barriers, acting, decoded.barrier, rank)
        elif acting.count:
            block_at, thread = wave.geometry.coordinates(int(acting.index[0]))
            what = "an assertion failed in" if is_failed_assertion(end) else "trap executed by"
            raise EmulatorError(f"{end.location}: {what} thread {thread} of block {block_at}")


def _decode_block(operands: Operands, block: BasicBlock) -> DecodedBlock:
    actions = [decode(operands, block.start + n, instruction) for n, instruction in enumerate(block.body)]
    end = block.end
    guard = operands.reader(end.guard, TYPES["pred"]) if end is not None and end.guard is not None else None
    return DecodedBlock(block, tuple(actions), guard, _barrier(operands, end))


def _barrier(operands: Operands, end: Instruction | None) -> tuple[Reader, Reader] | None:
    if end is None or not is_barrier(end):
        return None
    try:
        return barrier_readers(operands, end)
    except Unsupported as reason:
        raise EmulatorError(
            f"{end.location}: the emulator does not know the instruction '{end.text}': {reason}"
        ) from None
