"""What a launch has done so far: accesses by instruction, instructions executed, hazards."""

from dataclasses import replace

import numpy as np

from cornerturn.emulator import counting
from cornerturn.emulator.events import Event, MemoryOperation, Requests, Violation, WaveEnds
from cornerturn.emulator.report import Access, Emulation, Hazard, Kind
from cornerturn.emulator.types import Array
from cornerturn.ptx import Space


class Ledger:
    """The watcher that counts, over all waves of one launch."""

    def __init__(self) -> None:
        self.accesses: dict[tuple[int, Space, Kind], Access] = {}
        self.hazards: dict[tuple[int, str], Hazard] = {}
        self.warp_instructions = 0
        self.lane_instructions = 0

    def see(self, event: Event) -> None:
        """Count requests, instructions and faults."""
        match event:
            case Requests():
                self._count(event)
            case Violation():
                self._record(event)
            case WaveEnds():
                self.warp_instructions += event.warp_instructions
                self.lane_instructions += event.lane_instructions

    def _count(self, requests: Requests) -> None:
        addresses, active = requests.addresses, requests.active
        requesting = active.any(axis=1)
        if not requesting.any():
            return
        if not requesting.all():
            addresses, active = addresses[requesting], active[requesting]
        operation, space = requests.operation, requests.space
        key = (operation.position, space, operation.kind)
        old = self.accesses.get(key) or _untouched(operation, space)
        new = replace(old, requests=old.requests + len(active), lanes=old.lanes + int(np.count_nonzero(active)))
        width = operation.width
        if space == "global":
            sectors, lines = counting.sectors(addresses, active), counting.lines(addresses, active)
            new = replace(
                new,
                sectors=old.sectors + int(sectors.sum()),
                sectors_ideal=old.sectors_ideal + _ideal(active, width, counting.SECTOR_BYTES, sectors),
                lines=old.lines + int(lines.sum()),
                lines_ideal=old.lines_ideal + _ideal(active, width, counting.LINE_BYTES, lines),
            )
        elif space == "shared":
            passes = counting.wavefronts(addresses, active, width, load=operation.kind == "load")
            row = counting.BANKS * counting.BANK_BYTES
            new = replace(
                new,
                wavefronts=old.wavefronts + int(passes.sum()),
                wavefronts_ideal=old.wavefronts_ideal + _ideal(active, width, row, passes),
            )
        self.accesses[key] = new

    def _record(self, fault: Violation) -> None:
        """Later faults of the same kind at the same instruction only add to the count."""
        key = (fault.position, fault.kind)
        first = Hazard(fault.kind, fault.message, fault.instruction.location, fault.block, fault.thread, count=0)
        old = self.hazards.get(key) or first
        self.hazards[key] = replace(old, count=old.count + fault.count)

    def emulation(self) -> Emulation:
        """The finished report."""
        return Emulation(
            accesses=tuple(self.accesses[key] for key in sorted(self.accesses)),
            warp_instructions=self.warp_instructions,
            lane_instructions=self.lane_instructions,
            hazards=tuple(self.hazards[key] for key in sorted(self.hazards)),
        )


def _ideal(active: Array, width: int, unit: int, found: Array) -> int:
    """Units that the active lanes' bytes need when packed; at most those ``found``, as lanes may share addresses."""
    return int(np.minimum(counting.ideal(active, width, unit), found).sum())


def _untouched(operation: MemoryOperation, space: Space) -> Access:
    """The access of an instruction that nobody has executed yet."""
    instruction = operation.instruction
    return Access(
        position=operation.position,
        location=instruction.location,
        instruction=instruction.text,
        space=space,
        kind=operation.kind,
        width=operation.width,
        requests=0,
        lanes=0,
        inlined_at=instruction.inlined_at,
    )
