"""A user's own kernel: read from a .cu file with its launch, written as expressions, into a `Kernel`."""

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from cornerturn.errors import CompileError, UsageError
from cornerturn.kernels.grid import accepts_all
from cornerturn.kernels.kernel import Argument, CudaProgram, CudaSource, Extent, Kernel, Launch
from cornerturn.lab.expressions import evaluate, split, whole
from cornerturn.toolchain import DEFAULT_ARCH, compile_source, unavailable_reason

_HEADER = re.compile(r"^\s*//\s*cornerturn:(.*)$", re.MULTILINE)
_COMMENT_OR_STRING = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)
_KERNEL = re.compile(
    r"(?P<template>template\s*<[^{};]*>\s*)?(?:extern\s+\"\"\s*)?(?:static\s+|inline\s+)*"
    r"\b__global__\b(?:\s+static|\s+void|\s+__launch_bounds__\s*\([^)]*\))*\s+(?P<name>\w+)\s*\("
)
_HOST_CODE = re.compile(r"<<<|\bmain\s*\(|^\s*#\s*include\b", re.MULTILINE)
_FLOATS: dict[str, type[np.floating[Any]]] = {"f16": np.float16, "f32": np.float32, "f64": np.float64}


@dataclass(frozen=True)
class Recipe:
    """How a kernel is launched, in expressions over ``rows``, ``cols``, ``block.x``, ``block.y`` and ``block.z``.

    Attributes:
        entry: the kernel's name, with template arguments if it has any; empty when the file has one kernel only.
        block: threads along x, y, z, for example ``32,8``.
        grid: blocks along x, y, z, for example ``ceil(cols/32),ceil(rows/32)``.
        args: one for each parameter: ``x``, ``y``, or an expression.
        shared: dynamic shared memory, bytes a block.
    """

    entry: str = ""
    block: str = ""
    grid: str = ""
    args: str = "x,y,rows,cols"
    shared: str = "0"

    @staticmethod
    def of_header(text: str, file: str) -> "Recipe":
        """The recipe in a source's comments: ``// cornerturn: block=32,8 grid=ceil(cols/32),rows``.

        Raises:
            UsageError: a word of the comment is not key=value, or the key is unknown or given twice.
        """
        known = [field.name for field in fields(Recipe)]
        given: dict[str, str] = {}
        for comment in _HEADER.findall(text):
            for word in re.split(r"\s+(?=\w+\s*=)", comment.strip()):
                key, equals, value = (part.strip() for part in word.partition("="))
                if not equals or key not in known or key in given:
                    rule = f"each of {', '.join(known)} once, as key=value"
                    raise UsageError(f"{file}: '// cornerturn:' takes {rule}: got {word!r}")
                given[key] = value
        return Recipe(**given)


def read_kernel(path: Path, asked: Mapping[str, str], arch: str = DEFAULT_ARCH) -> Kernel:
    """The kernel of a .cu file; it is compiled, because its parameters' types are needed.

    Args:
        path: the file. Its header comment says how it is launched.
        asked: values by `Recipe`'s field names; they go before the header's.
        arch: architecture to compile for.

    Raises:
        UsageError: the file cannot be read, the kernel in it is not certain, or the launch breaks a rule.
        CompileError: it does not compile; the compiler's log says why, and what NVRTC cannot take.
        MissingExtraError: NVRTC is not installed.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a text file"
        raise UsageError(f"{path}: {reason}") from error
    recipe = replace(Recipe.of_header(text, path.name), **asked)
    trees = {
        option: split(getattr(recipe, option))
        for option in ("block", "grid", "args", "shared")
        if _given(recipe, option, path.name)
    }
    entry = recipe.entry or _only_kernel(text, path.name)
    source = _source(path.name, text, entry)
    launcher = Launcher(**trees, parameters=_parameters(source, arch))
    launcher.launch(32, 32)  # a recipe that breaks a rule does so before any work
    return Kernel(
        name=entry,
        family="user",
        source=source,
        entry=entry,
        element_bytes=4,
        launch=launcher.launch,
        refuses=accepts_all,
        lesson="",
    )


def _given(recipe: Recipe, option: str, file: str) -> bool:
    if getattr(recipe, option):
        return True
    raise UsageError(
        f"{file}: the launch is not known: give --{option}, or write a comment into the file: "
        "// cornerturn: block=32,8 grid=ceil(cols/32),ceil(rows/32) args=x,y,rows,cols"
    )


def _only_kernel(text: str, file: str) -> str:
    """The name of the one kernel in a source."""
    code = _COMMENT_OR_STRING.sub(lambda match: '""' if match[0][0] == '"' else " ", text)
    kernels = list(_KERNEL.finditer(code))
    names = [match["name"] for match in kernels]
    if not names:
        raise UsageError(f"{file} has no __global__ function")
    if len(names) > 1:
        raise UsageError(f"{file} has {len(names)} kernels, {', '.join(names)}: choose one with --entry")
    if kernels[0]["template"]:
        raise UsageError(f"{names[0]} is a template: give its arguments, as --entry '{names[0]}<32>'")
    return names[0]


def _source(file: str, text: str, entry: str) -> CudaSource:
    """What the file is compiled from: with nvcc when it holds host code and nvcc is there, else with NVRTC."""
    program = CudaProgram(file, text, (entry,))
    if _host_code(text) and unavailable_reason(program) is None:
        return program
    return CudaSource(file, text, (entry,))


def _host_code(text: str) -> str | None:
    """The first sign of what NVRTC does not take."""
    found = _HOST_CODE.search(_COMMENT_OR_STRING.sub(" ", text))
    return found[0].strip() if found else None


def _parameters(source: CudaSource, arch: str) -> tuple[str, ...]:
    """The PTX types of the kernel's parameters, ``b`` and a number of bits for a structure."""
    try:
        image = compile_source(source, arch).image(source.entries[0])
    except CompileError as error:
        sign = _host_code(source.text)
        if sign is None or isinstance(source, CudaProgram):
            raise
        raise CompileError(
            f"{error}\n\nNVRTC compiles device code only: no host functions, no launches, no headers of the system; "
            f"here stands {sign!r}.\n{unavailable_reason(CudaProgram(source.file, source.text, source.entries))}"
        ) from error
    signature = re.search(rf"\.entry\s+{re.escape(image.symbol)}\s*\(([^)]*)\)", image.ptx)
    declared = re.findall(r"\.param\s+(?:\.align\s+\d+\s+)?\.(\w+)([^,]*)", signature[1] if signature else "")
    sizes = [re.search(r"\[(\d+)\]", rest) for _, rest in declared]
    return tuple(f"b{8 * int(size[1])}" if size else name for (name, _), size in zip(declared, sizes, strict=True))


