"""The nouns of the catalogue: where a kernel comes from, what it accepts and how it is launched."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

Extent = tuple[int, int, int]
Argument = str | np.generic
"""A launch argument: ``"x"`` or ``"y"``, the matrices, or a NumPy scalar of the parameter's exact type."""

INT32_MAX = 2**31 - 1


@dataclass(frozen=True)
class CudaSource:
    """One CUDA C++ file and the kernels to compile from it.

    Attributes:
        file: name shown in messages and line tables, for example ``handwritten.cu``.
        text: the source itself.
        entries: C++ name expressions of the kernels, for example ``naive`` or ``tiled<32>``.
    """

    file: str
    text: str
    entries: tuple[str, ...]


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
    text: str
    entries: tuple[str, ...]


Source = CudaSource | CuteSource


@dataclass(frozen=True)
class Launch:
    """How a kernel is started.

    Attributes:
        grid: blocks along x, y, z.
        block: threads along x, y, z.
        arguments: in the order of the kernel's parameters.
        shared_bytes: dynamic shared memory, bytes a block.
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
        family: ``handwritten``, ``textbook``, ``cute``, ``controls``, ...
        source: what the kernel is compiled from.
        entry: which of ``source.entries`` it is.
        element_bytes: size of one matrix element.
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
