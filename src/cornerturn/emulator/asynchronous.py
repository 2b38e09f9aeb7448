"""``cp.async``: the bytes are read at once but arrive in shared memory only when a wait says so.

Arriving as late as the ISA allows makes a missing wait visible: the reader finds bytes that nobody wrote, or old ones.
"""

from dataclasses import replace

import numpy as np

from cornerturn.emulator.access import read, transfers
from cornerturn.emulator.events import MemoryOperation
from cornerturn.emulator.operands import Action, Operands, Unsupported
from cornerturn.emulator.types import TYPES
from cornerturn.emulator.wave import Copy, Lanes, Wave
from cornerturn.errors import EmulatorError
from cornerturn.ptx import Immediate, Instruction


def _asynchronous(operands: Operands, position: int, instruction: Instruction) -> Action:
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


def _copy(operands: Operands, position: int, instruction: Instruction) -> Action:
    target, source, size, *rest = instruction.operands
    if "L2::cache_hint" in instruction.modifiers:
        rest.pop()  # the policy, which changes no value
    if not isinstance(size, Immediate) or len(rest) > 1:
        raise Unsupported
    element = min(size.bits, 8)
    operation = MemoryOperation(position, instruction, "global", "load", element, size.bits // element)
    into = replace(operation, space="shared", kind="store")
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
        parts = [
            lanes.pick(reading.spread(part)) for part in read(wave, reading, operation, reading.pick(origin(wave)))
        ]
        groups = lanes.pick(wave.commits)
        for transfer, chosen in transfers(wave, lanes, into, lanes.pick(to(wave)), parts):
            wave.copies.append(Copy(transfer, groups[chosen]))

    return copy


def _commit(wave: Wave, lanes: Lanes) -> None:
    wave.commits += lanes.mask


def _arrive(wave: Wave, lanes: Lanes, pending: int) -> None:
    """Complete the lanes' copies but those of their ``pending`` youngest groups; -1 completes uncommitted ones too."""
    mask, commits = lanes.mask.reshape(-1), wave.commits.reshape(-1)
    remaining = []
    for copy in wave.copies:
        done = mask[copy.transfer.lanes] & (copy.groups < commits[copy.transfer.lanes] - pending)
        arrived = replace(copy.transfer.only(done), arrives=True)
        wave.tell(arrived)
        arrived.write()
        if not done.all():
            remaining.append(copy.only(~done))
    wave.copies = remaining


ACTIONS = {"cp": _asynchronous}
