"""The state of the blocks that are executed together: registers, program counters, barriers, memory.

Everything is an array of blocks x lanes, where lanes are a block's threads rounded up to whole warps. A value that is
the same along one axis is kept with extent 1 there and broadcast, so what depends on the thread alone is computed
once for all blocks.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from cornerturn.emulator.counters import WARP
from cornerturn.emulator.ledger import Ledger
from cornerturn.emulator.memory import Arena, Memory
from cornerturn.emulator.races import Races
from cornerturn.emulator.report import Extent
from cornerturn.emulator.types import TYPES, Array
from cornerturn.ptx import Entry, Instruction


@dataclass(frozen=True)
class Lanes:
    """The lanes that execute an instruction.

    Attributes:
        mask: blocks x lanes, bool.
        whole: no other lane is alive, so registers may be overwritten as a whole.
    """

    mask: Array
    whole: bool

    @cached_property
    def index(self) -> Array:
        """Flat indices of the active lanes, ascending."""
        return np.flatnonzero(self.mask)

    @property
    def count(self) -> int:
        """Number of active lanes."""
        return int(np.count_nonzero(self.mask))

    @property
    def warps(self) -> int:
        """Number of warps with an active lane."""
        return int(np.count_nonzero(self.mask.reshape(-1, WARP).any(axis=1)))

    def where(self, condition: Array) -> "Lanes":
        """Those of the lanes for which ``condition`` (broadcast) holds."""
        return Lanes(self.mask & condition, whole=False)

    def pick(self, value: Array) -> Array:
        """The active lanes' values, one-dimensional."""
        dense = np.broadcast_to(value, self.mask.shape).reshape(-1)
        return dense if len(self.index) == dense.size else dense[self.index]

    def spread(self, values: Array) -> Array:
        """The reverse of ``pick``: blocks x lanes, 0 where inactive."""
        if len(self.index) == self.mask.size:
            return values.reshape(self.mask.shape)
        dense = np.zeros(self.mask.size, dtype=values.dtype)
        dense[self.index] = values
        return dense.reshape(self.mask.shape)


class Wave:
    """Blocks of one launch that run together.

    Args:
        blocks: their linear numbers (x fastest).
        leaves: for each basic block whether a lane there has nothing left to do but to exit.
        races: where accesses are recorded that nothing orders.
    """

    def __init__(
        self,
        entry: Entry,
        grid: Extent,
        block: Extent,
        blocks: Sequence[int],
        memory: Memory,
        ledger: Ledger,
        shared_bytes: int,
        local_bytes: int,
        leaves: Sequence[bool],
        races: Races | None = None,
    ) -> None:
        self.entry = entry
        self.grid, self.block = grid, block
        self.blocks = np.array(blocks, dtype=np.int64)[:, None]
        count = len(blocks)
        self.threads = block[0] * block[1] * block[2]
        self.lanes_per_block = -(-self.threads // WARP) * WARP
        self.lane = np.arange(self.lanes_per_block, dtype=np.int64)[None, :]
        self.shape = (count, self.lanes_per_block)
        self.alive = np.broadcast_to(self.lane < self.threads, self.shape).copy()
        self.end = len(leaves)
        self.leaves = np.array([*leaves, True])
        self.pc: Array = np.where(self.alive, 0, self.end).astype(np.int32)
        self.commits = np.zeros(self.shape, dtype=np.int32)
        self.copies: list[Any] = []
        self.registers: dict[str, Array] = {}
        self.memory = memory
        self.ledger = ledger
        self.shared = Arena("shared", count, shared_bytes, self.lanes_per_block)
        self.local = Arena("local", count * self.lanes_per_block, local_bytes, 1)
        self.races = races
        if races is not None:
            races.begin(self)

    @property
    def staying(self) -> Array:
        """Lanes that have not exited and are not just about to."""
        return ~self.leaves[self.pc]

    def read(self, name: str) -> Array:
        """Bits of a register; one that was never written holds 0."""
        value = self.registers.get(name)
        if value is None:
            value = TYPES[self.entry.register_type(name)].bits.type(0)
        return value

    def write(self, name: str, value: Array, lanes: Lanes) -> None:
        """Set a register of the active lanes."""
        if not lanes.whole:
            value = np.where(lanes.mask, value, self.read(name))
        self.registers[name] = value

    def coordinates(self, lane: int) -> tuple[Extent, Extent]:
        """Block and thread coordinates of a flat lane index."""
        block, thread = int(self.blocks[lane // self.lanes_per_block, 0]), lane % self.lanes_per_block
        return unravel(block, self.grid), unravel(thread, self.block)

    def fault(self, position: int, instruction: Instruction, kind: str, message: str, lanes: Array) -> None:
        """Record that the flat ``lanes`` committed a fault; the first of them is named."""
        block, thread = self.coordinates(int(lanes[0]))
        self.ledger.hazard(position, instruction, kind, message, block, thread, len(lanes))


def unravel(linear: Any, extent: Extent) -> tuple[Any, Any, Any]:
    """Linear numbers, x fastest -> coordinates."""
    return linear % extent[0], linear // extent[0] % extent[1], linear // (extent[0] * extent[1])
