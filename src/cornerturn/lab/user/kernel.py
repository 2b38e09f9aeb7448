"""A user's own kernel: read from a .cu file with its launch, written as expressions, into a `Kernel`."""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from cornerturn.errors import CompileError, UsageError
from cornerturn.files import read_text
from cornerturn.kernels.grid import accepts_all
from cornerturn.kernels.kernel import Argument, CudaProgram, CudaSource, Extent, Kernel, Launch
from cornerturn.lab.matrices import WORDS
from cornerturn.lab.user.cuda_text import CudaParts, kernels_in, take_apart
from cornerturn.lab.user.expressions import evaluate, split, whole
from cornerturn.ptx import demangle, kernel_names, parameters
from cornerturn.toolchain import DEFAULT_ARCH, Image, Module, compile_source, unavailable_reason
from cornerturn.wording import counted

_UNSIGNED: dict[int, type[np.unsignedinteger[Any]]] = {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}
_FLOATS: dict[str, type[np.floating[Any]]] = {"f16": np.float16, "f32": np.float32, "f64": np.float64}


_FORMS = {
    "block": "threads along x, y and z, such as 32,8",
    "grid": "blocks along x, y and z, such as ceil(cols/32),ceil(rows/32)",
    "args": "one for each parameter of the kernel, such as x,y,rows,cols",
    "shared": "bytes of a block, such as 4*block.x",
}
"""What the options that hold expressions take."""


@dataclass(frozen=True)
class Recipe:
    """How a kernel is launched, in expressions over ``rows``, ``cols``, ``block.x``, ``block.y`` and ``block.z``.

    Attributes:
        entry: the kernel's name, with template arguments if it has any; empty if the file has only one kernel.
        block: threads along x, y, z, for example ``32,8``.
        grid: blocks along x, y, z, for example ``ceil(cols/32),ceil(rows/32)``.
        args: one per parameter: ``x``, ``y``, or an expression.
        shared: dynamic shared memory, bytes per block.
        element_bytes: size of an element of x and y: 1, 2, 4, 8 or 16.
    """

    entry: str = ""
    block: str = ""
    grid: str = ""
    args: str = "x,y,rows,cols"
    shared: str = "0"
    element_bytes: str = "4"

    @staticmethod
    def of_comments(comments: Iterable[str], file: str) -> "Recipe":
        """The recipe in a source's comments: ``// cornerturn: block=32,8 grid=ceil(cols/32),rows``.

        Args:
            comments: what follows each ``//`` of the file.
            file: its name.

        Raises:
            UsageError: a word of the comment is not key=value, or the key is unknown or given twice.
        """
        known = [field.name for field in fields(Recipe)]
        given: dict[str, str] = {}
        for comment in comments:
            title, colon, recipe = comment.partition(":")
            if title.strip() != "cornerturn" or not colon:
                continue
            for word in re.split(r" (?=\w+ ?=)", " ".join(recipe.split())):
                key, equals, value = (part.strip() for part in word.partition("="))
                if not equals or key not in known or key in given:
                    rule = f"each of {', '.join(known)} once, as key=value"
                    raise UsageError(f"{file}: '// cornerturn:' takes {rule}: got {word!r}")
                given[key] = value
        return Recipe(**given)


def read_kernel(path: str | PathLike[str], asked: Mapping[str, object], arch: str = DEFAULT_ARCH) -> Kernel:
    """Read the kernel of a .cu file, and compile it, because its parameters' types are needed.

    Args:
        path: the file. Its header comment says how it is launched.
        asked: values by `Recipe`'s field names, as text or as numbers; they override the header's.
        arch: architecture to compile for.

    Raises:
        UsageError: the file cannot be read, it is unclear which kernel is meant, or the launch breaks a rule.
        CompileError: it does not compile; the compiler's log says why, and what NVRTC cannot take.
        MissingExtraError: NVRTC is not installed.
    """
    path = _as_path(path)
    return kernel_of_text(read_text(path), path.name, asked, arch)


def kernel_of_text(text: str, file: str, asked: Mapping[str, object], arch: str = DEFAULT_ARCH) -> Kernel:
    """Return the kernel in the text of a .cu file.

    Args:
        text: CUDA C++.
        file: name to show in messages.
        asked: as for `read_kernel`.
        arch: architecture to compile for.

    Raises: as `read_kernel`.
    """
    parts = take_apart(text)
    recipe = replace(Recipe.of_comments(parts.comments, file), **_texts(asked))
    trees = {option: _split(option, getattr(recipe, option)) for option in _FORMS if _given(recipe, option, file)}
    language = _language(file, text, parts)
    if recipe.element_bytes not in map(str, WORDS):
        raise UsageError(f"element_bytes must be 1, 2, 4, 8 or 16: got {recipe.element_bytes!r}")
    entry = recipe.entry or _only_kernel(_compiled(language(file, text, ()), parts, arch), parts, file)
    source = language(file, text, (entry,))
    rule = LaunchRule(**trees, parameters=_parameters(_compiled(source, parts, arch).image(entry)))
    rule.launch(32, 32)  # so that a recipe breaks its rule before any work
    return Kernel(
        name=entry,
        family="user",
        source=source,
        entry=entry,
        element_bytes=int(recipe.element_bytes),
        launch=rule.launch,
        refuses=accepts_all,
        lesson="",
    )


def _texts(asked: Mapping[str, object]) -> dict[str, str]:
    """What was asked, as the options of a command have it: ``(32, 8)`` is ``32,8``.

    Raises:
        UsageError: there is no such option, or no option is written so.
    """
    known = [field.name for field in fields(Recipe)]
    texts: dict[str, str] = {}
    for option, value in asked.items():
        if option not in known:
            raise UsageError(f"unknown option {option!r}: the launch has {', '.join(known)}")
        parts = value if isinstance(value, tuple | list) else (value,)
        if not all(isinstance(part, str | int) and not isinstance(part, bool) for part in parts):
            raise UsageError(f"{option} must be text, a number, or several of them such as (32, 8): got {value!r}")
        texts[option] = ",".join(map(str, parts))
    return texts


