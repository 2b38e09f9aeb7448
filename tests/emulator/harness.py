"""Small launches for the emulator's tests: one PTX instruction, a PTX kernel, a CUDA C++ kernel."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from cornerturn.emulator import Emulation, Memory, emulate
from cornerturn.kernels.kernel import CudaSource
from cornerturn.ptx import TYPE_BYTES
from cornerturn.toolchain import Image, compile_source

from .tables.notation import Case

WARP = 32
BYTES = TYPE_BYTES | {"pred": 4}  # a predicate travels as a word
HEADER = ".version 8.5\n.target sm_90\n.address_size 64\n"

SOURCES = "abcef"

Extent = int | tuple[int, ...]
Array = np.ndarray[Any, Any]
Launcher = Callable[[str, Array, list[Array]], None]
"""Runs one warp of the kernel ``kernel`` of PTX text on an output, which it fills, and inputs."""


def ints(size: int) -> "np.ndarray[tuple[int], np.dtype[np.int32]]":
    """0, 1, 2, ..."""
    return np.arange(size, dtype=np.int32)


def kernel(parameters: str, body: str) -> str:
    """The text of a kernel named ``kernel`` whose ``i`` is the thread's number."""
    return f'extern "C" __global__ void kernel({parameters}) {{\n    const int i = threadIdx.x;\n    {body}\n}}'


def launch_ptx(
    ptx: str, entry: str, *arguments: Any, grid: Extent = 1, block: Extent = WARP, shared_bytes: int = 0
) -> Emulation:
    """Run a kernel; arrays among the arguments are bound and changed in place, all else passes as it is."""
    memory = Memory()
    bound = [
        memory.bind(value, f"argument{n}") if isinstance(value, np.ndarray) and value.ndim else value
        for n, value in enumerate(arguments)
    ]
    return emulate(
        ptx,
        entry,
        memory,
        grid=_extent(grid),
        block=_extent(block),
        arguments=bound,
        shared_bytes=shared_bytes,
    )


def _extent(size: Extent) -> tuple[int, int, int]:
    axes = (size,) if isinstance(size, int) else size
    return (*axes, 1, 1)[:3]  # type: ignore[return-value]


def image_of(text: str, entry: str = "kernel") -> Image:
    """Compile CUDA C++; ``entry`` is the kernel in it."""
    return compile_source(CudaSource("kernel.cu", text, (entry,))).image(entry)


def launch_cuda(text: str, *arguments: Any, entry: str = "kernel", **launch: Any) -> Emulation:
    """Compile CUDA C++ and run the kernel ``entry``."""
    image = image_of(text, entry)
    return launch_ptx(image.ptx, image.symbol, *arguments, **launch)


def instruction_kernel(signature: str, lines: str) -> str:
    """A module with `instruction_entry` as its kernel ``kernel``."""
    return HEADER + instruction_entry("kernel", signature, lines)


def instruction_entry(name: str, signature: str, lines: str) -> str:
    """A kernel whose lane t loads element t of each source, runs the lines and stores ``%d``."""
    result, kinds = _kinds(signature)
    declared = [
        f".reg .{result} %d;",
        *(f".reg .{kind} %{source};" for source, kind in zip(SOURCES, kinds, strict=False)),
    ]
    loads = [_load(source, kind) for source, kind in zip(SOURCES, kinds, strict=False)]
    parameters = ", ".join(f".param .u64 p{name}" for name in ["d", *SOURCES[: len(kinds)]])
    value, store = ("%word", "u32") if result == "pred" else ("%d", f"b{8 * BYTES[result]}")
    return f"""
.visible .entry {name}({parameters}) {{
    {" ".join(declared)}
    .reg .u32 %lane, %word; .reg .u64 %at;
    mov.u32 %lane, %tid.x;
    {" ".join(loads)}
    {lines}
    {"selp.u32 %word, 1, 0, %d;" if result == "pred" else ""}
    {_address("d", BYTES[result])}
    st.global.{store} [%at], {value};
    ret;
}}
"""


def _kinds(signature: str) -> tuple[str, list[str]]:
    """The register types of ``%d`` and of the sources: ``u64 = u32, u32``."""
    result, sources = signature.split(" = ")
    return result, [kind for kind in sources.split(", ") if kind]


def _address(name: str, size: int) -> str:
    return f"ld.param.u64 %at, [p{name}]; mad.wide.u32 %at, %lane, {size}, %at;"


def _load(name: str, kind: str) -> str:
    if kind == "pred":
        return f"{_address(name, 4)} ld.global.u32 %word, [%at]; setp.ne.u32 %{name}, %word, 0;"
    return f"{_address(name, BYTES[kind])} ld.global.b{8 * BYTES[kind]} %{name}, [%at];"


def on_emulator(ptx: str, output: Array, inputs: list[Array]) -> None:
    """Run one warp of ``kernel``."""
    assert launch_ptx(ptx, "kernel", output, *inputs).hazards == ()


def run_instruction(
    signature: str, lines: str, rows: Sequence[tuple[int, ...]], launch: Launcher = on_emulator
) -> list[int]:
    """Bits of ``%d`` for each row of source bits (``%a, %b, %c, %e, %f``); at most one warp of rows.

    ``signature`` gives the register types, as ``u64 = u32, u32``.
    """
    result, kinds = _kinds(signature)
    padded = [*rows, *[rows[0]] * (WARP - len(rows))]
    output = np.zeros(WARP, dtype=f"u{BYTES[result]}")
    inputs = [
        np.array([row[n] % 2 ** (8 * BYTES[kind]) for row in padded], dtype=f"u{BYTES[kind]}")
        for n, kind in enumerate(kinds)
    ]
    launch(instruction_kernel(signature, lines), output, inputs)
    return [int(bits) for bits in output[: len(rows)]]


def disagreements(case: Case, launch: Launcher = on_emulator) -> list[str]:
    """What was found where the table says something else: instruction, sources, both results."""
    lines = []
    for start in range(0, len(case.rows), WARP):
        rows = case.rows[start : start + WARP]
        found = run_instruction(case.signature, case.lines, [sources for sources, _ in rows], launch)
        for lane, ((sources, said), bits) in enumerate(zip(rows, found, strict=True)):
            if bits != said:
                given = ", ".join(f"%{name} = {bits:#x}" for name, bits in zip(SOURCES, sources, strict=False))
                lines.append(
                    f"{case.lines} ({case.signature}; {given}; lane {lane}): the table says {said:#x}, found {bits:#x}"
                )
    return lines
