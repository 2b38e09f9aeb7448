"""CUDA C++ to PTX and machine code with NVRTC. No GPU, driver, toolkit or host compiler is needed.

A source is complete in itself: no folder is searched for headers, so the text alone decides the code.
Facts used: NVRTC documentation (https://docs.nvidia.com/cuda/nvrtc), sections on options and lowered names.
"""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from cornerturn.errors import CompileError, MissingExtraError, UsageError
from cornerturn.kernels.kernel import CudaSource
from cornerturn.ptx import rename_files, source_line
from cornerturn.toolchain.module import Module

OPTIONS = ("-std=c++17", "-lineinfo", "--no-source-include", "--disable-warnings")
"""Options of every compilation, besides the architecture."""


def compiler_version() -> str:
    """Name and version of the compiler in use, for example ``nvrtc 13.0``.

    Raises:
        MissingExtraError: NVRTC is not installed or cannot be loaded.
    """
    major, minor = _call(_nvrtc().nvrtcVersion)
    return f"nvrtc {major}.{minor}"


def compile_with_nvrtc(source: CudaSource, arch: str) -> Module:
    """Compile every entry of ``source`` for ``arch``, for example ``sm_90``.

    The result depends neither on the machine nor on the working folder.

    Raises:
        CompileError: the source has an error, or an entry is not one of its kernels; the message holds NVRTC's log.
        UsageError: NVRTC does not know ``arch``.
        MissingExtraError: NVRTC is not installed or cannot be loaded.
    """
    nvrtc = _nvrtc()
    _check_arch(arch)
    files = {_compiled_name(file): file for file in (source.file, *(each.file for each in source.preceding))}
    text, name = source.joined(_compiled_name), _compiled_name(source.file)
    program = _call(nvrtc.nvrtcCreateProgram, text.encode(), name.encode(), 0, [], [])
    try:
        for entry in source.entries:
            _call(nvrtc.nvrtcAddNameExpression, program, entry.encode())
        options = [option.encode() for option in (f"--gpu-architecture={arch}", *OPTIONS)]
        (status,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
        ptx = _restore_names(_read(nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX, program), files)
        if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
            log = _read(nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog, program)
            for compiled, file in files.items():
                log = log.replace(compiled, file)
            raise CompileError(_explain(log, source, ptx))
        symbols = {
            entry: _call(nvrtc.nvrtcGetLoweredName, program, entry.encode()).decode() for entry in source.entries
        }
        cubin = _read_bytes(nvrtc.nvrtcGetCUBINSize, nvrtc.nvrtcGetCUBIN, program)
    finally:
        nvrtc.nvrtcDestroyProgram(program)
    return Module(ptx, cubin, symbols, arch, compiler_version())


@cache
def _nvrtc() -> ModuleType:
    remedy = "install it with: pip install 'cuda-bindings>=13.0' 'nvidia-cuda-nvrtc>=13.0'"
    try:
        from cuda.bindings import nvrtc

        nvrtc.nvrtcVersion()  # the library itself is loaded by the first call
    except (ImportError, RuntimeError) as error:
        message = f"kernels are compiled with NVRTC, which cannot be loaded here ({error}); {remedy}"
        raise MissingExtraError(message) from error
    return nvrtc  # type: ignore[no-any-return]


def _call(function: Any, *arguments: Any) -> Any:
    """Call NVRTC, check the status, and return the other results: one value, or a tuple of any other number."""
    status, *results = function(*arguments)
    if status != 0:
        raise CompileError(f"NVRTC failed in {function.__name__}: {status.name}")
    return results[0] if len(results) == 1 else tuple(results)


def _read_bytes(size_of: Any, read: Any, program: Any) -> bytes:
    buffer = bytearray(_call(size_of, program))
    _call(read, program, buffer)
    return bytes(buffer)


def _read(size_of: Any, read: Any, program: Any) -> str:
    return _read_bytes(size_of, read, program).decode(errors="replace").rstrip("\0")


def _check_arch(arch: str) -> None:
    match = re.fullmatch(r"(sm_(\d+))([af]?)", arch)
    first_with_suffix = {"": 0, "a": 90, "f": 100}  # architecture- and family-specific code began with these
    known = tuple(f"sm_{number}" for number in sorted(_call(_nvrtc().nvrtcGetSupportedArchs)))  # oldest first
    if match is None or match[1] not in known or int(match[2]) < first_with_suffix[match[3]]:
        raise UsageError(f"unknown architecture {arch!r}: {compiler_version()} compiles for {', '.join(known)}")


def _compiled_name(file: str) -> str:
    """The name under which ``file`` is compiled.

    NVRTC puts its working folder before a relative name, in the PTX and in the cubin. It keeps an absolute name.
    """
    return "/" + re.sub(r"[^\w./+-]", "_", file.lstrip("/"), flags=re.ASCII)


def _restore_names(ptx: str, files: Mapping[str, str]) -> str:
    """Give the line table the names of the source: those of ``files``, by the names under which they are compiled,
    and those of its own ``#line`` directives.
    """
    folder = Path.cwd().as_posix().rstrip("/") + "/"

    def restored(path: str) -> str:
        file = next((file for name, file in files.items() if path.endswith(name)), None)
        return path.removeprefix(folder) if file is None else file.replace("\\", "/")

    return rename_files(ptx, restored)


def _explain(log: str, source: CudaSource, ptx: str) -> str:
    """The errors in the compiler's log, each with its line of the source.

    NVRTC parses name expressions in a file of its own. Its messages about that file help nobody and are omitted.
    """
    complaints = "\n\n".join(
        block
        for block in re.split(r"\n\s*\n", log.strip())
        if not block.lstrip().startswith(("__nv_name_map", "Remark:"))
        and not re.search(r"\d (catastrophic )?errors? detected in", block)
    )
    complaints = re.sub(r"^ptxas fatal\s*: Ptx assembly aborted.*\n?", "", complaints, flags=re.MULTILINE).strip()
    if complaints:
        ptxas_complaint = r"^ptxas (?:application ptx input, line (\d+); )?(\w+)\s*: "
        return re.sub(
            ptxas_complaint,
            lambda match: f"{_place(source, ptx, match[1])}: {match[2]}: ",
            complaints,
            flags=re.MULTILINE,
        )
    said = [block for block in re.split(r"\n\s*\n", log) if "#pragma nv_mangled_name" in block]
    complaints_of = {entry: _complaint_about(entry, said) for entry in source.entries}
    missing = [entry for entry, complaint in complaints_of.items() if complaint] or source.entries
    return "; ".join(no_kernel(source.file, entry, complaints_of[entry]) for entry in missing)


def _complaint_about(entry: str, said: list[str]) -> str:
    """NVRTC's messages about the name expression ``entry``; empty when it is a kernel."""
    names = [(block, re.search(r"#pragma nv_mangled_name(.*)", block)) for block in said]
    return "\n".join(block for block, name in names if name and _squeeze(name[1]) == _squeeze(entry))


def no_kernel(file: str, entry: str, complaint: str) -> str:
    """The message that ``file`` has no kernel ``entry``, with the reason if the compiler's complaint tells it."""
    reasons = {
        "instance of overloaded function": "several functions have that name, in the file or in CUDA: rename it",
        "instance of function template": _advice_on_template(entry),
        "non-__global__": "that function is not __global__",
    }
    reason = next((f": {reason}" for sign, reason in reasons.items() if sign in complaint), "")
    return f"{file} has no kernel {entry}{reason}"


def _advice_on_template(entry: str) -> str:
    if "<" in entry:
        return "it is a template, and these arguments are not those that it takes: give one for each of its parameters"
    return f"it is a template: name an instance, such as {entry}<float> or {entry}<32>"


def _place(source: CudaSource, ptx: str, ptx_line: str | None) -> str:
    """What a line of the PTX was made of, as ``turn.cu(12)``; the file alone where the line is unknown."""
    found = source_line(ptx, int(ptx_line or 0))
    return source.file if found is None else f"{found[0]}({found[1]})"


def _squeeze(expression: str) -> str:
    return re.sub(r"\s", "", expression)
