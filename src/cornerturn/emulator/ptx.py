"""PTX text -> one kernel's parameters, variables and instructions.

The grammar is that of the PTX ISA, chapters 4 and 5. Only what a kernel needs to run is kept; debug sections and
performance directives are passed over.
"""

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from cornerturn.errors import EmulatorError


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


@dataclass(frozen=True)
class Variable:
    """A declared variable or parameter: ``size`` bytes, 0 for an array of open length (dynamic shared memory)."""

    name: str
    space: str
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
        required_block: the only block shape it may be launched with (``.reqntid``), if it says one.
        max_threads: the most threads a block (``.maxntid``), if it says so.
        clustered: whether it must be launched in clusters, of more than one block or of a size said at the launch.
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

    def declares(self, name: str) -> bool:
        """Whether ``name`` is a declared register (and not a special one such as ``%laneid``)."""
        return name in self.register_types

    def register_type(self, name: str) -> str:
        """PTX type that ``name`` was declared with."""
        if not self.declares(name):
            raise EmulatorError(f"register {name} of kernel {self.name} is used but never declared")
        return self.register_types[name]


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

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
_FILE = re.compile(r'^[ \t]*\.file\s+(\d+)\s+"([^"]*)"', re.M)
_HEADER = re.compile(r"\.(?P<kind>entry|func)\b[^;{}]*?(?P<name>[\w$]+)\s*(?=[(\n{;]|\.)")
_VARIABLE = re.compile(
    r"\.(?P<space>shared|local|global|const|param)\s+(?:\.align\s+(?P<align>\d+)\s+)?(?:\.ptr\s+)?"
    r"\.(?P<type>\w+)\s+(?:\.ptr\s+(?:\.(?:global|shared|local|const)\s+)?(?:\.align\s+\d+\s+)?)?(?P<name>[\w$]+)"
    r"(?P<array>(?:\[\d*\])*)\s*(?:=\s*(?P<initial>[^;]+))?"
)
_STATEMENT = re.compile(
    r"\s*(?:(?P<loc>\.loc\b[^\n]*)|(?P<open>\{)|(?P<close>\})|(?P<label>[\w$]+)\s*:(?!:)|(?P<text>[^;]+);)"
)
_REGISTERS = re.compile(r"\.reg\s+\.(\w+)\s+(.*)", re.S)
_REGISTER = re.compile(r"([%\w$]+)(?:<(\d+)>)?")
_INSTRUCTION = re.compile(r"(?:@(!?)([%\w$]+)\s+)?([a-z][\w]*)((?:\.[\w:]+)*)\s*(.*)", re.S)
_NAME = re.compile(r"[%$A-Za-z_][\w$]*(?:\.[a-z]\w*)?")


def parse(ptx: str, entry: str) -> Entry:
    """Parse the kernel ``entry`` of the module ``ptx``.

    Raises:
        EmulatorError: there is no such kernel, or its text is not PTX that this parser knows.
    """
    files = dict(_FILE.findall(ptx))
    text = _COMMENT.sub("", ptx)
    functions = list(_functions(text))
    for kind, name, signature, body, _ in functions:
        if kind == "entry" and name == entry:
            module = _module_variables(text, functions, frozenset(re.findall(r"[\w$]+", body)))
            return _Body(name, files).parse(signature, body, module)
    known = ", ".join(name for kind, name, *_ in functions if kind == "entry") or "none"
    raise EmulatorError(f"the PTX holds no kernel {entry}; it holds: {known}")


def source_name(symbol: str) -> str:
    """The name of a function or variable in the source, without its types (Itanium C++ ABI, mangling).

    >>> source_name("_Z4turnPKfi"), source_name("_ZN4tile4turnEPf"), source_name("vprintf")
    ('turn', 'tile::turn', 'vprintf')
    """
    names, rest = [], re.sub("^_ZN?L?", "", symbol) if symbol.startswith("_Z") else ""
    while length := re.match(r"\d+", rest):
        end = length.end() + int(length[0])
        names.append(rest[length.end() : end])
        rest = rest[end:]
    return "::".join(name for name in names if not name.startswith("_INTERNAL_")) or symbol


def _functions(text: str) -> Iterator[tuple[str, str, str, str, tuple[int, int]]]:
    """Every function with a body: kind, name, signature, body, and the span it takes in ``text``."""
    position = 0
    while match := _HEADER.search(text, position):
        start = match.start()
        opening = text.find("{", match.end())
        end = text.find(";", match.end())
        if opening < 0 or -1 < end < opening:  # a declaration without a body
            position = match.end()
            continue
        position = _closing_brace(text, opening) + 1
        name, signature = match["name"], text[match.end() : opening]
        yield match["kind"], name, signature, text[opening + 1 : position - 1], (start, position)


