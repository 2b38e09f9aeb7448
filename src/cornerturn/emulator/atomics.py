"""Atomics on integers: lanes take their turn in ascending order."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from cornerturn.emulator.access import MemoryInstruction, check_written, memory_instruction, visit
from cornerturn.emulator.operands import Operands, Step, Unsupported
from cornerturn.emulator.types import TYPES
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


def _atomic(operands: Operands, position: int, instruction: Instruction) -> Step:
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
    what = memory_instruction(operands, position, plain, "atomic", 1)
    assert address is not None
    where = operands.address(address)
    readers = [operands.reader(value, kind) for value in values if value is not None]
    write = operands.writer(target, kind) if target is not None else None

    def atomic(wave: Wave, lanes: Lanes) -> None:
        given = [lanes.pick(read(wave)) for read in readers]
        before = np.zeros(len(lanes.index), dtype=kind.dtype)
        _take_turns(wave, lanes, what, lanes.pick(where(wave)), name, given, before)
        if write is not None:
            write(wave, lanes, lanes.spread(before))

    return atomic


def _take_turns(
    wave: Wave,
    lanes: Lanes,
    what: MemoryInstruction,
    addresses: "np.ndarray[tuple[int, ...], np.dtype[np.uint64]]",
    name: str,
    given: "list[np.ndarray[tuple[int, ...], np.dtype[np.integer]]]",
    before: "np.ndarray[tuple[int, ...], np.dtype[np.integer]]",
) -> None:
    update, modulus = UPDATES[name], 2 ** (8 * what.element)
    bits = TYPES[f"b{8 * what.element}"].dtype
    for store, offsets, chosen in visit(wave, lanes, what, addresses):
        if wave.races is not None:
            wave.races.write(what, store, offsets, lanes.index[chosen])
        if name != "exch":  # which is also how memory is first written
            check_written(wave, what, store, offsets, lanes.index[chosen])
        for lane, offset in zip(chosen, offsets, strict=True):
            one = np.array([offset])
            old = store.load(one, what.element, 1)[0].view(before.dtype)
            before[lane] = old[0]
            values = [int(value[lane]) for value in given]
            new = update(int(old[0]), values[0], values[-1]) % modulus
            store.store(one, [np.array([new], dtype=bits)])


STEPS = {"atom": _atomic, "red": _atomic}
