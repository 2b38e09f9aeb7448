"""The state of the blocks that are executed together: registers, program counters, memory.

Everything is an array of blocks x lanes. A value that is the same along one axis is kept with extent 1 there and
broadcast, so what depends on the thread alone is computed once for all blocks.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cornerturn.emulator.counting import WARP
from cornerturn.emulator.events import Event, Transfer, Violation, Watcher, WaveBegins
from cornerturn.emulator.geometry import Geometry
from cornerturn.emulator.memory import Arena, Memory
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
        """The lanes for which ``condition`` (broadcast) holds."""
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


@dataclass(frozen=True)
class Copy:
    """An asynchronous copy under way, and for each of its lanes the lane's group that it belongs to."""

    transfer: Transfer
    groups: Array

    def only(self, chosen: Array) -> "Copy":
        """The part of it that belongs to the ``chosen`` lanes (bool, one per lane)."""
        return Copy(self.transfer.only(chosen), self.groups[chosen])


class Wave:
    """Blocks of one launch that run together.

    Args:
        leaves: for each basic block whether it only exits.
        watchers: see every event.
    """

    def __init__(
        self,
        entry: Entry,
        geometry: Geometry,
        memory: Memory,
        shared_bytes: int,
        local_bytes: int,
        leaves: Sequence[bool],
        watchers: Sequence[Watcher] = (),
    ) -> None:
        self.entry = entry
        self.geometry = geometry
        self.shape = geometry.shape
        count, lanes_per_block = geometry.shape
        self.lane = np.arange(lanes_per_block, dtype=np.int64)[None, :]
        self.alive = np.broadcast_to(self.lane < geometry.threads, self.shape).copy()
        self.end = len(leaves)
        self.leaves = np.array([*leaves, True])
        self.pc: Array = np.where(self.alive, 0, self.end).astype(np.int32)
        self.commits = np.zeros(self.shape, dtype=np.int32)
        self.copies: list[Copy] = []
        self.registers: dict[str, Array] = {}
        self.memory = memory
        self.shared = Arena("shared", count, shared_bytes, lanes_per_block)
        self.local = Arena("local", count * lanes_per_block, local_bytes, 1)
        self.warp_instructions = 0
        self.lane_instructions = 0
        self.watchers = tuple(watchers)
        self.tell(WaveBegins(geometry, self.shared, self.local))

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

    def tell(self, event: Event) -> None:
        """Let every watcher see an event."""
        for watcher in self.watchers:
            watcher.see(event)

    def fault(self, position: int, instruction: Instruction, kind: str, message: str, lanes: Array) -> None:
        """Tell that the flat ``lanes`` committed a fault; the first of them is named."""
        block, thread = self.geometry.coordinates(int(lanes[0]))
        self.tell(Violation(position, instruction, kind, message, block, thread, len(lanes)))
