"""Memory as the emulated threads see it: allocations in global memory, arenas for shared and local memory.

Every store knows which of its bytes were ever written, and every access is checked against what it may touch.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cornerturn.emulator.types import Array
from cornerturn.errors import EmulatorError
from cornerturn.wording import counted

ALLOCATION_SHIFT = 40
"""Allocation k starts at k << 40: an index that is wrong by less than a TiB can never fall into another one."""
MAX_ALLOCATIONS = 126


class Store:
    """A run of bytes that is read and written by element, a whole array of lanes at a time.

    Args:
        name: how messages call it.
        data: the bytes, one-dimensional, used in place.
        written: one byte of 1 for each byte that was written, or None when all of them count as written.
        skew: address of the first byte modulo 16.
    """

    writable = True
    """Whether kernels may change it."""

    def __init__(self, name: str, data: NDArray[np.uint8], written: NDArray[np.uint8] | None, skew: int = 0) -> None:
        self.name = name
        self.data = data
        self.written = written
        self.skew = skew

    def load(self, offsets: Array, element: int, count: int) -> list[Array]:
        """``count`` consecutive elements of ``element`` bytes at each offset."""
        return _gather(self.data, offsets, element, count, self.skew)

    def offsets_of_owner(self, offsets: Array, lanes: Array) -> NDArray[np.int64]:
        """Offsets from the start of what belongs to each of the flat ``lanes``: of the whole store."""
        return np.asarray(offsets, dtype=np.int64)

    def unwritten_at(self, offsets: Array, element: int, count: int) -> Array | None:
        """Which offsets hold a byte that nobody wrote; None when there is none."""
        if self.written is None:
            return None
        ones = int.from_bytes(b"\1" * element, "little")
        parts = _gather(self.written, offsets, element, count, self.skew)
        missing = np.any(np.stack([part != ones for part in parts]), axis=0)
        return missing if missing.any() else None

    def store(self, offsets: Array, parts: list[Array]) -> None:
        """Write one element of each part at each offset; of lanes that meet, the last one wins."""
        _scatter(self.data, offsets, parts, self.skew)
        if self.written is not None:
            ones = [np.full_like(part, int.from_bytes(b"\1" * part.dtype.itemsize, "little")) for part in parts]
            _scatter(self.written, offsets, ones, self.skew)


def _gather(data: NDArray[np.uint8], offsets: Array, element: int, count: int, skew: int) -> list[Array]:
    width = element * count
    if skew % width:  # the elements do not lie on the grid of the array: take them byte by byte
        dense = data[offsets[:, None].astype(np.int64) + np.arange(width)]
        rows = dense.view(f"u{element}")
    else:
        rows = _grid(data, element, count).take((offsets // width).astype(np.int64), axis=0)
    return [np.ascontiguousarray(rows[:, k]) for k in range(count)] if count > 1 else [rows.reshape(-1)]


def _scatter(data: NDArray[np.uint8], offsets: Array, parts: list[Array], skew: int) -> None:
    element = parts[0].dtype.itemsize
    width = element * len(parts)
    rows = np.stack(parts, axis=1) if len(parts) > 1 else parts[0][:, None]
    if skew % width:
        data[offsets[:, None].astype(np.int64) + np.arange(width)] = np.ascontiguousarray(rows).view(np.uint8)
    else:
        _grid(data, element, len(parts))[(offsets // width).astype(np.int64)] = rows


def _grid(data: NDArray[np.uint8], element: int, count: int) -> Array:
    whole = len(data) // (element * count) * (element * count)
    return data[:whole].view(f"u{element}").reshape(-1, count)


@dataclass(frozen=True)
class Placement:
    """Lanes of one access that fall into one store.

    Attributes:
        store: None for lanes that touch no store: out of bounds.
        offsets: byte offsets in the store (addresses, where there is none).
        chosen: indices of these lanes among the access's lanes; None for all of them.
    """

    store: Store | None
    offsets: Array
    chosen: Array | None


class Allocation(Store):
    """A NumPy array in global memory, used in place."""

    def __init__(self, name: str, array: Array, base: int, written: bool, writable: bool) -> None:
        flat = array.reshape(-1).view(np.uint8)
        super().__init__(name, flat, None if written else np.zeros(flat.shape, dtype=np.uint8), skew=base % 16)
        self.address = base
        self.writable = writable
        self.itemsize = array.dtype.itemsize

    def unwritten(self) -> NDArray[np.int64]:
        """Flat indices of the array's elements of which a byte was never written."""
        if self.written is None:
            return np.empty(0, dtype=np.int64)
        missing = (self.written.reshape(-1, self.itemsize) == 0).any(axis=1)
        return np.flatnonzero(missing).astype(np.int64)


