"""The part of a source file that is one kernel, and which of its lines an access belongs to."""

import ast
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import PurePath

from cornerturn.emulator import Access
from cornerturn.kernels.kernel import CudaSource, Source
from cornerturn.ptx import Instruction


@dataclass(frozen=True)
class KernelText:
    """The lines of one kernel.

    Attributes:
        file: name of the source.
        first: number of the first line, from 1.
        lines: the lines themselves.
    """

    file: str
    first: int
    lines: tuple[str, ...] = field(repr=False)

    def line_of(self, access: Access | Instruction) -> int:
        """The kernel's own line that ``access`` comes from: its innermost location inside the kernel.

        The kernel's first line, where the compiler has lost from where a function was called.
        """
        places = [place.rpartition(":") for place in (access.location, *access.inlined_at)]
        numbers = [int(number) for file, _, number in places if PurePath(file).name == PurePath(self.file).name]
        inside = range(self.first, self.first + len(self.lines))
        return next((number for number in numbers if number in inside), self.first)


def kernel_text(source: Source, accesses: tuple[Access, ...]) -> KernelText:
    """Find the kernel that made ``accesses`` in its source: the function around the outermost location of the first.

    Without accesses it is the whole source.
    """
    lines = source.text.splitlines()
    if not accesses:
        return KernelText(source.file, 1, tuple(lines))
    access = accesses[0]
    number = int((access.inlined_at or (access.location,))[-1].rpartition(":")[2])
    first, last = (_cuda_function if isinstance(source, CudaSource) else _python_function)(source.text, number)
    return KernelText(source.file, first, tuple(lines[first - 1 : last]))


@lru_cache
def _cuda_function(text: str, number: int) -> tuple[int, int]:
    """First and last line of the ``__global__`` function around a line, its template header included."""
    lines = text.splitlines()
    first = next(n for n in range(number, 0, -1) if "__global__" in lines[n - 1])
    depth, last = 0, first
    for last in range(first, len(lines) + 1):
        code = lines[last - 1].partition("//")[0]
        depth += code.count("{") - code.count("}")
        if depth == 0 and "}" in code:
            break
    while lines[first - 2].startswith("template"):
        first -= 1
    return first, last


@lru_cache
def _python_function(text: str, number: int) -> tuple[int, int]:
    """First and last line of the function around a line, its decorators included."""
    functions = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    function = next(node for node in functions if node.lineno <= number <= (node.end_lineno or node.lineno))
    decorators = [decorator.lineno for decorator in function.decorator_list]
    return min([function.lineno, *decorators]), function.end_lineno or function.lineno


def instance(source: Source, entry: str) -> str:
    """Which kernel of its function ``entry`` is: ``tiled<32>``, or the line in which a CuTe source makes it."""
    if isinstance(source, CudaSource):
        return entry
    return next(line.strip() for line in source.text.splitlines() if f'"{entry}"' in line)
