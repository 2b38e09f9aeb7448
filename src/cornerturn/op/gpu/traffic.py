"""What a launch counts in global and shared memory, by the emulator's rules (docs/counting.md)."""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cornerturn.emulator import counting
from cornerturn.op.gpu.counts import WARP

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]


class Traffic(NamedTuple):
    """The loads or the stores of one memory space: the passes they take, and the fewest that would do.

    Attributes:
        requests: warp-level memory instructions.
        found, ideal: 32-byte sectors of global memory, wavefronts of shared memory.
    """

    requests: int
    found: int
    ideal: int

    def plus(self, other: "Traffic", times: int) -> "Traffic":
        """Return the sum with ``times`` another."""
        return Traffic(*(one + times * each for one, each in zip(self, other, strict=True)))


NOTHING = Traffic(0, 0, 0)


@dataclass(frozen=True)
class ExactCounts:
    """The accesses of a launch, by memory space and direction."""

    global_load: Traffic
    global_store: Traffic
    shared_load: Traffic
    shared_store: Traffic


@dataclass(frozen=True)
class Access:
    """What the threads of a block ask for in some instructions: instructions x threads.

    Attributes:
        place: a field of `ExactCounts`.
        width: bytes per lane.
        addresses: of each thread.
        active: whether it takes part.
    """

    place: str
    width: int
    addresses: Integers
    active: Flags

    def traffic(self) -> Traffic:
        """Return what they count."""
        addresses, active = self.addresses.reshape(-1, WARP), self.active.reshape(-1, WARP)
        asked = active.any(axis=1)
        addresses, active = addresses[asked], active[asked]
        if not len(active):
            return NOTHING
        if self.place.startswith("global"):
            found, unit = counting.sectors(addresses, active), counting.SECTOR_BYTES
        else:
            found = counting.wavefronts(addresses, active, self.width, load=self.place == "shared_load")
            unit = counting.BANKS * counting.BANK_BYTES
        ideal = np.minimum(counting.ideal(active, self.width, unit), found)
        return Traffic(len(active), int(found.sum()), int(ideal.sum()))


def access(threads: int, place: str, width: int, addresses: Integers, active: Flags | bool = True) -> Access:
    """Return an access of the first of so many threads of a block, along the last axis; the others take no part."""
    addresses, taking = np.broadcast_arrays(addresses, active)
    addresses, taking = (array.reshape(-1, array.shape[-1]) for array in (addresses, taking))
    others = ((0, 0), (0, threads - addresses.shape[1]))
    return Access(place, width, np.pad(addresses, others), np.pad(taking, others))


def total(accesses: Iterable[tuple[Access, int]]) -> ExactCounts:
    """Return the sum of accesses, each so many times."""
    found = {field.name: NOTHING for field in fields(ExactCounts)}
    for one, times in accesses:
        found[one.place] = found[one.place].plus(one.traffic(), times)
    return ExactCounts(**found)
