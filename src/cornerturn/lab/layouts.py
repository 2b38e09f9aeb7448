"""Layouts: which thread moves which element of a tile, and where the tile lies in shared memory.

Nothing is taken from the source. One block of the kernel runs on the emulator and every movement is watched. The maps
that are seen are written as CuTe writes layouts, whatever the kernel was written in. The algebra of layouts is
`tensor_layouts`'; wavefronts are counted by the emulator's own rules.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from cornerturn.emulator import Movement
from cornerturn.emulator.counting import BANK_BYTES, BANKS, WARP, ideal, wavefronts
from cornerturn.errors import MissingExtraError, UsageError
from cornerturn.kernels.controls import COPY
from cornerturn.kernels.kernel import Kernel
from cornerturn.lab.matrices import ELEMENT_BYTES
from cornerturn.lab.observation import NONE, run_block
from cornerturn.showing import Shown
from cornerturn.toolchain import DEFAULT_ARCH
from cornerturn.wording import counted

ArrangementKind = Literal["plain", "padded", "swizzled", "other"]
Grid = NDArray[np.int64]
"""One number for each element of a tile."""

EXTENT = 128
"""Rows and columns of the matrix that is watched: a multiple of those of every tile."""


@dataclass(frozen=True)
class Holding:
    """Which thread moves each element of a tile.

    Attributes:
        threads: the thread's linear number, for each element.
        values: which of the thread's elements it is, in the order it moves them.
        notation: the layout of the threads, and the shape of a thread's adjacent values, for example
            ``(16,16):(16,1), values (1,4)``. A stride of 0 leads to the same thread again. Empty where no layout
            describes the threads.
    """

    threads: Grid
    values: Grid
    notation: str


@dataclass(frozen=True)
class Passes:
    """What the loads or the stores of a tile in shared memory cost one block.

    Attributes:
        width: bytes per lane.
        requests: warp-level memory instructions.
        wavefronts, ideal: passes over the banks, and the fewest that would do.
    """

    width: int
    requests: int
    wavefronts: int
    ideal: int

    @property
    def waste(self) -> float:
        """Wavefronts as a multiple of the ideal."""
        return self.wavefronts / self.ideal


@dataclass(frozen=True)
class Arrangement:
    """One way of placing a tile of x in shared memory.

    Attributes:
        kind: what is done against conflicts; ``other`` for a placement that no layout describes.
        notation: from the tile's coordinates to 4-byte words, for example ``Swizzle<4,0,4> o (16,16):(16,1)``.
        own: whether it is the kernel's own.
        words: for each element of the tile.
        store, load: the cost of filling and of emptying the tile by the kernel's own threads.
    """

    kind: ArrangementKind
    notation: str
    own: bool
    words: Grid
    store: Passes
    load: Passes

    @property
    def banks(self) -> Grid:
        """The bank of each element."""
        return self.words % BANKS


@dataclass(frozen=True)
class Layouts(Shown):
    """The layouts of one kernel, seen in its first block.

    Attributes:
        kernel: its name.
        read: of the tile of x.
        write: of the tile of y, which is the transpose.
        shared: ways of placing the tile of x in shared memory; empty for a kernel that does not stage its tile.
        access: which side of shared memory wastes more.
        taken: the elements of the tile of x that the first warp moves there in its first request.
    """

    kernel: str
    read: Holding
    write: Holding
    shared: tuple[Arrangement, ...]
    access: Literal["store", "load"]
    taken: NDArray[np.bool_]

    def __repr__(self) -> str:
        return f"<Layouts of {self.kernel}: threads {self.read.notation or 'in no layout'}>"


def watch_layouts(kernel: Kernel, arch: str = DEFAULT_ARCH) -> Layouts:
    """Run the first block of ``kernel`` and see its layouts.

    Raises:
        UsageError: the kernel is not a transpose, or its first block does not read a rectangle of x, each element once.
        MissingExtraError: `tensor_layouts` or the kernel's compiler is not installed.

    Example:
        >>> from cornerturn.kernels.catalogue import find
        >>> watch_layouts(find("tiled_16")).read.notation   # doctest: +SKIP
        '(16,16):(16,1)'
    """
    _algebra()
    if kernel is COPY:
        raise UsageError(f"{kernel.name} transposes nothing: choose a kernel that does")
    if kernel.element_bytes != ELEMENT_BYTES:
        size = counted(kernel.element_bytes, "byte")
        raise UsageError(f"{kernel.name} moves elements of {size}: layouts are shown for {ELEMENT_BYTES} bytes")
    seen = _Seen(kernel.name)
    seen.movements.extend(run_block(kernel, EXTENT, EXTENT, (0, 0), arch).movements)
    read, write = seen.holding("load", "x"), seen.holding("store", "y")
    tile = read.threads.shape
    if write.threads.shape != tile[::-1]:
        raise UsageError(f"{kernel.name} does not write in one block the tile that it reads: it has no layout to show")
    if any((each.values == NONE).any() for each in seen.movements):
        raise UsageError(f"{kernel.name} moves more than elements of x: it has no layout to show")
    shared = tuple(_arrangements(seen, tile))
    access: Literal["store", "load"] = "load"
    if any(each.own and each.store.waste > each.load.waste for each in shared):
        access = "store"
    return Layouts(kernel.name, read, write, shared, access, seen.first_request(access, tile))


@dataclass(frozen=True)
class _Seen:
    """The movements of one block, and what they say."""

    kernel: str
    movements: list[Movement] = field(default_factory=list)

    def of(self, kind: str, memory: str) -> list[Movement]:
        return [each for each in self.movements if (each.kind, each.memory) == (kind, memory)]

    def holding(self, kind: str, memory: str) -> Holding:
        """Who moved which element of the array ``memory``."""
        threads = np.full((EXTENT, EXTENT), -1)
        values = np.zeros_like(threads)
        moved = np.zeros(1024, dtype=np.int64)
        for movement in self.of(kind, memory):
            words = np.arange(movement.width // ELEMENT_BYTES)
            places = np.divmod(movement.offset[:, None] // ELEMENT_BYTES + words, EXTENT)
            if (threads[places] >= 0).any():
                raise UsageError(f"{self.kernel} moves an element of {memory} twice: it has no layout to show")
            threads[places] = movement.thread[:, None]
            values[places] = moved[movement.thread][:, None] + words
            moved[movement.thread] += len(words)
        rows, cols = (int(axis.max()) + 1 for axis in np.nonzero(threads >= 0))
        if (threads[:rows, :cols] < 0).any():
            raise UsageError(
                f"the first block of {self.kernel} does not move a rectangle of {memory}: it has no layout to show"
            )
        threads, values = threads[:rows, :cols], values[:rows, :cols]
        return Holding(threads, values, _thread_notation(threads))

    def words(self, tile: tuple[int, ...]) -> Grid:
        """Where in shared memory each element of the tile of x was stored, in words."""
        placed = np.zeros(tile, dtype=np.int64)
        for movement in self.of("store", "shared"):
            elements = _elements(movement)
            placed[elements] = movement.offset[:, None] // BANK_BYTES + np.arange(elements[0].shape[1])
        return placed

    def first_request(self, kind: str, tile: tuple[int, ...]) -> NDArray[np.bool_]:
        """Which elements of the tile of x the first warp moves in its first request to shared memory."""
        taken = np.zeros(tile, dtype=np.bool_)
        for movement in self.of(kind, "shared")[:1]:
            rows, cols = _elements(movement)
            first = movement.thread < WARP
            taken[rows[first], cols[first]] = True
        return taken


def _elements(movement: Movement) -> tuple[Grid, Grid]:
    """Rows and columns in x of the elements that were moved, lanes x elements."""
    rows, cols = np.divmod(movement.values, EXTENT)
    return rows, cols


def _arrangements(seen: _Seen, tile: tuple[int, ...]) -> Iterator[Arrangement]:
    """The kernel's own placement of the tile, and the alternatives to it."""
    stores, loads = seen.of("store", "shared"), seen.of("load", "shared")
    if not stores:
        return
    words = seen.words(tile)

    def arrange(kind: ArrangementKind, placed: Grid, notation: str) -> Arrangement:
        own = bool((placed == words).all())
        return Arrangement(kind, notation, own, placed, _cost(stores, placed, "store"), _cost(loads, placed, "load"))

    placement = _placement(words)
    if placement is None:
        yield arrange("other", words, "")
        return
    extent = tile[1] if placement.by_rows else tile[0]
    plain = replace(placement, pitch=extent, swizzle=None)
    padded = plain if placement.swizzle else placement
    if padded.pitch == extent:
        padded = replace(plain, pitch=extent + 1)
    swizzles = [placement.swizzle] if placement.swizzle else _swizzles(words.size)
    yield arrange("plain", plain.words(tile), plain.notation(tile))
    yield arrange("padded", padded.words(tile), padded.notation(tile))
    swizzled = [replace(plain, swizzle=swizzle) for swizzle in swizzles]
    candidates = [arrange("swizzled", each.words(tile), each.notation(tile)) for each in swizzled]
    yield from sorted(candidates, key=lambda each: each.store.wavefronts + each.load.wavefronts)[:1]


