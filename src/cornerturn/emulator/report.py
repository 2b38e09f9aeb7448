"""What an emulated launch reports: its memory accesses, its instructions and the faults it committed."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from cornerturn.ptx import Space

Kind = Literal["load", "store", "atomic"]
Coordinates = tuple[int, int, int]
"""Of a block in the grid or of a thread in its block, along x, y and z."""


@dataclass(frozen=True)
class Access:
    """One PTX memory instruction of a kernel, summed over every warp that executed it.

    A request is one execution by one warp with at least one active lane. Sectors are 32 bytes, lines 128 bytes;
    both are counted for global memory only. Wavefronts are passes over the 32 banks, for shared memory only.
    The ideal of each is what the same active lanes would need if their bytes were packed, or the count itself where
    lanes share addresses and need less.
    An asynchronous copy appears twice: as a global load and as a shared store.

    Attributes:
        position: index of the instruction in the kernel, in PTX order.
        location: ``file:line`` of the source, or ``?`` without a line table.
        inlined_at: ``file:line`` of each call through which the kernel got there, innermost first; all were inlined.
        instruction: the PTX text.
        width: bytes per lane.
        lanes: active lanes, summed over the requests.
    """

    position: int
    location: str
    instruction: str
    space: Space
    kind: Kind
    width: int
    requests: int
    lanes: int
    sectors: int = 0
    sectors_ideal: int = 0
    lines: int = 0
    lines_ideal: int = 0
    wavefronts: int = 0
    wavefronts_ideal: int = 0
    inlined_at: tuple[str, ...] = ()


@dataclass(frozen=True)
class Hazard:
    """A fault that was found while emulating; faults of one kind at one instruction are reported as one.

    Attributes:
        kind: ``out of bounds``, ``misaligned``, ``write to an input``, ``uninitialised read``, ``race``, ...
        message: one sentence for a person, with the address and what it should have been.
        location: ``file:line`` of the source.
        block, thread: coordinates of the first thread that committed it.
        count: how many lanes committed it.
    """

    kind: str
    message: str
    location: str
    block: Coordinates
    thread: Coordinates
    count: int


@dataclass(frozen=True)
class Emulation:
    """One emulated launch.

    Attributes:
        accesses: every memory instruction of global and shared memory that was executed, in PTX order.
        warp_instructions: PTX instructions executed, one for each warp with an active lane.
        lane_instructions: the same, one for each active lane.
        hazards: faults, in PTX order.
    """

    accesses: tuple[Access, ...] = field(repr=False)
    warp_instructions: int
    lane_instructions: int
    hazards: tuple[Hazard, ...]


@dataclass(frozen=True)
class Movement:
    """What lanes moved in one execution of a load or a store; lanes at fault are omitted.

    Attributes:
        position: index of the instruction in the kernel, in PTX order.
        width: bytes per lane.
        memory: the name of the array that was read or written, or ``shared`` or ``local``.
        block, thread: linear numbers, one of each per lane.
        offset: bytes from the start of the array, or of the block's or thread's own memory, one per lane.
        values: lanes x elements, the bits that were moved.
    """

    position: int
    kind: Kind
    width: int
    memory: str
    block: NDArray[np.int64] = field(repr=False)
    thread: NDArray[np.int64] = field(repr=False)
    offset: NDArray[np.int64] = field(repr=False)
    values: NDArray[Any] = field(repr=False)


Observer = Callable[[Movement], None]
"""Is told of each movement of global, shared and local memory when it happens, atomics excepted."""
