"""Races: two threads touch the same bytes, at least one of them writes, and nothing orders the two accesses.

Lanes run in lockstep here, so a missing barrier changes no result; this record is what makes it visible. Two accesses
are ordered (PTX ISA, memory consistency model) when one thread makes both, when both threads pass a barrier of the
block in between, or when both pass a ``bar.warp.sync`` whose mask names both. Lanes of one warp are threads like any
others: since Volta nothing keeps them in step. Shuffles and votes order nothing, and blocks are never ordered.
Two atomics do not race. Nor do two writes of the same value: the outcome is the same in either order.

Watched are shared memory and the arrays of global memory that start out unwritten: a launch's outputs.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cornerturn.emulator.counting import WARP
from cornerturn.emulator.events import (
    BlockBarrier,
    Event,
    MemoryOperation,
    Transfer,
    Violation,
    WarpBarrier,
    WaveBegins,
)
from cornerturn.emulator.geometry import Geometry
from cornerturn.emulator.memory import Store
from cornerturn.emulator.types import Array
from cornerturn.wording import counted

WORD = 4
"""Bytes of a shadow's unit, until an access narrower than that makes it as narrow."""

# A stamp is one lane's part in one turn: the turn's number (from 1) above, the lane's flat index in its wave below.
_TURN = 32
_LANE = np.int64(2**32 - 1)
_NOBODY = 0
_MOST_UNFILED = 64


@dataclass(frozen=True)
class Turn:
    """One execution of a memory operation by lanes of a wave."""

    operation: MemoryOperation
    geometry: Geometry


@dataclass(frozen=True)
class Part:
    """The lanes of a turn in one store: their offsets there, ``width`` bytes each, and stamps ``lanes + number``."""

    number: int
    offsets: Array
    width: int
    lanes: Array