@dataclass(frozen=True)
class _Placement:
    """A tile in shared memory, row after row or column after column, ``pitch`` words apart, then swizzled."""

    by_rows: bool
    pitch: int
    swizzle: Any = None

    @property
    def strides(self) -> tuple[int, int]:
        return (self.pitch, 1) if self.by_rows else (1, self.pitch)

    def words(self, tile: tuple[int, ...]) -> Grid:
        down, across = self.strides
        plain = np.arange(tile[0])[:, None] * down + np.arange(tile[1]) * across
        return self.swizzle(plain) if self.swizzle else plain

    def notation(self, tile: tuple[int, ...]) -> str:
        layout = _show(_algebra().Layout(tile, self.strides))
        swizzle = self.swizzle
        return f"Swizzle<{swizzle.bits},{swizzle.base},{swizzle.shift}> o {layout}" if swizzle else layout


def _placement(words: Grid) -> _Placement | None:
    """The placement that puts the tile at ``words``; None if none of that form does."""
    for swizzle in (None, *_swizzles(words.size)):
        plain = swizzle(words) if swizzle else words  # a swizzle is its own inverse
        for by_rows, pitch, extent in ((True, plain[1, 0], words.shape[1]), (False, plain[0, 1], words.shape[0])):
            placement = _Placement(by_rows, int(pitch), swizzle)
            if pitch >= extent and (placement.words(words.shape) == words).all():
                return placement
    return None


