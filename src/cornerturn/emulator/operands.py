"""How an instruction's operands are read and written: functions of the wave, made once per instruction."""

from collections.abc import Callable

import numpy as np

from cornerturn.emulator.special import SPECIAL_REGISTERS
from cornerturn.emulator.types import PACKED, TYPES, Array, Type
from cornerturn.emulator.wave import Lanes, Wave
from cornerturn.ptx import (
    Address,
    Entry,
    Immediate,
    Instruction,
    Operand,
    Register,
    Symbol,
    demangle,
)

Action = Callable[[Wave, Lanes], None]
Reader = Callable[[Wave], Array]
Writer = Callable[[Wave, Lanes, Array], None]


class Unsupported(Exception):  # noqa: N818 - it says what an instruction is, not what went wrong
    """The instruction has no meaning in the emulator; the text, if any, says which part of it."""


class Operands:
    """Makes readers and writers for one kernel.

    Args:
        symbols: address of every variable and parameter, in its own space.
    """

    def __init__(self, entry: Entry, symbols: dict[str, int]) -> None:
        self.entry = entry
        self.symbols = symbols

    def type_of(self, instruction: Instruction) -> Type:
        """The instruction's (last) type; a packed pair moves as 32 bits."""
        for name in reversed(instruction.modifiers):
            if name in TYPES:
                return TYPES[name]
            if name in PACKED:
                return TYPES["b32"]
        raise Unsupported("it names no type")

    def reader(self, operand: Operand, kind: Type) -> Reader:
        """A function that gives the operand's value as ``kind``."""
        if isinstance(operand, Register):
            return self._register_reader(operand, kind)
        if isinstance(operand, Immediate):
            constant = _constant(operand, kind)
            return lambda wave: constant
        if isinstance(operand, Symbol):
            if operand.name not in self.symbols:
                raise Unsupported(
                    f"{demangle(operand.name).text} is not a variable, and functions have no address here"
                )
            address = kind.bits.type(self.symbols[operand.name])
            return lambda wave: address
        raise Unsupported("an operand is of a kind that it does not take")

    def _register_reader(self, operand: Register, kind: Type) -> Reader:
        name = operand.name
        if not self.entry.declares(name):
            if name not in SPECIAL_REGISTERS:
                raise Unsupported(f"{name} is not emulated")
            special = SPECIAL_REGISTERS[name]
            return lambda wave: kind.decode(special(wave))
        if operand.negated:
            return lambda wave: ~wave.read(name)
        return lambda wave: kind.decode(wave.read(name))

    def writer(self, operand: Operand, kind: Type) -> Writer:
        """A function that stores values of ``kind`` into the operand, a register or ``_``."""
        if not isinstance(operand, Register):
            raise Unsupported("its destination is not one register")
        name = operand.name
        if name == "_":
            return lambda wave, lanes, values: None
        register = TYPES[self.entry.register_type(name)].bits
        return lambda wave, lanes, values: wave.write(name, kind.encode(values, register), lanes)

    def address(self, operand: Operand) -> Reader:
        """A function that gives ``[base + offset]`` as 64-bit addresses."""
        if not isinstance(operand, Address):
            raise Unsupported("its address is not in brackets")
        base = operand.base
        narrow = isinstance(base, Register) and TYPES[self.entry.register_type(base.name)].bytes == 4
        kind = TYPES["u32" if narrow else "u64"]
        read, offset = self.reader(base, kind), kind.dtype.type(operand.offset % 2 ** (8 * kind.bytes))
        return lambda wave: (read(wave) + offset).astype(np.uint64)


def _constant(operand: Immediate, kind: Type) -> Array:
    if kind.name == "pred":
        return np.bool_(operand.bits & 1)
    if operand.float_bytes == 8 and kind.name == "f32":
        return np.float32(np.uint64(operand.bits).view(np.float64))
    return kind.decode(kind.bits.type(operand.bits % 2 ** (8 * kind.bytes)))
