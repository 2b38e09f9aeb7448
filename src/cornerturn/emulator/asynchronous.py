"""``cp.async``: the bytes are read at once but arrive in shared memory only when a wait says so.

Arriving as late as the ISA allows makes a missing wait visible: the reader finds bytes that nobody wrote, or old ones.
"""

from dataclasses import dataclass, replace

import numpy as np

from cornerturn.emulator.access import MemoryInstruction, read, tell, visit
from cornerturn.emulator.memory import Store
from cornerturn.emulator.operands import Operands, Step, Unsupported
from cornerturn.emulator.types import TYPES, Array
from cornerturn.emulator.wave import Lanes, Wave
from cornerturn.errors import EmulatorError
from cornerturn.ptx import Immediate, Instruction


@dataclass(frozen=True)
class Copy:
    """Bytes under way: for each lane where they go, what they are, and the lane's group they belong to."""

    what: MemoryInstruction
    store: Store
    lanes: Array
    groups: Array
    offsets: Array
    parts: list[Array]

    def only(self, chosen: Array) -> "Copy":
        """The part of the copy that belongs to the chosen lanes."""
        parts = [part[chosen] for part in self.parts]
        return Copy(self.what, self.store, self.lanes[chosen], self.groups[chosen], self.offsets[chosen], parts)


def _asynchronous(operands: Operands, position: int, instruction: Instruction) -> Step:
    match instruction.modifiers:
        case ("async", "commit_group"):
            return _commit
        case ("async", "wait_group"):
            count = instruction.operands[0]
            if not isinstance(count, Immediate):
                raise Unsupported("the number of groups is not a constant")
            return lambda wave, lanes: _arrive(wave, lanes, count.bits)
        case ("async", "wait_all"):
            return lambda wave, lanes: _arrive(wave, lanes, -1)
        case ("async", "ca" | "cg", "shared" | "shared::cta", "global", *hints) if all(
            hint.startswith("L2::") for hint in hints
        ):
            return _copy(operands, position, instruction)
        case _:
            raise Unsupported


def _copy(operands: Operands, position: int, instruction: Instruction) -> Step:
    target, source, size, *rest = instruction.operands
    if "L2::cache_hint" in instruction.modifiers:
        rest.pop()  # the policy, which changes no value
    if not isinstance(size, Immediate) or len(rest) > 1:
        raise Unsupported
    element = min(size.bits, 8)
    what = MemoryInstruction(position, instruction, "global", "load", element, size.bits // element)
    into = replace(what, space="shared", kind="store")
    to, origin = operands.address(target), operands.address(source)
    given = operands.reader(rest[0], TYPES["u32"]) if rest else None

    def copy(wave: Wave, lanes: Lanes) -> None:
        reading = lanes
        if given is not None:
            wanted = np.broadcast_to(given(wave), wave.shape)
            if (lanes.mask & (wanted != 0) & (wanted != size.bits)).any():
                raise EmulatorError(
                    f"{instruction.location}: '{instruction.text}' has a source size other than 0 and {size.bits}, "
                    "which is not emulated: copy whole elements, or none"
                )
            reading = lanes.where(wanted != 0)
        parts = [lanes.pick(reading.spread(part)) for part in read(wave, reading, what, reading.pick(origin(wave)))]
        groups = lanes.pick(wave.commits)
        for store, offsets, chosen in visit(wave, lanes, into, lanes.pick(to(wave))):
            held = [part[chosen] for part in parts]
            if wave.races is not None:  # the copy writes at any time from here until it has arrived
                wave.races.write(into, store, offsets, lanes.index[chosen], held)
            wave.copies.append(Copy(into, store, lanes.index[chosen], groups[chosen], offsets, held))
            tell(wave, into, store, offsets, lanes.index[chosen], held)

    return copy


def _commit(wave: Wave, lanes: Lanes) -> None:
    wave.commits += lanes.mask


def _arrive(wave: Wave, lanes: Lanes, pending: int) -> None:
    """Complete the lanes' copies, all but those of their ``pending`` youngest groups (-1: uncommitted ones too)."""
    mask, commits = lanes.mask.reshape(-1), wave.commits.reshape(-1)
    remaining = []
    for copy in wave.copies:
        done = mask[copy.lanes] & (copy.groups < commits[copy.lanes] - pending)
        arrived = copy.only(done)
        if wave.races is not None:
            wave.races.write(copy.what, copy.store, arrived.offsets, arrived.lanes, arrived.parts)
        copy.store.store(arrived.offsets, arrived.parts)
        if not done.all():
            remaining.append(copy.only(~done))
    wave.copies = remaining


STEPS = {"cp": _asynchronous}
