"""Instruction -> action: a function that carries the instruction out for the active lanes of a wave."""

from cornerturn.emulator import access, asynchronous, atomics, warp
from cornerturn.emulator.instructions import Operation, resolve
from cornerturn.emulator.meanings.table import join, split
from cornerturn.emulator.operands import Action, Operands, Unsupported
from cornerturn.emulator.types import TYPES
from cornerturn.emulator.wave import Lanes, Wave
from cornerturn.errors import EmulatorError
from cornerturn.ptx import Instruction, Operand, Register, Symbol, Vector, demangle

NO_EFFECT = frozenset({"membar", "fence", "prefetch", "prefetchu", "nanosleep", "griddepcontrol"})
"""Ordering and hints: lanes in lockstep on one memory see every effect at once."""

ACTIONS = {**access.ACTIONS, **atomics.ACTIONS, **asynchronous.ACTIONS, **warp.ACTIONS}


def decode(operands: Operands, position: int, instruction: Instruction) -> Action:
    """The action of one instruction.

    Raises:
        EmulatorError: the instruction has no meaning here; the message names it and its source line.
    """
    try:
        action = _unguarded(operands, position, instruction)
    except Unsupported as reason:
        detail = f": {reason}" if str(reason) else ""
        raise EmulatorError(
            f"{instruction.location}: the emulator does not know the instruction '{instruction.text}'{detail}"
        ) from None
    return action if instruction.guard is None else _guarded(operands, action, instruction.guard)


def _unguarded(operands: Operands, position: int, instruction: Instruction) -> Action:
    if instruction.opcode in NO_EFFECT:
        return lambda wave, lanes: None
    if instruction.opcode in ACTIONS:
        return ACTIONS[instruction.opcode](operands, position, instruction)
    if instruction.opcode == "call":
        raise Unsupported(f"{_callee(instruction)} was not inlined, and calls are not emulated")
    if instruction.opcode == "mov" and any(isinstance(operand, Vector) for operand in instruction.operands):
        return _pack(operands, instruction)
    operation = resolve(instruction.opcode, instruction.modifiers)
    if operation is None or len(instruction.operands) != 1 + len(operation.sources):
        raise Unsupported
    return _compute(operands, operation, instruction.operands)


def _callee(instruction: Instruction) -> str:
    """What a call calls, for a person."""
    callee = next((operand for operand in instruction.operands if isinstance(operand, Symbol)), None)
    indirect = any(isinstance(operand, Register) for operand in instruction.operands)
    if callee is None or indirect:
        return "a function behind a pointer"
    return "printf" if callee.name == "vprintf" else demangle(callee.name).text


def _guarded(operands: Operands, action: Action, guard: Register) -> Action:
    condition = operands.reader(guard, TYPES["pred"])

    def guarded(wave: Wave, lanes: Lanes) -> None:
        chosen = lanes.where(condition(wave))
        wave.lane_instructions -= lanes.count - chosen.count
        if chosen.count:
            action(wave, chosen)

    return guarded


def _compute(operands: Operands, operation: Operation, all_operands: tuple[Operand, ...]) -> Action:
    target, *sources = all_operands
    write = operands.writer(target, operation.result)
    readers = [operands.reader(o, t) for o, t in zip(sources, operation.sources, strict=True)]

    def compute(wave: Wave, lanes: Lanes) -> None:
        write(wave, lanes, operation.apply(*[read(wave) for read in readers]))

    return compute


def _pack(operands: Operands, instruction: Instruction) -> Action:
    """``mov.b64 {a, b}, c`` and ``mov.b64 c, {a, b}``."""
    target, source = instruction.operands
    whole = operands.type_of(instruction)
    if isinstance(target, Vector) and not isinstance(source, Vector):
        count = len(target.elements)
        part = TYPES[f"b{8 * whole.bytes // count}"]
        writers = [operands.writer(element, part) for element in target.elements]
        read = operands.reader(source, whole)

        def unpack(wave: Wave, lanes: Lanes) -> None:
            for write, value in zip(writers, split(read(wave), count), strict=True):
                write(wave, lanes, value)

        return unpack
    if isinstance(source, Vector) and not isinstance(target, Vector):
        part = TYPES[f"b{8 * whole.bytes // len(source.elements)}"]
        readers = [operands.reader(element, part) for element in source.elements]
        write = operands.writer(target, whole)

        def pack(wave: Wave, lanes: Lanes) -> None:
            write(wave, lanes, join([read(wave) for read in readers], 8 * part.bytes))

        return pack
    raise Unsupported