@dataclass
class Memory:
    """The device's global memory.

    >>> memory = Memory()
    >>> x = memory.bind(np.arange(4, dtype=np.uint32), "x")
    >>> memory.describe(x.address + 16)
    'x + 16 bytes, where x has 16 bytes'
    """

    allocations: list[Allocation] = field(default_factory=list)

    def bind(
        self, array: NDArray[Any], name: str, *, written: bool = True, writable: bool = True, skew: int = 0
    ) -> Allocation:
        """Give a C-contiguous array an address.

        Args:
            array: any dtype; kernels read and write it in place.
            name: how messages call it.
            written: False for an output: its bytes count as unwritten until a kernel writes them.
            writable: False for an input, or one that NumPy holds read-only: a kernel's write to it is a hazard and
                changes nothing.
            skew: bytes by which the address misses the 1 TiB boundary, to try misaligned bases.

        Raises:
            EmulatorError: the array is not contiguous, or too many arrays are bound.
        """
        if not array.flags.c_contiguous:
            raise EmulatorError(f"array {name} is not C-contiguous: pass numpy.ascontiguousarray({name})")
        if len(self.allocations) >= MAX_ALLOCATIONS:
            raise EmulatorError(f"{MAX_ALLOCATIONS} arrays are bound already: use a new Memory")
        base = ((len(self.allocations) + 1) << ALLOCATION_SHIFT) + skew
        self.allocations.append(Allocation(name, array, base, written, writable and array.flags.writeable))
        return self.allocations[-1]

    def locate(self, addresses: Array, lanes: Array, width: int) -> Iterator[Placement]:
        """Which allocation each address falls into."""
        numbers = (addresses >> np.uint64(ALLOCATION_SHIFT)).astype(np.int64) - 1
        if not len(numbers):
            return
        for number in [numbers[0]] if numbers.min() == numbers.max() else np.unique(numbers):
            members = None if numbers.min() == numbers.max() else np.flatnonzero(numbers == number)
            yield from self._place(number, addresses if members is None else addresses[members], members, width)

    def _place(self, number: int, addresses: Array, members: Array | None, width: int) -> Iterator[Placement]:
        if not 0 <= number < len(self.allocations):
            yield Placement(None, addresses, members)
            return
        allocation = self.allocations[number]
        base, limit = np.uint64(allocation.address), np.uint64(allocation.address + len(allocation.data))
        if addresses.min() >= base and addresses.max() + np.uint64(width) <= limit:
            yield Placement(allocation, addresses - base, members)
            return
        inside = (addresses >= base) & (addresses + np.uint64(width) <= limit)
        for store, part in ((allocation, inside), (None, ~inside)):
            chosen = np.flatnonzero(part)
            if len(chosen):
                offsets = addresses[chosen] - (base if store else np.uint64(0))
                yield Placement(store, offsets, chosen if members is None else members[chosen])

    def describe(self, address: int) -> str:
        """Where an address lies, for a person."""
        number = (address >> ALLOCATION_SHIFT) - 1
        nearest = min(self.allocations, key=lambda a: abs(address - a.address - len(a.data) // 2), default=None)
        if nearest is None or abs(address - nearest.address) >= 1 << (ALLOCATION_SHIFT - 1):
            return f"address {address:#x}, which belongs to no array"
        if not 0 <= number < len(self.allocations) or self.allocations[number] is not nearest:
            return f"{counted(nearest.address - address, 'byte')} before {nearest.name}"
        offset, size = (counted(bytes_, "byte") for bytes_ in (address - nearest.address, len(nearest.data)))
        return f"{nearest.name} + {offset}, where {nearest.name} has {size}"


class Arena(Store):
    """Memory that every owner (a block: shared, a thread: local) has for itself, all owners of a wave in one store.

    Args:
        name: the state space, for messages.
        owners: how many blocks or threads.
        size: bytes each.
        lanes_per_owner: an access's owner is its lane number divided by this.
    """

    def __init__(self, name: str, owners: int, size: int, lanes_per_owner: int) -> None:
        self.size = size
        self.pitch = -(-size // 16) * 16
        self.lanes_per_owner = lanes_per_owner
        total = owners * self.pitch
        super().__init__(name, np.full(total, 0xA5, dtype=np.uint8), np.zeros(total, dtype=np.uint8))

    def offsets_of_owner(self, offsets: Array, lanes: Array) -> NDArray[np.int64]:
        """Offsets from the start of each lane's own part."""
        owned: NDArray[np.int64] = np.asarray(offsets, dtype=np.int64) - lanes // self.lanes_per_owner * self.pitch
        return owned

    def locate(self, addresses: Array, lanes: Array, width: int) -> Iterator[Placement]:
        """Offsets into the store of each lane's own part."""
        addresses = addresses.astype(np.uint64)
        start = (lanes // self.lanes_per_owner).astype(np.uint64) * np.uint64(self.pitch)
        if not len(addresses):
            return
        if int(addresses.max()) + width <= self.size:
            yield Placement(self, start + addresses, None)
            return
        inside = (addresses < self.size) & (addresses + np.uint64(width) <= self.size)
        for store, part in ((self, inside), (None, ~inside)):
            chosen = np.flatnonzero(part)
            if len(chosen):
                yield Placement(store, addresses[chosen] + (start[chosen] if store else np.uint64(0)), chosen)

    def describe(self, address: int) -> str:
        """Where an address lies, for a person; one that wrapped around at 0 lies before the memory."""
        around = 1 << (64 if address >> 32 else 32)
        if address >= around // 2:
            return f"{counted(around - address, 'byte')} before {self.name} memory"
        return f"{self.name} memory + {counted(address, 'byte')}, of which there are {self.size}"