@dataclass(frozen=True)
class Launcher:
    """A recipe's expressions, and the PTX types of the kernel's parameters."""

    block: list[ast.expr]
    grid: list[ast.expr]
    args: list[ast.expr]
    shared: list[ast.expr]
    parameters: tuple[str, ...]

    def launch(self, rows: int, cols: int) -> Launch:
        """The launch for an x of rows x cols.

        Raises:
            UsageError: an expression does not give what is needed there.
        """
        names = {"rows": rows, "cols": cols}
        block = self._extent("block", names)
        names |= {f"block.{axis}": size for axis, size in zip("xyz", block, strict=True)}
        grid = self._extent("grid", names)
        (shared,) = self._numbers("shared", names, most=1, least=0)
        return Launch(grid, block, self._arguments(names), shared)

    def _extent(self, option: str, names: Mapping[str, int]) -> Extent:
        x, y, z = (*self._numbers(option, names, most=3, least=1), 1, 1)[:3]
        return x, y, z

    def _numbers(self, option: str, names: Mapping[str, int], most: int, least: int) -> list[int]:
        numbers = [whole(tree, names) for tree in getattr(self, option)]
        if len(numbers) > most or min(numbers) < least:
            at = ", ".join(f"{name} = {names[name]}" for name in ("rows", "cols"))
            rule = (
                f"must be 1 to {most} numbers of at least {least}"
                if most > 1
                else f"must be a number, at least {least}"
            )
            raise UsageError(f"{option} {rule}: got {', '.join(map(str, numbers))} for {at}")
        return numbers

    def _arguments(self, names: Mapping[str, int]) -> tuple[Argument, ...]:
        if len(self.args) != len(self.parameters):
            raise UsageError(
                f"the kernel takes {len(self.parameters)} arguments and {len(self.args)} are given: name each, "
                "as args=x,y,rows,cols"
            )
        arguments: list[Argument] = []
        for number, (tree, kind) in enumerate(zip(self.args, self.parameters, strict=True), 1):
            name = ast.unparse(tree)
            if name in ("x", "y") and kind.endswith("64"):
                arguments.append(name)
            elif name in ("x", "y"):
                raise UsageError(f"argument {number} is {name}, a pointer, but the parameter there is a .{kind}")
            elif kind in _FLOATS:
                arguments.append(_FLOATS[kind](float(evaluate(tree, names))))
            elif kind in ("b8", "u8", "b16", "u16", "b32", "u32", "b64", "u64", "s8", "s16", "s32", "s64"):
                bits = int(kind[1:])
                arguments.append(np.dtype(f"u{bits // 8}").type(whole(tree, names) % 2**bits))
            else:
                raise UsageError(f"argument {number} is a structure: only pointers and numbers can be passed")
        return tuple(arguments)