def _split(option: str, text: str) -> list[ast.expr]:
    with _about(option):
        return split(text)


@contextmanager
def _about(option: str) -> Iterator[None]:
    """Let an error in an expression say whose it is, and what is taken there."""
    try:
        yield
    except UsageError as error:
        raise UsageError(f"{option}: {error}; {option} is {_FORMS[option]}") from error


def _as_path(path: object) -> Path:
    """Refuse what no file is named by, with the rule."""
    try:
        return Path(path)  # type: ignore[arg-type]
    except TypeError as error:
        raise UsageError(f"path must name a .cu file, as a string or a pathlib.Path: got {path!r}") from error


def _given(recipe: Recipe, option: str, file: str) -> bool:
    if getattr(recipe, option):
        return True
    raise UsageError(
        f"{file}: the launch is not known: give --{option}, or write a comment into the file: "
        "// cornerturn: block=32,8 grid=ceil(cols/32),ceil(rows/32) args=x,y,rows,cols"
    )


def _only_kernel(module: Module, parts: CudaParts, file: str) -> str:
    """The name of the one kernel that the compiler made of a source; the source itself serves for advice only."""
    demangled = [demangle(symbol) for symbol in kernel_names(module.ptx)]
    names = sorted({name.text for name in demangled if not name.template})
    if len(names) == 1:
        return names[0]
    candidates = kernels_in(parts.code)
    templates = [each for each in candidates if each.instance]
    if not names and len(templates) == 1:
        (one,) = templates
        raise UsageError(f"{one.name} is a template: give its arguments, as --entry '{one.instance}'")
    listed = names or [each.instance for each in templates]
    if not listed:
        raise UsageError(f"{file} has no __global__ function")
    raise UsageError(f"{file} has {len(listed)} kernels, {', '.join(listed)}: choose one with --entry")


def _language(file: str, text: str, parts: CudaParts) -> type[CudaSource]:
    """How the file is compiled: with nvcc if it holds host code and nvcc is there, else with NVRTC."""
    serves = parts.host_code and unavailable_reason(CudaProgram(file, text, ())) is None
    return CudaProgram if serves else CudaSource


def _compiled(source: CudaSource, parts: CudaParts, arch: str) -> Module:
    """The compiled source; where NVRTC fails on host code, the error says so."""
    try:
        return compile_source(source, arch)
    except CompileError as error:
        if parts.host_code is None or isinstance(source, CudaProgram):
            raise
        raise CompileError(
            f"{error}\n\nNVRTC compiles device code only: no host functions, no launches, no system headers; "
            f"this file has {parts.host_code!r}.\n"
            f"{unavailable_reason(CudaProgram(source.file, source.text, source.entries))}"
        ) from error


def _parameters(image: Image) -> tuple[str, ...]:
    """The PTX types of the kernel's parameters, and ``structure`` where one is an array of bytes."""
    declared = parameters(image.ptx, image.symbol)
    return tuple("structure" if parameter.array else parameter.type for parameter in declared)


@dataclass(frozen=True)
class LaunchRule:
    """A recipe's expressions, and the PTX types of the kernel's parameters."""

    block: list[ast.expr]
    grid: list[ast.expr]
    args: list[ast.expr]
    shared: list[ast.expr]
    parameters: tuple[str, ...]

    def launch(self, rows: int, cols: int) -> Launch:
        """The launch for an x of rows x cols.

        Raises:
            UsageError: an expression does not give what its place needs.
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
        with _about(option):
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
                f"the kernel takes {counted(len(self.parameters), 'argument')} and {len(self.args)} "
                f"{'is' if len(self.args) == 1 else 'are'} given: name each, as args=x,y,rows,cols"
            )
        arguments: list[Argument] = []
        for number, (tree, kind) in enumerate(zip(self.args, self.parameters, strict=True), 1):
            name = ast.unparse(tree)
            if kind == "structure":
                raise UsageError(f"argument {number} is a structure: only pointers and numbers can be passed")
            if name in ("x", "y") and kind.endswith("64"):
                arguments.append(name)
            elif name in ("x", "y"):
                raise UsageError(f"argument {number} is {name}, a pointer, but the parameter there is a .{kind}")
            elif kind in _FLOATS:
                arguments.append(_float(tree, names, kind, number))
            else:
                arguments.append(_integer(tree, names, kind, number))
        return tuple(arguments)


def _float(tree: ast.expr, names: Mapping[str, int], kind: str, number: int) -> Argument:
    with np.errstate(over="ignore"), _about("args"):
        try:
            value = _FLOATS[kind](float(evaluate(tree, names)))
        except OverflowError:
            value = _FLOATS[kind](np.inf)
    if not np.isfinite(value):
        most = np.finfo(_FLOATS[kind]).max
        raise UsageError(f"argument {number} is {ast.unparse(tree)}: a .{kind} holds at most {most:.3g}")
    return value


def _integer(tree: ast.expr, names: Mapping[str, int], kind: str, number: int) -> Argument:
    """PTX does not tell a signed parameter from an unsigned one: the range is that of both."""
    bits = int(kind[1:])
    with _about("args"):
        value = whole(tree, names)
    if not -(2 ** (bits - 1)) <= value < 2**bits:
        raise UsageError(f"argument {number} is {ast.unparse(tree)} = {value}, which does not fit in {bits} bits")
    return _UNSIGNED[bits](value % 2**bits)
