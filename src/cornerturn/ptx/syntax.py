"""What PTX text says, as values: operands, instructions, variables, a kernel (PTX ISA, chapters 4 to 7)."""

from dataclasses import dataclass
from typing import Literal

from cornerturn.errors import PtxError
from cornerturn.ptx.names import demangle

TYPE_BYTES = {
    "b8": 1,
    "b16": 2,
    "b32": 4,
    "b64": 8,
    "b128": 16,
    "pred": 1,
    "f16x2": 4,
    "bf16x2": 4,
    "bf16": 2,
}
TYPE_BYTES |= {f"{kind}{bits}": bits // 8 for kind in "us" for bits in (8, 16, 32, 64)}
TYPE_BYTES |= {f"f{bits}": bits // 8 for bits in (16, 32, 64)}

Space = Literal["global", "shared", "local", "const", "param"]

STATE_SPACES: dict[str, Space] = {
    "global": "global",
    "shared": "shared",
    "shared::cta": "shared",
    "local": "local",
    "const": "const",
    "param": "param",
    "param::entry": "param",
    "param::func": "param",
}
"""How an instruction spells a state space, and which one it is."""


@dataclass(frozen=True)
class Register:
    """A register operand, or a special register such as ``%tid.x``."""

    name: str
    negated: bool = False


@dataclass(frozen=True)
class Immediate:
    """A constant: an integer, or the IEEE bits of a float (``0f3F800000``) in ``bits`` of ``float_bytes`` bytes."""

    bits: int
    float_bytes: int = 0


@dataclass(frozen=True)
class Symbol:
    """The address of a variable or parameter, or a label."""

    name: str


@dataclass(frozen=True)
class Address:
    """``[base + offset]``."""

    base: "Register | Symbol | Immediate"
    offset: int = 0


@dataclass(frozen=True)
class Vector:
    """``{a, b, c, d}``, the pair ``p|q``, or the ``(a, b)`` of a call."""

    elements: "tuple[Operand, ...]"


Operand = Register | Immediate | Symbol | Address | Vector


def elements(operand: Operand) -> tuple[Operand, ...]:
    """The elements of a vector; any other operand is its only element."""
    return operand.elements if isinstance(operand, Vector) else (operand,)


@dataclass(frozen=True)
class Instruction:
    """One instruction: ``@guard opcode.modifiers operands;`` and where in the source it comes from.

    Attributes:
        location: ``file:line``, or ``?`` without a line table.
        inlined_at: ``file:line`` of each call through which the kernel got there, innermost first; all were inlined.
    """

    opcode: str
    modifiers: tuple[str, ...]
    operands: tuple[Operand, ...]
    guard: Register | None
    location: str
    text: str
    inlined_at: tuple[str, ...] = ()

    @property
    def space(self) -> Space | None:
        """The state space that it names; None where the address alone decides."""
        return next((STATE_SPACES[name] for name in self.modifiers if name in STATE_SPACES), None)


@dataclass(frozen=True)
class Variable:
    """A declared variable or parameter.

    Attributes:
        type: of the variable, or of one element of an ``array``.
        size: bytes; 0 for an array of open length (dynamic shared memory).
    """

    name: str
    space: str
    type: str
    array: bool
    size: int
    align: int
    initial: bytes = b""


@dataclass(frozen=True)
class Entry:
    """One kernel, parsed.

    Attributes:
        labels: label -> index of the instruction that follows it.
        register_types: register name -> PTX type.
        variables: the module's and the kernel's own.
        required_block: the only block shape it may be launched with (``.reqntid``), if it names one.
        max_threads: the most threads per block (``.maxntid``), if it says so.
        clustered: whether it must be launched in clusters: of more than one block, or of a size that the launch names.
    """

    name: str
    parameters: tuple[Variable, ...]
    variables: tuple[Variable, ...]
    register_types: dict[str, str]
    instructions: tuple[Instruction, ...]
    labels: dict[str, int]
    required_block: tuple[int, ...] | None = None
    max_threads: int | None = None
    clustered: bool = False

    @property
    def source_name(self) -> str:
        """What the source calls it, without template arguments."""
        return demangle(self.name).text

    def declares(self, name: str) -> bool:
        """Whether ``name`` is a declared register (and not a special one such as ``%laneid``)."""
        return name in self.register_types

    def register_type(self, name: str) -> str:
        """PTX type that ``name`` was declared with."""
        if not self.declares(name):
            raise PtxError(f"register {name} of kernel {self.source_name} is used but never declared")
        return self.register_types[name]
