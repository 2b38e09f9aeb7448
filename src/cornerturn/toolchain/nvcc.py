"""CUDA C++ files with host code and launches to PTX and machine code, with nvcc.

Facts used: NVIDIA CUDA Compiler Driver (https://docs.nvidia.com/cuda/cuda-compiler-driver-nvcc), options.
"""

import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from cornerturn.errors import CompileError, MissingExtraError, UsageError
from cornerturn.kernels.kernel import CudaProgram
from cornerturn.ptx import rename_files
from cornerturn.toolchain.module import Module
from cornerturn.toolchain.nvrtc import no_kernel

NVCC_OPTIONS = ("-std=c++17", "-lineinfo")
"""Options of every compilation, besides the architecture."""


def nvcc_version() -> str:
    """Name and version of the compiler in use, for example ``nvcc 13.0``.

    Raises:
        MissingExtraError: nvcc is not on PATH, or cannot be run.
    """
    said = _run(Path.cwd(), "--version").stdout
    release = re.search(r"release ([\d.]+)", said)
    return f"nvcc {release[1] if release else 'of unknown version'}"


def compile_with_nvcc(source: CudaProgram, arch: str) -> Module:
    """Compile every entry of ``source`` for ``arch``, for example ``sm_90``.

    The file is compiled alone in a temporary folder, so headers that it includes by a relative name are not found.

    Raises:
        CompileError: the source has an error, or an entry is not one of its kernels; the message holds nvcc's log.
        UsageError: ``arch`` is not an architecture.
        MissingExtraError: nvcc is not on PATH, or cannot be run.
    """
    if not re.fullmatch(r"sm_\d+[af]?", arch):
        raise UsageError(f"unknown architecture {arch!r}: write it as sm_90")
    # A variable that holds a kernel's address shows its symbol in the PTX, and instantiates a template.
    pointers = "".join(f"\n__device__ auto cornerturn_entry_{n} = &{entry};" for n, entry in enumerate(source.entries))
    name = Path(source.file).name
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        (folder / name).write_text(source.text + pointers + "\n", encoding="utf-8")
        _compile(folder, source, "-ptx", f"-arch={arch}", *NVCC_OPTIONS, "-o", "kernel.ptx", name)
        ptx = (folder / "kernel.ptx").read_text(encoding="utf-8")
        ptx = rename_files(ptx, lambda path: name if path.endswith(f"/{name}") else path)
        (folder / "kernel.ptx").write_text(ptx, encoding="utf-8")
        _compile(folder, source, "-cubin", f"-arch={arch}", "-lineinfo", "-o", "kernel.cubin", "kernel.ptx")
        cubin = (folder / "kernel.cubin").read_bytes()
    symbols = dict(re.findall(r"cornerturn_entry_(\d+) = ([\w$]+);", ptx))
    return Module(ptx, cubin, {entry: symbols[str(n)] for n, entry in enumerate(source.entries)}, arch, nvcc_version())


def _compile(folder: Path, source: CudaProgram, *arguments: str) -> None:
    done = _run(folder, *arguments)
    if done.returncode == 0:
        return
    last = source.text.count("\n") + 1
    said = (done.stderr + done.stdout).splitlines()
    complaints = [line for line in said if "detected in the compilation" not in line]
    log = "\n".join(complaints).strip()
    of_entry = [int(line) for line in re.findall(r"\((\d+)\): error", log) if int(line) > last]
    if of_entry:
        raise CompileError(no_kernel(source.file, source.entries[of_entry[0] - last - 1], log))
    raise CompileError(log)


def _nvcc() -> str:
    program = shutil.which("nvcc")
    if program is None:
        raise MissingExtraError(
            "a file with host code is compiled with nvcc, which is not on PATH; install the CUDA Toolkit, or put the "
            "kernel into a file of its own, which NVRTC compiles"
        )
    return program


def _run(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    program = _nvcc()
    try:
        return subprocess.run(
            [program, *arguments], cwd=folder, capture_output=True, text=True, errors="replace", check=False
        )
    except OSError as error:
        raise MissingExtraError(f"{program} cannot be run: {error.strerror}: install the CUDA Toolkit anew") from error
