"""The memory instructions of a kernel, as its PTX says and as its machine code (SASS) says.

Accesses are counted in PTX. That is exact only where the assembler kept them, so the two lists are compared.
Facts used: PTX ISA (https://docs.nvidia.com/cuda/parallel-thread-execution), data movement instructions;
CUDA Binary Utilities (https://docs.nvidia.com/cuda/cuda-binary-utilities), instruction sets and nvdisasm.
"""

import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from cornerturn.errors import CompileError, MissingExtraError
from cornerturn.ptx import TYPE_BYTES, Immediate, Instruction, demangle, elements, parse
from cornerturn.toolchain.image import Image

MemorySpace = Literal["global", "shared", "generic"]
Direction = Literal["load", "store"]


@dataclass(frozen=True, order=True)
class MemoryInstruction:
    """One load or store of the code, without its operands; an asynchronous copy is two of them.

    Attributes:
        space: where it reads or writes; generic where only the address decides.
        kind: load or store.
        width: bytes per lane.
    """

    space: MemorySpace
    kind: Direction
    width: int


def ptx_memory_instructions(image: Image) -> list[MemoryInstruction]:
    """The loads and stores of global and shared memory in the PTX of ``image``'s kernel, in code order.

    Raises:
        PtxError: the PTX has no such kernel, or cannot be read.
    """
    return [access for instruction in parse(image.ptx, image.symbol).instructions for access in _of_ptx(instruction)]


def sass_memory_instructions(image: Image) -> list[MemoryInstruction]:
    """The loads and stores of global and shared memory in the SASS of ``image``'s kernel, in code order.

    Raises:
        MissingExtraError: nvdisasm is not installed.
        CompileError: nvdisasm cannot be run, or cannot read the machine code.
    """
    return [access for opcode in _sass_opcodes(image) for access in _of_sass(opcode.split("."))]


def sass_length(image: Image) -> int:
    """How many instructions the SASS of ``image``'s kernel has, up to its last exit.

    Raises: as `sass_memory_instructions`.
    """
    opcodes = _sass_opcodes(image)
    return len(opcodes) - opcodes[::-1].index("EXIT")


def _sass_opcodes(image: Image) -> list[str]:
    code = _disassemble(image.cubin)
    section = re.search(rf"^\.text\.{re.escape(image.symbol)}:\n(.*?)(?=^//---|\Z)", code, re.DOTALL | re.MULTILINE)
    if section is None:
        raise CompileError(f"the machine code has no kernel {demangle(image.symbol).text}")
    return re.findall(_SASS_OPCODE, section[1])


def find_nvdisasm() -> str | None:
    """Path of nvdisasm: from the wheel nvidia-cuda-nvdisasm, else from PATH; None when there is none."""
    wheels = find_spec("nvidia")
    for folder in wheels.submodule_search_locations or () if wheels else ():
        for program in sorted(Path(folder).glob("*/bin/nvdisasm*")):
            return str(program)
    return shutil.which("nvdisasm")


_PTX_SPACES: dict[str | None, MemorySpace] = {"global": "global", "shared": "shared", None: "generic"}

# The assembler pads asynchronous copies with loads under @!PT, the predicate that never holds: no accesses.
_SASS_OPCODE = r"/\*[0-9a-f]{4,}\*/\s+(?!@!PT)(?:@!?U?P\w+\s+)?([A-Z][\w.]*)"
_SASS_ACCESSES: dict[str, tuple[tuple[MemorySpace, Direction], ...]] = {
    "LDG": (("global", "load"),),
    "STG": (("global", "store"),),
    "LDS": (("shared", "load"),),
    "STS": (("shared", "store"),),
    "LD": (("generic", "load"),),
    "ST": (("generic", "store"),),
    "LDGSTS": (("global", "load"), ("shared", "store")),
}
_SASS_WIDTHS = {"U8": 1, "S8": 1, "U16": 2, "S16": 2, "64": 8, "128": 16, "256": 32}


def _of_ptx(instruction: Instruction) -> Iterator[MemoryInstruction]:
    match instruction.opcode, instruction.operands:
        case "cp", (_, _, Immediate(width), *_):
            yield MemoryInstruction("global", "load", width)
            yield MemoryInstruction("shared", "store", width)
        case ("ld", (data, _, *_)) | ("st", (_, data, *_)) if instruction.space in _PTX_SPACES:
            width = len(elements(data)) * TYPE_BYTES[instruction.modifiers[-1]]
            kind: Direction = "load" if instruction.opcode == "ld" else "store"
            yield MemoryInstruction(_PTX_SPACES[instruction.space], kind, width)


def _of_sass(modifiers: list[str]) -> Iterator[MemoryInstruction]:
    width = next((_SASS_WIDTHS[modifier] for modifier in modifiers if modifier in _SASS_WIDTHS), 4)
    for space, kind in _SASS_ACCESSES.get(modifiers[0], ()):
        yield MemoryInstruction(space, kind, width)


@cache
def _disassemble(cubin: bytes) -> str:
    program = find_nvdisasm()
    if program is None:
        raise MissingExtraError(
            "machine code is read with nvdisasm, which is not installed; "
            "install it with: pip install nvidia-cuda-nvdisasm"
        )
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "kernel.cubin")
        file.write_bytes(cubin)
        try:
            run = subprocess.run([program, "-c", file], capture_output=True, text=True, errors="replace", check=False)
        except OSError as error:
            raise CompileError(
                f"{program} cannot be run: {error.strerror}: install nvidia-cuda-nvdisasm anew"
            ) from error
    if run.returncode:
        raise CompileError(f"nvdisasm cannot read the machine code: {run.stderr.strip()}")
    return run.stdout
