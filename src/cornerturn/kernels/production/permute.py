"""``permute``: any permutation of any axes at any strides, by the box that a plan chose.

The box is written above the device code as C++ constants, so that one kernel is compiled per inner structure of a move.
Extents, strides and counts of the array are arguments.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from cornerturn.kernels.kernel import ELEMENT_SIZES, CudaSource, CudaText, Kernel, Launch
from cornerturn.kernels.production.axes import UNIT, division, ends_in
from cornerturn.kernels.production.box import Box, Phase
from cornerturn.kernels.production.device_code import Production
from cornerturn.kernels.production.entry import axes_of, kernel
from cornerturn.kernels.source import read_source

CATALOGUE_BYTES = 64
"""Bytes of a run of x and of a run of y in the catalogue's boxes."""

_TEXT = read_source("production/permute.cu")

_BLOCK_AXIS = np.dtype(
    {
        "names": ("blocks", "magic", "shift", "unused", "x_step", "y_step", "extent"),
        "formats": ("u4", "u4", "u4", "u4", "i8", "i8", "i8"),
    }
)


def permute(box: Box) -> Production:
    """Return the kernel that is specialised on a box, and its launch."""
    source = CudaSource("permute.cu", _TEXT, ("permute",), (CudaText("permute_box.cu", constants(box)),))
    launch = Launch((box.blocks, 1, 1), (box.threads, 1, 1), ("x", "y", arguments(box)), box.shared_bytes)
    return Production(source, launch)


def relaunched(production: Production, box: Box) -> Production:
    """Return the kernel of one box for another, whose `constants` are the same: of an array of other extents."""
    launch = replace(production.launch, grid=(box.blocks, 1, 1), arguments=("x", "y", arguments(box)))
    return Production(production.source, launch)


def arguments(box: Box) -> np.generic:
    """Return the structure ``Arguments`` of ``permute.cu``."""
    count = len(box.boxed)
    packed: Any = np.zeros(
        (),
        np.dtype(
            [
                ("x_stride", "i8", count),
                ("y_stride", "i8", count),
                ("x_first", "i8"),
                ("x_end", "i8"),
                ("axis", _BLOCK_AXIS, len(box.numbered) + 1),
            ]
        ),
    )
    packed["x_stride"] = [box.axes[a][1] for a in box.boxed]
    packed["y_stride"] = [box.axes[a][2] for a in box.boxed]
    for name, value in ends_in(box.element, box.axes).items():
        packed[name] = value
    for place, a in enumerate(box.numbered):
        (extent, x_stride, y_stride), chunk = box.axes[a], box.chunks[a]
        blocks = -(-extent // chunk)
        packed["axis"][place] = (blocks, *division(blocks), 0, chunk * x_stride, chunk * y_stride, extent)
    return packed[()]  # type: ignore[no-any-return]


def constants(box: Box) -> str:
    """Return the structure ``Box`` of ``permute.cu``: everything that the compiler shall know."""
    lines = (
        "template <int... V> struct List {",
        "    static constexpr int SIZE = sizeof...(V);",
        "    __device__ static constexpr int at(int i) { constexpr int v[] = {V..., 0}; return v[i]; }",
        "};",
        "struct Box {",
        _integers(ELEMENT=box.element, AXES=len(box.boxed), THREADS=box.threads),
        _integers(SHARED_UNIT=box.shared_unit, SKEW=box.skew),
        _integers(PACK=box.pack, PACKED=box.packed),
        _flags(DIRECT=box.direct, KEPT=box.kept, READ_RUNS=box.reads_runs, WRITE_RUNS=box.writes_runs),
        _lists(Chunk=box.extents, Hop=box.hops, Edge=box.edges, Pitch=box.pitches),
        _lists(Numbered=[box.boxed.index(a) if a in box.boxed else -1 for a in box.numbered]),
        _lists(XRun=_strides(box, box.x_run, box.x_step), YRun=_strides(box, box.y_run, box.element)),
        _phase("Read", box.read, len(box.boxed), _integers(BATCH=box.batch, SPAN=1)),
        _phase("Write", box.write, len(box.boxed), _integers(SPAN=box.span) + _flags(STRAIGHT=box.straight)),
        _run("ReadRun", box, box.x_run, box.x_step),
        _run("WriteRun", box, box.y_run, box.element),
        "};",
    )
    return "\n".join(lines) + "\n"


def _integers(**values: int) -> str:
    return f"    static constexpr int {', '.join(f'{name} = {value}' for name, value in values.items())};"


def _flags(**values: bool) -> str:
    return f"    static constexpr bool {', '.join(f'{name} = {str(value).lower()}' for name, value in values.items())};"


def _lists(**values: Sequence[int]) -> str:
    return "    " + " ".join(f"using {name} = List<{', '.join(map(str, map(int, v)))}>;" for name, v in values.items())


def _strides(box: Box, run: Sequence[int], step: int) -> list[int]:
    """Return the bytes from one element to the next along each axis of a run; 0 along others, whose strides vary."""
    strides = [0] * len(box.boxed)
    for b in run:
        strides[b], step = step, step * box.extents[b]
    return strides


def _phase(name: str, phase: Phase, axes: int, more: str) -> str:
    columns = {
        f"{kind}{column}": [digit[place] for digit in digits]
        for kind, digits in (("Thread", phase.thread), ("Step", phase.step))
        for place, column in enumerate(("Axis", "Extent", "Stride"))
    }
    numbers = _integers(UNIT=phase.unit, THREADS=phase.threads, STEPS=phase.steps)
    numbers += _flags(WINDOWS=phase.windows)
    lists = _lists(**columns, Beyond=[axis in phase.beyond for axis in range(axes)])
    return f"    struct {name} {{\n    {numbers}\n    {lists}\n    {more}\n    }};"


def _run(name: str, box: Box, run: Sequence[int], step: int) -> str:
    length, own = (math.prod(extents[b] for b in run) for extents in (box.extents, box.hops))
    numbers = _integers(LENGTH=length, OWN=own, STEP=step, LAST=run[-1] if run else 0)
    return f"    struct {name} {{\n    {numbers}\n    }};"


def _side(element: int) -> int:
    return max(CATALOGUE_BYTES // element, 16)


def _lay(element: int, rows: int, cols: int) -> Production:
    side = _side(element)
    return permute(Box(element, axes_of(element, rows, cols), (side, side), skew=max(element, 4), kept=True))


def _lesson(element: int) -> str:
    at_once = f"{UNIT // element} elements" if element < UNIT else "an element"
    side = _side(element)
    return (
        f"moves any axes at any strides by boxes whose shape is compiled in, here of {side} x {side}: a thread gathers "
        f"{at_once} of y from shared memory, so that both global ends are contiguous 16-byte accesses."
    )


def _entry(element: int) -> Kernel:
    side = _side(element)

    def whole_boxes(rows: int, cols: int) -> str | None:
        if rows % side == cols % side == 0 and min(rows, cols) > side:
            return None
        return f"rows and cols must be multiples of {side} above it, as the box is compiled in: got {rows} x {cols}"

    return kernel("permute", element, _lay, (whole_boxes,), _lesson(element), (2 * side, 2 * side))


KERNELS: tuple[Kernel, ...] = tuple(map(_entry, ELEMENT_SIZES))
