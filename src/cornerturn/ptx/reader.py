"""PTX text -> one kernel's parameters, variables and instructions.

The grammar is that of the PTX ISA, chapters 4 and 5. Only what a kernel needs to run is kept; debug sections and
performance directives are skipped.
"""

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from cornerturn.errors import PtxError
from cornerturn.ptx.lines import files
from cornerturn.ptx.names import demangle
from cornerturn.ptx.syntax import (
    TYPE_BYTES,
    Address,
    Entry,
    Immediate,
    Instruction,
    Operand,
    Register,
    Symbol,
    Variable,
    Vector,
)

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
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


@dataclass(frozen=True)
class _Function:
    """A function with a body; ``start`` and ``end`` bound its text in the module."""

    kind: str
    name: str
    signature: str
    body: str
    start: int
    end: int


def parse(ptx: str, entry: str) -> Entry:
    """The kernel ``entry`` of the module ``ptx``.

    Example:
        >>> kernel = parse(".visible .entry turn(.param .u64 x) { .reg .u64 %a; ld.param.u64 %a, [x]; ret; }", "turn")
        >>> [instruction.text for instruction in kernel.instructions], kernel.parameters[0].size
        (['ld.param.u64 %a, [x]', 'ret'], 8)

    Raises:
        PtxError: there is no such kernel, or this reader does not know a statement of it.
    """
    text = _without_comments(ptx)
    functions = list(_functions(text))
    kernel = _kernel(functions, entry)
    module = _module_variables(text, functions, frozenset(re.findall(r"[\w$]+", kernel.body)))
    return _Body(entry, files(ptx)).parse(kernel.signature, kernel.body, module)


def parameters(ptx: str, entry: str) -> tuple[Variable, ...]:
    """The parameters of the kernel ``entry`` of the module ``ptx``; its body is not read.

    Raises:
        PtxError: there is no such kernel, or the text is cut off.
    """
    return _parameters(_kernel(list(_functions(_without_comments(ptx))), entry).signature)


def kernel_names(ptx: str) -> tuple[str, ...]:
    """The symbol of each kernel of the module ``ptx``, in its order.

    Raises:
        PtxError: the text is cut off.
    """
    return tuple(function.name for function in _functions(_without_comments(ptx)) if function.kind == "entry")


def _without_comments(ptx: str) -> str:
    return _COMMENT.sub("", ptx)


def _functions(text: str) -> Iterator[_Function]:
    """Every function with a body."""
    position = 0
    while match := _HEADER.search(text, position):
        opening = text.find("{", match.end())
        end = text.find(";", match.end())
        if opening < 0 or -1 < end < opening:  # a declaration without a body
            position = match.end()
            continue
        closing = _closing_brace(text, opening)
        signature, body = text[match.end() : opening], text[opening + 1 : closing]
        position = closing + 1
        yield _Function(match["kind"], match["name"], signature, body, match.start(), position)


def _kernel(functions: list[_Function], name: str) -> _Function:
    kernels = {function.name: function for function in functions if function.kind == "entry"}
    if name not in kernels:
        held = ", ".join(demangle(kernel).text for kernel in kernels) or "none"
        raise PtxError(f"the PTX holds no kernel {demangle(name).text}; it holds: {held}")
    return kernels[name]


def _parameters(signature: str) -> tuple[Variable, ...]:
    return tuple(_variable(match) for match in _VARIABLE.finditer(signature))


def _closing_brace(text: str, opening: int) -> int:
    depth = 0
    for brace in re.compile(r"[{}]").finditer(text, opening):
        depth += 1 if brace[0] == "{" else -1
        if depth == 0:
            return brace.start()
    raise PtxError("the PTX ends inside a function body: the text is cut off")


def _module_variables(text: str, functions: list[_Function], used: frozenset[str]) -> list[Variable]:
    """Variables outside of functions, those that are ``used``."""
    starts, ends = [function.start for function in functions], [function.end for function in functions]
    outside = [text[a:b] for a, b in zip([0, *ends], [*starts, len(text)], strict=True)]
    return [_variable(match) for match in _VARIABLE.finditer("\n".join(outside)) if match["name"] in used]


def _variable(match: re.Match[str]) -> Variable:
    element = TYPE_BYTES[match["type"]]
    count = 1
    for extent in re.findall(r"\[(\d*)\]", match["array"]):
        count *= int(extent or 0)
    return Variable(
        name=match["name"],
        space=match["space"],
        type=match["type"],
        array=bool(match["array"]),
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
        raise PtxError(
            f"variable {name} is initialised with {text.strip()[:60]}: only numbers are emulated, no addresses"
        )
    return b"".join((v.bits % (1 << 8 * element)).to_bytes(element, "little") for v in values if v)


def _constant(text: str) -> Immediate | None:
    """``-12``, ``0x1F``, ``0f3F800000``, ``1.0`` or ``WARP_SZ`` (PTX ISA, constants); None for anything else."""
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
            parameters=_parameters(signature),
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
            raise PtxError(f"{self.location}: cannot read the PTX statement '{text}'")
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
                raise PtxError(f"{self.location}: cannot read the address '{text}'")
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
        raise PtxError(f"{self.location}: cannot read the operand '{text}'")

    def _is_register(self, name: str) -> bool:
        return name.startswith("%") or name == "_" or name in self.types


def _split(text: str) -> list[str]:
    """Split at the commas outside of brackets."""
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