def _closing_brace(text: str, opening: int) -> int:
    depth = 0
    for brace in re.compile(r"[{}]").finditer(text, opening):
        depth += 1 if brace[0] == "{" else -1
        if depth == 0:
            return brace.start()
    raise EmulatorError("the PTX ends inside a function body: the text is cut off")


def _module_variables(
    text: str, functions: list[tuple[str, str, str, str, tuple[int, int]]], used: frozenset[str]
) -> list[Variable]:
    """Variables outside of functions, those that are ``used``."""
    outside, position = [], 0
    for *_, (start, end) in functions:
        outside.append(text[position:start])
        position = end
    outside.append(text[position:])
    return [_variable(match) for match in _VARIABLE.finditer("\n".join(outside)) if match["name"] in used]


def _variable(match: re.Match[str]) -> Variable:
    element = TYPE_BYTES[match["type"]]
    count = 1
    for extent in re.findall(r"\[(\d*)\]", match["array"]):
        count *= int(extent or 0)
    return Variable(
        name=match["name"],
        space=match["space"],
        size=count * element,
        align=int(match["align"] or element),
        initial=_initial_bytes(match["initial"], element, match["name"]),
    )


def _extents(directive: str, signature: str) -> tuple[int, ...] | None:
    """The numbers of a performance directive such as ``.maxntid 32, 8``."""
    match = re.search(rf"\.{directive}\s+(\d+(?:\s*,\s*\d+)*)", signature)
    return tuple(int(number) for number in match[1].split(",")) if match else None


def _initial_bytes(text: str | None, element: int, name: str) -> bytes:
    if text is None:
        return b""
    values = [_constant(value) for value in re.findall(r"[^\s,{}]+", text)]
    if not all(values):
        raise EmulatorError(
            f"variable {name} is initialised with {text.strip()[:60]}: only numbers are emulated, no addresses"
        )
    return b"".join((v.bits % (1 << 8 * element)).to_bytes(element, "little") for v in values if v)


def _constant(text: str) -> Immediate | None:
    """``-12``, ``0x1F``, ``0f3F800000``, ``1.0`` or ``WARP_SZ`` (PTX ISA, constants); None when it is no constant."""
    if constant := re.fullmatch(r"0([fFdD])([0-9a-fA-F]+)", text):
        return Immediate(int(constant[2], 16), 4 if constant[1] in "fF" else 8)
    if re.fullmatch(r"-?(0[xX][0-9a-fA-F]+|\d+)U?", text):
        return Immediate(int(text.rstrip("U"), 0))
    if re.fullmatch(r"-?\d+\.\d*", text):
        return Immediate(int.from_bytes(struct.pack("<d", float(text)), "little"), 8)
    return Immediate(32) if text == "WARP_SZ" else None


