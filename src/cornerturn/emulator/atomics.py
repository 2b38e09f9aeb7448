"""Atomics on integers: lanes take turns in ascending order."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from cornerturn.emulator.access import check_written, memory_operation, transfers
from cornerturn.emulator.events import Transfer
from cornerturn.emulator.operands import Action, Operands, Unsupported
from cornerturn.emulator.types import TYPES, Array
from cornerturn.emulator.wave import Lanes, Wave
from cornerturn.ptx import Instruction

UPDATES: dict[str, Callable[[int, int, int], int]] = {
    "add": lambda old, a, b: old + a,
    "min": lambda old, a, b: min(old, a),
    "max": lambda old, a, b: max(old, a),
    "and": lambda old, a, b: old & a,
    "or": lambda old, a, b: old | a,
    "xor": lambda old, a, b: old ^ a,
    "exch": lambda old, a, b: a,
    "cas": lambda old, a, b: b if old == a else old,
    "inc": lambda old, a, b: 0 if old >= a else old + 1,
    "dec": lambda old, a, b: a if old == 0 or old > a else old - 1,
}
"""New value from the old one and the instruction's one or two values (PTX ISA, atom)."""


def _atomic(operands: Operands, position: int, instruction: Instruction) -> Action:
    kind = operands.type_of(instruction)
    name = next((name for name in instruction.modifiers if name in UPDATES), None)
    if name is None or kind.dtype.kind == "f":
        raise Unsupported("only atomics on integers are emulated")
    target, address, *values = instruction.operands if instruction.opcode == "atom" else (None, *instruction.operands)
    if "L2::cache_hint" in instruction.modifiers:
        values.pop()  # the policy, which changes no value
    plain = replace(
        instruction, modifiers=tuple(m for m in instruction.modifiers if m not in UPDATES and m != "acq_rel")
    )
    operation = memory_operation(operands, position, plain, "atomic", 1)
    assert address is not None
    where = operands.address(address)
    readers = [operands.reader(value, kind) for value in values if value is not None]
    write = operands.writer(target, kind) if target is not None else None

    def atomic(wave: Wave, lanes: Lanes) -> None:
        given = [lanes.pick(read(wave)) for read in readers]
        before = np.zeros(len(lanes.index), dtype=kind.dtype)
        for transfer, chosen in transfers(wave, lanes, operation, lanes.pick(where(wave))):
            if name != "exch":  # which is also how memory is first written
                check_written(wave, transfer)
            before[chosen] = _take_turns(transfer, name, [value[chosen] for value in given], kind.dtype)
        if write is not None:
            write(wave, lanes, lanes.spread(before))

    return atomic


def _take_turns(transfer: Transfer, name: str, given: list[Array], dtype: "np.dtype[Any]") -> Array:
    """Update memory lane by lane, and give what each lane found there."""
    update, element = UPDATES[name], transfer.operation.element
    bits = TYPES[f"b{8 * element}"].dtype
    before = np.zeros(len(transfer.lanes), dtype=dtype)
    for turn, offset in enumerate(transfer.offsets):
        one = np.array([offset])
        before[turn] = transfer.store.load(one, element, 1)[0].view(dtype)[0]
        values = [int(value[turn]) for value in given]
        new = update(int(before[turn]), values[0], values[-1]) % 2 ** (8 * element)
        transfer.store.store(one, [np.array([new], dtype=bits)])
    return before


ACTIONS = {"atom": _atomic, "red": _atomic}
