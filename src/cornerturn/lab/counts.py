"""What the accesses of a launch come to: requests, and sectors or wavefronts, for each memory space and direction."""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import NamedTuple

from cornerturn.emulator import Access

_PLACES = ("global load", "global store", "shared load", "shared store")


class Traffic(NamedTuple):
    """The loads or the stores of one memory space: the passes they took, and the fewest that would do.

    Attributes:
        place: ``global load``, ``global store``, ``shared load`` or ``shared store``.
        requests: warp-level memory instructions.
        found, ideal: 32-byte sectors of global memory, wavefronts of shared memory.
    """

    place: str
    requests: int
    found: int
    ideal: int


@dataclass(frozen=True)
class Counters:
    """Exact memory counts of one emulated launch, summed over the loads and stores of each space.

    Sectors are 32 bytes. The ideal is what the active lanes' bytes would need if they were packed.
    """

    global_load_requests: int = 0
    global_load_sectors: int = 0
    global_load_sectors_ideal: int = 0
    global_store_requests: int = 0
    global_store_sectors: int = 0
    global_store_sectors_ideal: int = 0
    shared_load_requests: int = 0
    shared_load_wavefronts: int = 0
    shared_load_wavefronts_ideal: int = 0
    shared_store_requests: int = 0
    shared_store_wavefronts: int = 0
    shared_store_wavefronts_ideal: int = 0

    def by_place(self) -> tuple[Traffic, ...]:
        """The same numbers by place: three per place, four places."""
        numbers = [getattr(self, field.name) for field in fields(self)]
        return tuple(Traffic(place, *numbers[3 * i : 3 * i + 3]) for i, place in enumerate(_PLACES))


def count(accesses: Iterable[Access]) -> Counters:
    """Sum accesses by space and kind; atomics and other spaces are omitted."""
    sums = dict.fromkeys((field.name for field in fields(Counters)), 0)
    for access in accesses:
        place = f"{access.space}_{access.kind}"
        if f"{place}_requests" not in sums:
            continue
        sums[f"{place}_requests"] += access.requests
        if access.space == "global":
            sums[f"{place}_sectors"] += access.sectors
            sums[f"{place}_sectors_ideal"] += access.sectors_ideal
        else:
            sums[f"{place}_wavefronts"] += access.wavefronts
            sums[f"{place}_wavefronts_ideal"] += access.wavefronts_ideal
    return Counters(**sums)
