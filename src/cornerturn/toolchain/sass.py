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
from cornerturn.toolchain.image import Image

Space = Literal["global", "shared", "generic"]
Kind = Literal["load", "store"]


@dataclass(frozen=True, order=True)
class MemoryInstruction:
    """One load or store as it stands in the code, without its operands; an asynchronous copy is two of them.

    Attributes:
        space: where it reads or writes; generic where only the address decides.
        kind: load or store.
        width: bytes a lane.
    """

    space: Space
    kind: Kind
    width: int


def ptx_memory_instructions(image: Image) -> list[MemoryInstruction]:
    """The loads and stores of global and shared memory in the PTX of ``image``'s kernel, in code order."""
    return [
        access
        for opcode, operands in re.findall(_PTX_INSTRUCTION, _ptx_body(image.ptx, image.symbol))
        for access in _of_ptx(opcode.split("."), operands)
    ]


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
        raise CompileError(f"the machine code has no kernel {image.symbol}")
    return re.findall(_SASS_OPCODE, section[1])


def find_nvdisasm() -> str | None:
    """Path of nvdisasm: from the wheel nvidia-cuda-nvdisasm, else from PATH; None when there is none."""
    wheels = find_spec("nvidia")
    for folder in wheels.submodule_search_locations or () if wheels else ():
        for program in sorted(Path(folder).glob("*/bin/nvdisasm*")):
            return str(program)
    return shutil.which("nvdisasm")


_PTX_INSTRUCTION = r"\b((?:ld|st|cp\.async)(?:\.[\w:]+)+)\s+([^;]*);"
_PTX_SPACES: dict[str, Space] = {"global": "global", "shared": "shared", "shared::cta": "shared"}
_PTX_OTHER_SPACES = {"param", "param::entry", "param::func", "local", "const"}

# The assembler pads asynchronous copies with loads under @!PT, the predicate that never holds: no accesses.
_SASS_OPCODE = r"/\*[0-9a-f]{4,}\*/\s+(?!@!PT)(?:@!?U?P\w+\s+)?([A-Z][\w.]*)"
_SASS_ACCESSES: dict[str, tuple[tuple[Space, Kind], ...]] = {
    "LDG": (("global", "load"),),
    "STG": (("global", "store"),),
    "LDS": (("shared", "load"),),
    "STS": (("shared", "store"),),
    "LD": (("generic", "load"),),
    "ST": (("generic", "store"),),
    "LDGSTS": (("global", "load"), ("shared", "store")),
}
_SASS_WIDTHS = {"U8": 1, "S8": 1, "U16": 2, "S16": 2, "64": 8, "128": 16, "256": 32}


def _ptx_body(ptx: str, symbol: str) -> str:
    entry = re.search(rf"\.entry\s+{re.escape(symbol)}\s*\(", ptx)
    if entry is None:
        raise CompileError(f"the PTX has no kernel {symbol}")
    start = ptx.index("{", entry.end())
    depth = 0
    for brace in re.finditer("[{}]", ptx[start:]):
        depth += 1 if brace[0] == "{" else -1
        if depth == 0:
            return ptx[start : start + brace.end()]
    raise CompileError(f"the PTX of kernel {symbol} is cut short")


def _of_ptx(modifiers: list[str], operands: str) -> Iterator[MemoryInstruction]:
    if modifiers[:2] == ["cp", "async"]:
        if "global" in modifiers:
            width = int(operands.split(",")[2])
            yield MemoryInstruction("global", "load", width)
            yield MemoryInstruction("shared", "store", width)
        return
    if _PTX_OTHER_SPACES.intersection(modifiers):
        return
    spaces = [_PTX_SPACES[modifier] for modifier in modifiers if modifier in _PTX_SPACES]
    elements = next((int(modifier[1:]) for modifier in modifiers if re.fullmatch(r"v\d", modifier)), 1)
    width = elements * int(modifiers[-1].lstrip("bfsu")) // 8
    kind: Kind = "load" if modifiers[0] == "ld" else "store"
    yield MemoryInstruction(spaces[0] if spaces else "generic", kind, width)


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