class _Body:
    """Walks a kernel's statements, keeping the source location and the brace scopes.

    A name declared in an inner scope (inline assembly) becomes ``name@scope``, so that copies of one asm
    statement do not meet.
    """

    def __init__(self, name: str, files: dict[str, str]) -> None:
        self.name = name
        self.files = files
        self.location = "?"
        self.inlined_at: tuple[str, ...] = ()
        self.calls: dict[str, tuple[str, ...]] = {}
        self.scopes: list[int] = []
        self.declared: list[dict[str, str]] = []
        self.types: dict[str, str] = {}
        self.variables: list[Variable] = []
        self.instructions: list[Instruction] = []
        self.labels: dict[str, int] = {}

    def parse(self, signature: str, body: str, module_variables: list[Variable]) -> Entry:
        statements = [(match.lastgroup, match[match.lastgroup or 0].strip()) for match in _STATEMENT.finditer(body)]
        for number, (kind, text) in self._scoped(statements):
            if kind == "label":  # labels first: a branch may come before its label
                self._declare(text, number)
        for _, (kind, text) in self._scoped(statements):
            self._statement(kind, text)
        required, most = _extents("reqntid", signature), _extents("maxntid", signature)
        cluster = _extents("reqnctapercluster", signature)
        return Entry(
            name=self.name,
            parameters=tuple(_variable(match) for match in _VARIABLE.finditer(signature)),
            variables=(*module_variables, *self.variables),
            register_types=self.types,
            instructions=tuple(self.instructions),
            labels=self.labels,
            required_block=required,
            max_threads=prod(most) if most else None,
            clustered=prod(cluster) > 1 if cluster else ".explicitcluster" in signature,
        )

    def _scoped(self, statements: list[tuple[str | None, str]]) -> Iterator[tuple[int, tuple[str | None, str]]]:
        """Every statement with the number of its scope; keeps ``scopes``, the numbers of the open ones."""
        self.scopes, count = [0], 1
        for kind, text in statements:
            if kind == "open":
                self.scopes.append(count)
                count += 1
            elif kind == "close":
                self.scopes.pop()
            while len(self.declared) < count:
                self.declared.append({})
            yield self.scopes[-1], (kind, text)

    def _statement(self, kind: str | None, text: str) -> None:
        if kind == "loc":
            self._locate(text)
        elif kind == "label":
            self.labels[self._resolve(text)] = len(self.instructions)
        elif kind != "text":
            return
        elif text.startswith(".reg"):
            self._registers(text)
        elif text.startswith("."):
            if variable := _VARIABLE.match(text):
                self.variables.append(_variable(variable))
        else:
            self.instructions.append(self._instruction(text))

    def _locate(self, directive: str) -> None:
        """``.loc file line column [, function_name label, inlined_at file line column]`` (PTX ISA, .loc)."""
        here, *attributes = [part.split() for part in directive.removeprefix(".loc").split(",")]
        call = next((part[1:] for part in attributes if part[0] == "inlined_at"), None)
        # A call that was inlined itself has a .loc of its own before those of its body.
        self.inlined_at = (self._source_line(call), *self.calls.get(" ".join(call), ())) if call else ()
        self.calls[" ".join(here)] = self.inlined_at
        self.location = self._source_line(here)

    def _source_line(self, place: list[str]) -> str:
        return f"{self.files.get(place[0], '?')}:{place[1]}"

    def _declare(self, name: str, scope: int) -> str:
        unique = name if scope == 0 else f"{name}@{scope}"
        self.declared[scope][name] = unique
        return unique

    def _resolve(self, name: str) -> str:
        return next(
            (self.declared[scope][name] for scope in reversed(self.scopes) if name in self.declared[scope]), name
        )

    def _registers(self, text: str) -> None:
        """``.reg .b32 %a, %r<3>`` declares ``%a``, ``%r0``, ``%r1`` and ``%r2``."""
        for kind, names in _REGISTERS.findall(text):
            for name, count in _REGISTER.findall(names):
                for one in [f"{name}{n}" for n in range(int(count))] if count else [name]:
                    self.types[self._declare(one, self.scopes[-1])] = kind

    def _instruction(self, text: str) -> Instruction:
        text = " ".join(text.split())
        match = _INSTRUCTION.fullmatch(text)
        if match is None:
            raise EmulatorError(f"{self.location}: cannot read the PTX statement '{text}'")
        negation, guard, opcode, modifiers, operands = match.groups()
        return Instruction(
            opcode=opcode,
            modifiers=tuple(modifiers.split(".")[1:]),
            operands=tuple(self._operand(part) for part in _split(operands)),
            guard=Register(self._resolve(guard), bool(negation)) if guard else None,
            location=self.location,
            text=text,
            inlined_at=self.inlined_at,
        )

    def _operand(self, text: str) -> Operand:
        if text.startswith(("{", "(")):
            return Vector(tuple(self._operand(part) for part in _split(text[1:-1])))
        if text.startswith("["):
            base, _, offset = text[1:-1].replace(" ", "").partition("+")
            operand, distance = self._operand(base), _constant(offset or "0")
            if distance is None or not isinstance(operand, Register | Symbol | Immediate):
                raise EmulatorError(f"{self.location}: cannot read the address '{text}'")
            return Address(operand, distance.bits)
        if "|" in text:
            return Vector(tuple(self._operand(part.strip()) for part in text.split("|")))
        if text.startswith("!"):
            return Register(self._resolve(text[1:].strip()), negated=True)
        if constant := _constant(text):
            return constant
        if _NAME.fullmatch(text):
            name = self._resolve(text)
            return Register(name) if self._is_register(name) else Symbol(name)
        raise EmulatorError(f"{self.location}: cannot read the operand '{text}'")

    def _is_register(self, name: str) -> bool:
        return name.startswith("%") or name == "_" or name in self.types


def _split(text: str) -> list[str]:
    """Split at the commas that stand in no bracket."""
    parts, depth, start = [], 0, 0
    for index, character in enumerate(text):
        if character in "{[(":
            depth += 1
        elif character in "}])":
            depth -= 1
        elif character == "," and depth == 0:
            parts.append(text[start:index].strip())
            start = index + 1
    tail = text[start:].strip()
    return [*parts, tail] if tail else parts
