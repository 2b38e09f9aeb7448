"""What a launch has done so far: accesses by instruction, instructions executed, hazards."""

from dataclasses import replace

import numpy as np

from cornerturn.emulator import counters
from cornerturn.emulator.report import Access, Emulation, Extent, Hazard, Kind, Observer, Space
from cornerturn.emulator.types import Array
from cornerturn.ptx import Instruction


class Ledger:
    """Accumulates over the waves of one launch; ``observer`` is told of each movement besides."""

    def __init__(self, observer: Observer | None = None) -> None:
        self.observer = observer
        self.accesses: dict[tuple[int, Space, Kind], Access] = {}
        self.hazards: dict[tuple[int, str], Hazard] = {}
        self.warp_instructions = 0
        self.lane_instructions = 0

    def access(
        self,
        position: int,
        instruction: Instruction,
        space: Space,
        kind: Kind,
        width: int,
        addresses: Array,
        active: Array,
    ) -> None:
        """Count one memory instruction of many warps; ``addresses`` and ``active`` are warps x 32."""
        requesting = active.any(axis=1)
        if not requesting.any():
            return
        if not requesting.all():
            addresses, active = addresses[requesting], active[requesting]
        key = (position, space, kind)
        old = self.accesses.get(key) or _untouched(position, instruction, space, kind, width)
        new = replace(old, requests=old.requests + len(active), lanes=old.lanes + int(np.count_nonzero(active)))
        if space == "global":
            line, sector = counters.LINE_BYTES, counters.SECTOR_BYTES
            sectors, lines = counters.sectors(addresses, active), counters.lines(addresses, active)
            new = replace(
                new,
                sectors=old.sectors + int(sectors.sum()),
                sectors_ideal=old.sectors_ideal + int(np.minimum(counters.ideal(active, width, sector), sectors).sum()),
                lines=old.lines + int(lines.sum()),
                lines_ideal=old.lines_ideal + int(np.minimum(counters.ideal(active, width, line), lines).sum()),
            )
        elif space == "shared":
            passes = counters.wavefronts(addresses, active, width, load=kind == "load")
            row = counters.BANKS * counters.BANK_BYTES
            new = replace(
                new,
                wavefronts=old.wavefronts + int(passes.sum()),
                wavefronts_ideal=old.wavefronts_ideal
                + int(np.minimum(counters.ideal(active, width, row), passes).sum()),
            )
        self.accesses[key] = new

    def hazard(
        self,
        position: int,
        instruction: Instruction,
        kind: str,
        message: str,
        block: Extent,
        thread: Extent,
        count: int,
    ) -> None:
        """Record a fault; later ones of the same kind at the same instruction only add to its count."""
        key = (position, kind)
        old = self.hazards.get(key) or Hazard(kind, message, instruction.location, block, thread, count=0)
        self.hazards[key] = replace(old, count=old.count + count)

    def emulation(self) -> Emulation:
        """The finished report."""
        return Emulation(
            accesses=tuple(self.accesses[key] for key in sorted(self.accesses)),
            warp_instructions=self.warp_instructions,
            lane_instructions=self.lane_instructions,
            hazards=tuple(self.hazards[key] for key in sorted(self.hazards)),
        )


def _untouched(position: int, instruction: Instruction, space: Space, kind: Kind, width: int) -> Access:
    """The access of an instruction that nobody has executed yet."""
    where, calls = instruction.location, instruction.inlined_at
    return Access(position, where, instruction.text, space, kind, width, requests=0, lanes=0, inlined_at=calls)
