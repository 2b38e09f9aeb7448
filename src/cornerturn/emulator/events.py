"""What happens in a launch: one stream of events that every watcher sees, in the order of execution."""

from dataclasses import dataclass, replace
from typing import Protocol

from cornerturn.emulator.geometry import Geometry
from cornerturn.emulator.memory import Arena, Store
from cornerturn.emulator.report import Coordinates, Kind
from cornerturn.emulator.types import Array
from cornerturn.ptx import Instruction, Space


@dataclass(frozen=True)
class MemoryOperation:
    """What a memory instruction does each time it is executed; an asynchronous copy has two, a load and a store.

    Attributes:
        position: index of the instruction in the kernel.
        space: None for a generic address.
        element: bytes of one element.
        count: elements per lane.
    """

    position: int
    instruction: Instruction
    space: Space | None
    kind: Kind
    element: int
    count: int

    @property
    def width(self) -> int:
        """Bytes per lane."""
        return self.element * self.count


@dataclass(frozen=True)
class WaveBegins:
    """Blocks begin to run together, with shared and local memory of their own."""

    geometry: Geometry
    shared: Arena
    local: Arena


@dataclass(frozen=True)
class WaveEnds:
    """Blocks that ran together have ended; the counts are of instructions that their warps and lanes executed."""

    warp_instructions: int
    lane_instructions: int


@dataclass(frozen=True)
class Requests:
    """One execution of a memory operation by many warps, before its addresses are checked.

    Attributes:
        space: where the addresses lie; a generic operation makes an event for each space that it touches.
        addresses: warps x 32, in the space.
        active: warps x 32, bool.
    """

    operation: MemoryOperation
    space: Space
    addresses: Array
    active: Array


@dataclass(frozen=True)
class Transfer:
    """Lanes have read from one store, or are about to write to it; lanes at fault are omitted.

    The store of an asynchronous copy makes two: when it is issued, and when its bytes arrive.

    Attributes:
        offsets: byte offset in the store, one per lane.
        lanes: flat indices.
        parts: the bits that move, an array per element; None for an atomic, whose lanes take turns.
        arrives: the second of the two; a copy may write at any time between them.
    """

    operation: MemoryOperation
    store: Store
    offsets: Array
    lanes: Array
    parts: list[Array] | None
    arrives: bool = False

    def write(self) -> None:
        """Change the store."""
        if self.parts is not None:
            self.store.store(self.offsets, self.parts)

    def only(self, chosen: Array) -> "Transfer":
        """The part of it that belongs to the ``chosen`` lanes (bool, one per lane)."""
        parts = None if self.parts is None else [part[chosen] for part in self.parts]
        return replace(self, offsets=self.offsets[chosen], lanes=self.lanes[chosen], parts=parts)


@dataclass(frozen=True)
class BlockBarrier:
    """Lanes leave a barrier of their block together: ``group`` of those that are ``alive``, both blocks x lanes."""

    group: Array
    alive: Array


@dataclass(frozen=True)
class WarpBarrier:
    """The ``active`` lanes (warps x 32) pass a ``bar.warp.sync``, each with the mask ``members`` (warps x 32)."""

    members: Array
    active: Array


@dataclass(frozen=True)
class Violation:
    """``count`` lanes committed a fault; ``block`` and ``thread`` are the coordinates of the first of them."""

    position: int
    instruction: Instruction
    kind: str
    message: str
    block: Coordinates
    thread: Coordinates
    count: int


Event = WaveBegins | WaveEnds | Requests | Transfer | BlockBarrier | WarpBarrier | Violation


class Watcher(Protocol):
    """Follows a launch; it takes from the stream what it needs."""

    def see(self, event: Event) -> None:
        """Take note of an event; called when it happens."""
