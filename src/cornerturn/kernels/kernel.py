"""The nouns of the catalogue: where a kernel comes from, what it accepts and how it is launched."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from cornerturn.wording import counted

Extent = tuple[int, int, int]
Argument = str | np.generic
"""A launch argument: ``"x"`` or ``"y"``, the matrices, or a NumPy scalar of the parameter's exact type, be it a
structure."""

INT32_MAX = 2**31 - 1
ELEMENT_SIZES = (1, 2, 4, 8, 16)
"""Bytes that an element can have."""


@dataclass(frozen=True)
class CudaText:
    """A CUDA C++ file that a source is compiled after.

    Attributes:
        file: name shown in messages and line tables.
        text: what it holds.
    """

    file: str
    text: str = field(repr=False)


@dataclass(frozen=True)
class CudaSource:
    """One CUDA C++ file and the kernels to compile from it.

    Attributes:
        file: name shown in messages and line tables, for example ``handwritten.cu``.
        text: the source itself.
        entries: C++ name expressions of the kernels, for example ``naive`` or ``tiled<32>``.
        preceding: what the source needs before it, in order; it includes nothing itself.
    """

    file: str
    text: str = field(repr=False)
    entries: tuple[str, ...]
    preceding: tuple[CudaText, ...] = ()

    def joined(self, named: Callable[[str], str] = str) -> str:
        """Return the text to compile: all files, each under its name in the line table, or what ``named`` makes of it.

        Example:
            >>> print(CudaSource("b.cu", "int b = a;", (), (CudaText("a.cu", "int a;"),)).joined())
            #line 1 "a.cu"
            int a;
            #line 1 "b.cu"
            int b = a;
        """
        if not self.preceding:
            return self.text
        files = (*self.preceding, CudaText(self.file, self.text))
        return "\n".join(f'#line 1 "{named(each.file)}"\n{each.text}' for each in files)


@dataclass(frozen=True)
class CudaProgram(CudaSource):
    """One CUDA C++ file that holds host code or includes headers: it takes nvcc."""


@dataclass(frozen=True)
class CuteSource:
    """One file in the CuTe Python DSL and the kernels to compile from it.

    Its function ``kernels(x, y, rows, cols)`` launches each of them once, under the entry's name.

    Attributes:
        file: name shown in messages and line tables, for example ``cute.py``.
        text: the source itself.
        entries: names of the kernels.
    """

    file: str
    text: str = field(repr=False)
    entries: tuple[str, ...]


Source = CudaSource | CuteSource


@dataclass(frozen=True)
class Launch:
    """How a kernel is started.

    Attributes:
        grid: blocks along x, y, z.
        block: threads along x, y, z.
        arguments: in the order of the kernel's parameters.
        shared_bytes: dynamic shared memory, bytes per block.
    """

    grid: Extent
    block: Extent
    arguments: tuple[Argument, ...]
    shared_bytes: int = 0


@dataclass(frozen=True)
class Kernel:
    """One entry of the catalogue.

    Attributes:
        name: unique in the catalogue.
        family: ``handwritten``, ``textbook``, ``cute``, ``controls``, ``production``, ...
        source: what the kernel is compiled from.
        entry: which of ``source.entries`` it is.
        element_bytes: size of one matrix element, one of ELEMENT_SIZES.
        launch: ``launch(rows, cols)``, the launch for an x of rows x cols.
        refuses: ``refuses(rows, cols)``, the rule that the shape breaks, or None when the kernel accepts it.
        lesson: one sentence: what changed against the kernel's predecessor and what that does to the counts.
    """

    name: str
    family: str
    source: Source
    entry: str
    element_bytes: int
    launch: Callable[[int, int], Launch]
    refuses: Callable[[int, int], str | None]
    lesson: str

    def __repr__(self) -> str:
        return f"<Kernel {self.name}: {self.family}, elements of {counted(self.element_bytes, 'byte')}>"


@dataclass(frozen=True)
class View:
    """An entry of the catalogue that moves nothing: ``x.T``, which only exchanges the strides.

    There is nothing to compile, launch, count or time; it is reported as not materialised.

    Attributes:
        name: unique in the catalogue.
        family: as for kernels.
        lesson: one sentence.
    """

    name: str
    family: str
    lesson: str