def _swizzles(size: int) -> list[Any]:
    """Every swizzle that permutes ``size`` words, a power of two; those of few bits come first."""
    bits = size.bit_length() - 1
    if size != 1 << bits:
        return []
    return [
        _algebra().Swizzle(width, base, shift)
        for width in range(1, bits)
        for shift in range(width, bits)
        for base in range(bits - width - shift, -1, -1)
    ]


def _cost(movements: Iterable[Movement], words: Grid, kind: Literal["load", "store"]) -> Passes:
    """What the movements cost if the tile lay at ``words``.

    An access keeps its width where its words stay together and aligned; else it is split into single words.
    """
    width = requests = found = least = 0
    for movement in movements:
        places = words[_elements(movement)]
        count = places.shape[1]
        together = (places == places[:, :1] + np.arange(count)).all() and (places[:, 0] % count == 0).all()
        width = ELEMENT_BYTES * count if together else ELEMENT_BYTES
        for column in places[:, :1].T if together else places.T:
            warps = -(-int(movement.thread.max() + 1) // WARP)
            addresses, active = np.zeros((warps, WARP), dtype=np.int64), np.zeros((warps, WARP), dtype=np.bool_)
            lane = movement.thread // WARP, movement.thread % WARP
            addresses[lane], active[lane] = column * BANK_BYTES, True
            requests += int(active.any(axis=1).sum())
            found += int(wavefronts(addresses, active, width, load=kind == "load").sum())
            least += int(ideal(active, width, BANKS * BANK_BYTES).sum())
    return Passes(width, requests, found, least)


def _thread_notation(threads: Grid) -> str:
    """A layout from coordinates to threads, and the shape of a thread's adjacent values."""
    shape = np.ones(2, dtype=np.int64)
    for axis in range(2):
        line = threads[:, 0] if axis == 0 else threads[0]
        shape[axis] = int((np.cumprod(line == line[0])).sum())
    corners = threads[:: shape[0], :: shape[1]]
    if not (threads == corners.repeat(shape[0], axis=0).repeat(shape[1], axis=1)).all():
        return ""
    layout = _as_bits(corners)
    if layout is None:
        return ""
    several = f", values ({shape[0]},{shape[1]})" if shape.max() > 1 else ""
    return _show(_algebra().coalesce(layout, (None, None))) + several


def _as_bits(grid: Grid) -> Any:
    """The layout of a grid in which every bit of a coordinate adds its own share, or None."""
    if any(extent & (extent - 1) for extent in grid.shape):
        return None
    shares = [[int(line[1 << bit]) for bit in range(len(line).bit_length() - 1)] for line in (grid[:, 0], grid[0])]
    layout = _algebra().Layout(
        tuple((2,) * len(axis) or 1 for axis in shares), tuple(tuple(axis) or 0 for axis in shares)
    )
    rows, cols = (
        sum(((np.arange(extent) >> bit) & 1) * share for bit, share in enumerate(axis))
        for extent, axis in zip(grid.shape, shares, strict=True)
    )
    return layout if (grid == np.add.outer(rows, cols)).all() else None


def _show(layout: Any) -> str:
    return str(layout).replace(" ", "")


def _algebra() -> Any:
    try:
        import tensor_layouts
    except ImportError as error:
        raise MissingExtraError(
            "layouts are written by tensor-layouts, which is not installed; "
            "install it with: pip install 'cornerturn[cute]'"
        ) from error
    return tensor_layouts
