"""What a request of a warp touches: lines and sectors of global memory, banks of shared memory.

The rules are those of `cornerturn.emulator.counting`, applied to one request so that it can be drawn.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from cornerturn.emulator import Access, Movement
from cornerturn.emulator.counting import BANK_BYTES, BANKS, LINE_BYTES, SECTOR_BYTES, WARP, merges
from cornerturn.lab.observation import BlockRun

Cells = tuple[int | None, ...]
"""32 adjacent words of 4 bytes: for each the lane that uses it, the lowest of several, or None."""


@dataclass(frozen=True)
class Line:
    """One 128-byte line of an array.

    Attributes:
        offset: of its first byte in the array.
        cells: its 32 words.
    """

    offset: int
    cells: Cells

    @property
    def moved(self) -> tuple[bool, ...]:
        """Whether each of the four 32-byte sectors is moved: one of its words is used."""
        words = SECTOR_BYTES // BANK_BYTES
        return tuple(any(cell is not None for cell in self.cells[n : n + words]) for n in range(0, BANKS, words))


@dataclass(frozen=True)
class Wavefront:
    """One pass over the banks.

    Attributes:
        lanes: first and last lane of the group that it serves.
        cells: the 32 banks.
    """

    lanes: tuple[int, int]
    cells: Cells


@dataclass(frozen=True)
class Footprint:
    """One request of a warp.

    Attributes:
        line: number of the kernel's line.
        access: its instruction, counted over the whole block.
        memory: ``x``, ``y`` or ``shared``.
        lanes: active lanes, ascending.
        offsets: of each of these lanes, bytes from the start of the array or of the block's shared memory.
    """

    line: int
    access: Access
    memory: str
    lanes: tuple[int, ...]
    offsets: tuple[int, ...]

    @property
    def touched(self) -> tuple[Line, ...]:
        """The lines of global memory, ascending."""
        users = _words(zip(self.lanes, self.offsets, strict=True), self.access.width)
        per_line = LINE_BYTES // BANK_BYTES
        return tuple(
            Line(line * LINE_BYTES, tuple(users.get(word) for word in range(line * per_line, (line + 1) * per_line)))
            for line in sorted({word // per_line for word in users})
        )

    @property
    def wavefronts(self) -> tuple[Wavefront, ...]:
        """The passes over the banks of shared memory, which serve the words of each bank in ascending order."""
        fronts: list[Wavefront] = []
        for group in self._groups():
            users = _words(
                ((lane, at) for lane, at in zip(self.lanes, self.offsets, strict=True) if lane in group),
                self.access.width,
            )
            banks: list[list[int]] = [[] for _ in range(BANKS)]
            for word in sorted(users):
                banks[word % BANKS].append(users[word])
            for depth in range(max(map(len, banks))):
                cells = tuple(bank[depth] if depth < len(bank) else None for bank in banks)
                fronts.append(Wavefront((group.start, group.stop - 1), cells))
        return tuple(fronts)

    def _groups(self) -> list[range]:
        """The groups of lanes that the banks serve together, in order."""
        count = max(1, self.access.width // BANK_BYTES)
        size = WARP // count
        if count == 1 or self.access.kind != "load":
            return [range(first, first + size) for first in range(0, WARP, size)]
        addresses, active = np.zeros((1, WARP), dtype=np.int64), np.zeros((1, WARP), dtype=bool)
        addresses[0, list(self.lanes)], active[0, list(self.lanes)] = self.offsets, True
        groups: list[range] = []
        for number, merged in enumerate(merges(addresses, active, self.access.width)[0]):
            first = 2 * size * number
            starts = (first, first + 2 * size) if merged else (first, first + size, first + 2 * size)
            groups += map(range, starts, starts[1:])
        return groups

    @property
    def passes(self) -> int:
        """What the request costs: sectors of global memory, wavefronts of shared memory."""
        if self.memory == "shared":
            return len(self.wavefronts)
        return sum(sum(line.moved) for line in self.touched)

    @property
    def ideal(self) -> int:
        """What it would cost if its bytes were packed."""
        unit = BANKS * BANK_BYTES if self.memory == "shared" else SECTOR_BYTES
        return -(-len(self.lanes) * self.access.width // unit)

    @property
    def pattern(self) -> tuple[object, ...]:
        """Equal for two requests of one source line whose pictures differ only by a shift.

        A shift by whole lines changes nothing in global memory; in shared memory any shift only rotates the banks.
        """
        base = self.offsets[0] if self.memory == "shared" else self.offsets[0] // LINE_BYTES * LINE_BYTES
        shape = tuple(offset - base for offset in self.offsets)
        return self.line, self.memory, self.access.kind, self.access.width, self.lanes, shape


@dataclass(frozen=True)
class Alike:
    """Requests of one pattern: copies of an unrolled line, or iterations of a loop.

    Attributes:
        first: the first of them.
        offsets: of the first active lane, in each of them.
    """

    first: Footprint
    offsets: tuple[int, ...]


def footprints(run: BlockRun, warp: int) -> tuple[Alike, ...]:
    """The requests of one warp in the order of execution; requests of the same pattern are put together."""
    found: dict[tuple[object, ...], list[Footprint]] = {}
    for footprint in _of_warp(run, warp):
        found.setdefault(footprint.pattern, []).append(footprint)
    return tuple(Alike(same[0], tuple(each.offsets[0] for each in same)) for same in found.values())


def _of_warp(run: BlockRun, warp: int) -> Iterable[Footprint]:
    for movement in run.movements:
        mine = movement.thread // WARP == warp
        if mine.any() and movement.memory != "local":
            yield _footprint(run, movement, mine)


def _footprint(run: BlockRun, movement: Movement, mine: "np.ndarray[tuple[int], np.dtype[np.bool_]]") -> Footprint:
    return Footprint(
        line=run.line(movement),
        access=run.access(movement),
        memory=movement.memory,
        lanes=tuple((movement.thread[mine] % WARP).tolist()),
        offsets=tuple(movement.offset[mine].tolist()),
    )


def _words(accesses: Iterable[tuple[int, int]], width: int) -> dict[int, int]:
    """The 4-byte words that lanes at offsets touch, and the lowest lane that touches each."""
    users: dict[int, int] = {}
    for lane, offset in accesses:
        for word in range(offset // BANK_BYTES, (offset + width - 1) // BANK_BYTES + 1):
            users.setdefault(word, lane)
    return users
