"""What the emulator counted, as the exact counts of a plan put it."""

from collections import defaultdict
from dataclasses import fields

from cornerturn.emulator import Emulation
from cornerturn.op.gpu.traffic import NOTHING, ExactCounts, Traffic


def emulated(emulation: Emulation) -> dict[str, Traffic]:
    """Return the traffic under the names of `ExactCounts`."""
    sums: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for access in emulation.accesses:
        if access.space == "global":
            counts = access.requests, access.sectors, access.sectors_ideal
        else:
            counts = access.requests, access.wavefronts, access.wavefronts_ideal
        for place, count in enumerate(counts):
            sums[f"{access.space}_{access.kind}"][place] += count
    return {field.name: Traffic(*sums.get(field.name, NOTHING)) for field in fields(ExactCounts)}