class Shadow:
    """For each unit of a store: the stamp of its last writer, of its first reader since a barrier, of its last one.

    Reads are filed when the next write comes; most often a barrier comes first, and they are forgotten.
    """

    def __init__(self, store: Store) -> None:
        self.unit = int(np.gcd(WORD, store.skew)) if store.skew else WORD
        units = -(-len(store.data) // self.unit)
        self.writer, self.reader, self.other = (np.zeros(units, dtype=np.int64) for _ in range(3))
        self.newest_write = self.newest_read = _NOBODY
        self.unfiled: list[Part] = []

    def units(self, offsets: Array, width: int) -> tuple[NDArray[np.int64], int]:
        """The units that accesses of ``width`` bytes touch, and how many each."""
        if width < self.unit:
            finer = self.unit // width
            used = self.newest_write or self.newest_read
            self.writer, self.reader, self.other = (
                np.repeat(stamps, finer) if used else np.zeros(finer * len(stamps), dtype=np.int64)
                for stamps in (self.writer, self.reader, self.other)
            )
            self.unit = width
        first = (offsets // self.unit).astype(np.int64)
        each = width // self.unit
        return (first if each == 1 else (first[:, None] + np.arange(each)).reshape(-1)), each


class Races:
    """The watcher that records the accesses of one launch and what orders them; ``report`` is told of each race."""

    def __init__(self, report: Callable[[Violation], None]) -> None:
        self.report = report
        self.turns: list[Turn] = []
        self.outputs: dict[int, Shadow] = {}

    def see(self, event: Event) -> None:
        """Record who reads and writes, and what orders them."""
        match event:
            case WaveBegins():
                self._begin(event)
            case Transfer():
                self._touch(event)
            case BlockBarrier():
                self._meet_block(event)
            case WarpBarrier():
                self._meet_warp(event)

    def _begin(self, wave: WaveBegins) -> None:
        """Forget the shared memory and the barriers of the wave before: blocks of two waves are never ordered."""
        self.wave = wave
        self.geometry = wave.geometry
        self.start = self._now()
        self.shared = Shadow(wave.shared)
        self.floor = np.full(len(wave.geometry.blocks), self.start)  # by block: its last barrier of all threads
        self.lowest = self.start  # of the floors
        self.between_warps: Array | None = None  # block x warp x warp: what of the second the first has seen
        self.within_warp: Array | None = None  # lane x lane of the same warp, likewise

    # What happens: reads, writes, and what orders them.

    def _touch(self, transfer: Transfer) -> None:
        shadow = self._shadow(transfer.store)
        if shadow is not None and transfer.operation.kind == "load":
            self._read(transfer, shadow)
        elif shadow is not None:
            self._write(transfer, shadow)

    def _read(self, transfer: Transfer, shadow: Shadow) -> None:
        store, lanes, width = transfer.store, transfer.lanes, transfer.operation.width
        part = self._enter(transfer)
        if shadow.newest_write >= self._oldest_that_matters(store):
            units, each = shadow.units(transfer.offsets, width)
            lanes, before = _for_each(lanes, each), shadow.writer[units]
            racing = self._unordered(before, lanes, store)
            if racing is not None:
                self._race(transfer, shadow, units, before, lanes, racing)
        shadow.unfiled.append(part)
        if len(shadow.unfiled) == _MOST_UNFILED:
            self._file(shadow)

    def _write(self, transfer: Transfer, shadow: Shadow) -> None:
        store, parts = transfer.store, transfer.parts
        self._file(shadow)
        part, oldest = self._enter(transfer), self._oldest_that_matters(store)
        units, each = shadow.units(transfer.offsets, transfer.operation.width)
        lanes = _for_each(transfer.lanes, each)
        stamps = lanes + part.number
        if shadow.newest_read >= oldest:
            for before in (shadow.reader[units], shadow.other[units]):
                racing = self._unordered(before, lanes, store)
                if racing is not None:
                    self._race(transfer, shadow, units, before, lanes, racing, earlier="reads")
                    break
        if shadow.newest_write >= oldest:
            before = shadow.writer[units]
            racing = self._unordered(before, lanes, store)
            if racing is not None:
                racing &= self._differs(before, shadow, store, units, parts)
                self._race(transfer, shadow, units, before, lanes, racing)
        shadow.newest_write = part.number
        shadow.writer[units] = stamps
        winners = shadow.writer[units]
        if parts is not None and (lost := winners != stamps).any():
            values = _by_unit(parts, shadow.unit).reshape(-1, each)
            of_winner = np.searchsorted(part.lanes, winners[::each] & _LANE)  # aligned: a winner takes all of a lane's
            lost &= (values[of_winner] != values).reshape(-1)
            self._race(transfer, shadow, units, winners, lanes, lost)

    def _meet_block(self, barrier: BlockBarrier) -> None:
        now, group, alive = self._now(), barrier.group, barrier.alive
        joined = group.any(axis=1)
        whole = joined & (group == alive).all(axis=1)
        self.floor[whole] = now
        self.lowest = int(self.floor.min())
        for row in np.flatnonzero(joined & ~whole):
            warps = np.flatnonzero(group[row].reshape(-1, WARP).any(axis=1))
            self._meet_warps(row, warps, now)

    def _meet_warp(self, barrier: WarpBarrier) -> None:
        members, active = barrier.members, barrier.active
        if self.within_warp is None:
            self.within_warp = np.zeros((len(active), WARP, WARP), dtype=np.int64)
        together = ((members[:, :, None] >> np.arange(WARP, dtype=np.uint32)) & 1).astype(bool)
        together &= active[:, :, None] & active[:, None, :]
        whole = together.all(axis=(1, 2))
        self.within_warp[whole] = self._now()
        for warp in np.flatnonzero(active.any(axis=1) & ~whole):
            seen = self.within_warp[warp]
            known = np.where(together[warp][:, :, None], seen[None], 0).max(axis=1)
            self.within_warp[warp] = np.maximum(seen, np.where(together[warp], self._now(), known))

    def _meet_warps(self, row: Array, warps: Array, now: int) -> None:
        if self.between_warps is None:
            count = self.geometry.lanes_per_block // WARP
            self.between_warps = np.zeros((len(self.floor), count, count), dtype=np.int64)
        seen = self.between_warps[row]
        known = seen[warps].max(axis=0)
        known[warps] = now
        seen[warps] = known

    # Which of the accesses are ordered.

    def _shadow(self, store: Store) -> Shadow | None:
        if store is self.wave.shared:
            return self.shared
        if store is self.wave.local or store.written is None:
            return None
        if id(store) not in self.outputs:
            self.outputs[id(store)] = Shadow(store)
        return self.outputs[id(store)]

    def _now(self) -> int:
        return (len(self.turns) + 1) << _TURN

    def _turn(self, stamp: int) -> Turn:
        return self.turns[(stamp >> _TURN) - 1]

    def _oldest_that_matters(self, store: Store) -> int:
        return self.lowest if store is self.wave.shared else _NOBODY + 1

    def _enter(self, transfer: Transfer) -> Part:
        """Make a turn of the transfer."""
        part = Part(self._now(), transfer.offsets, transfer.operation.width, transfer.lanes)
        self.turns.append(Turn(transfer.operation, self.geometry))
        return part

    def _file(self, shadow: Shadow) -> None:
        """Record who reads: the first since a barrier, and the last that is not the first."""
        for part in shadow.unfiled:
            if shadow is self.shared and part.number < self.lowest:
                continue
            units, each = shadow.units(part.offsets, part.width)
            lanes = _for_each(part.lanes, each)
            stamps = lanes + part.number
            stale = shadow.reader[units] < self.floor[lanes // self.geometry.lanes_per_block]
            shadow.reader[units[stale]] = stamps[stale]
            others = (shadow.reader[units] ^ stamps) & _LANE != 0
            shadow.other[units[others]] = stamps[others]
            shadow.newest_read = part.number
        shadow.unfiled.clear()

    def _unordered(self, before: Array, lanes: Array, store: Store) -> Array | None:
        """Which earlier stamps are of another thread and not ordered before ``lanes``; None when none is."""
        if not len(before) or int(before.max()) < self._oldest_that_matters(store):
            return None
        block = lanes // self.geometry.lanes_per_block
        other = before & _LANE
        here = (before >= self.start) & (other // self.geometry.lanes_per_block == block)  # by a thread of this block
        ordered = here & ((before < self.floor[block]) | (other == lanes))
        racing: Array = (before != _NOBODY) & ~ordered
        self._drop_ordered(racing, racing & here, before, lanes)
        return racing if racing.any() else None

    def _drop_ordered(self, racing: Array, here: Array, before: Array, lanes: Array) -> None:
        """Take out what a barrier of some threads of the block orders."""
        chosen = np.flatnonzero(here)
        if not len(chosen) or (self.between_warps is None and self.within_warp is None):
            return
        mine, theirs, stamps = lanes[chosen], before[chosen] & _LANE, before[chosen]
        ordered = np.zeros(len(chosen), dtype=bool)
        if self.between_warps is not None:
            per_block = self.geometry.lanes_per_block
            warps = (mine % per_block // WARP, theirs % per_block // WARP)
            ordered |= stamps < self.between_warps[mine // per_block, *warps]
        if self.within_warp is not None:
            same = mine // WARP == theirs // WARP
            ordered |= same & (stamps < self.within_warp[mine // WARP, mine % WARP, theirs % WARP])
        racing[chosen[ordered]] = False

    def _differs(
        self, before: Array, shadow: Shadow, store: Store, units: Array, parts: list[Array] | None
    ) -> Array | bool:
        """Whether a write of ``parts`` and the one before it must not be exchanged."""
        if parts is None:
            stamps, of_unit = np.unique(before & ~_LANE, return_inverse=True)
            return np.array([self._turn(int(stamp)).operation.kind != "atomic" for stamp in stamps])[of_unit]
        whole = len(store.data) // shadow.unit * shadow.unit
        held: Array = store.data[:whole].view(f"u{shadow.unit}")[units]
        return held != _by_unit(parts, shadow.unit)

    # What is said about it.

    def _race(
        self,
        transfer: Transfer,
        shadow: Shadow,
        units: Array,
        before: Array,
        lanes: Array,
        racing: Array,
        earlier: str = "writes",
    ) -> None:
        if not racing.any():
            return
        first, operation, store = int(racing.argmax()), transfer.operation, transfer.store
        lane, stamp = int(lanes[first]), int(before[first])
        turn = self._turn(stamp)
        block, thread = self.geometry.coordinates(lane)
        other_block, other = turn.geometry.coordinates(stamp & int(_LANE))
        shared = store is self.wave.shared
        offset = int(store.offsets_of_owner(units[first] * shadow.unit, lane))
        verb = "reads" if operation.kind == "load" else "writes"
        where = f"{store.name}{' memory' if shared else ''} + {counted(offset, 'byte')}"
        rival = f"thread {other}" if shared else f"thread {other} of block {other_block}"
        place = "in the same instruction" if turn is self.turns[-1] else f"at {turn.operation.instruction.location}"
        both = verb == earlier == "writes"
        message = (
            f"thread {thread} of block {block} {verb} {where}, which {rival} {earlier} {place}"
            f"{' with another value' if both else ''}, and nothing orders the two"
        )
        kind, count = "write-write race" if both else "race", len(np.unique(lanes[racing]))
        self.report(Violation(operation.position, operation.instruction, kind, message, block, thread, count))


def _for_each(lanes: Array, each: int) -> Array:
    return lanes if each == 1 else np.repeat(lanes, each)


def _by_unit(parts: list[Array], unit: int) -> Array:
    """The lanes' values cut into units of ``unit`` bytes, in the order of `Shadow.units`."""
    return np.ascontiguousarray(np.stack(parts, axis=1)).view(f"u{unit}").reshape(-1)
