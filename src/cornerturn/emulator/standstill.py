"""Endless loops: a wave that comes back to a state it has been in will do so for ever."""

from collections.abc import Iterable
from hashlib import blake2b

import numpy as np

from cornerturn.emulator.barriers import Barriers
from cornerturn.emulator.types import Array
from cornerturn.emulator.wave import Wave

FIRST_LOOK = 1024
"""Steps of a wave after which its states are first compared; again after twice as many, and so on."""
LOOKED_AT = 64
"""States that are compared each time: loops of up to a third as many basic blocks are recognised."""


class Standstill:
    """Watches the states of one wave; most of its steps cost nothing.

    Nothing but registers and memory decides what happens next: clocks are not emulated.
    """

    def __init__(self, wave: Wave, barriers: Barriers) -> None:
        self.wave = wave
        self.barriers = barriers
        self.memories: dict[bytes, bytes | None] = {}  # by registers: memory, once they have been seen twice

    def reached(self, step: int) -> bool:
        """Whether the wave has been in its present state before; to be asked after every step."""
        if step < FIRST_LOOK or step - (1 << step.bit_length() - 1) >= LOOKED_AT or self.wave.copies:
            return False
        if step & (step - 1) == 0:
            self.memories.clear()
        registers = self._registers()
        if registers not in self.memories:
            self.memories[registers] = None
            return False
        before, now = self.memories[registers], self._memory()
        self.memories[registers] = now
        return before == now

    def _registers(self) -> bytes:
        wave, barriers = self.wave, self.barriers
        return _digest([wave.pc, wave.alive, wave.commits, barriers.number, barriers.block, *wave.registers.values()])

    def _memory(self) -> bytes:
        wave = self.wave
        arrays = [allocation.data for allocation in wave.memory.allocations if allocation.writable]
        return _digest([wave.shared.data, wave.local.data, *arrays])


def _digest(arrays: Iterable[Array]) -> bytes:
    digest = blake2b()
    for array in arrays:
        digest.update(np.ascontiguousarray(array).data)
    return digest.digest()
