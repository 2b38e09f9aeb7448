"""CuTe Python DSL to PTX and machine code. No GPU or driver is needed.

The DSL traces a host function and compiles every kernel that the function launches. Here the function serves only to
name the kernels, and the host code is not used: each kernel is launched from its Image, like any other.
Facts used: CuTe DSL documentation (https://docs.nvidia.com/cutlass/latest/media/docs/pythonDSL), sections on
compilation options and on JIT arguments.
"""

import linecache
import re
import tempfile
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from cornerturn.errors import CompileError, MissingExtraError, UsageError
from cornerturn.kernels.kernel import CuteSource
from cornerturn.toolchain.module import Module

INSTALL = "pip install 'cornerturn[cute]'"
"""The command that installs the DSL."""

POINTER_ALIGNMENT = 16
"""The addresses of x and y must be a multiple of this many bytes; those of CUDA's allocators are."""


def cute_version() -> str:
    """Name and version of the DSL, for example ``cute dsl 4.8.1``; the DSL itself is not imported.

    Raises:
        MissingExtraError: it is not installed.
    """
    try:
        return f"cute dsl {version('nvidia-cutlass-dsl')}"
    except PackageNotFoundError as error:
        raise MissingExtraError(
            f"CuTe kernels are compiled with nvidia-cutlass-dsl, which is not installed; install it with: {INSTALL}"
        ) from error


def compile_with_cute(source: CuteSource, arch: str) -> Module:
    """Compile every entry of ``source`` for ``arch``, for example ``sm_90``.

    The result depends neither on the machine nor on the working folder, and serves every shape.

    Raises:
        CompileError: the source has an error, or an entry is not one of its kernels.
        UsageError: the DSL does not know ``arch``.
        MissingExtraError: the DSL is not installed.
    """
    compiler = cute_version()
    _check_arch(arch, compiler)
    compiled = _compile(_host_function(source), arch, source.file)
    # The DSL numbers its kernels: cute_row_smem becomes cute_row_smem_3.
    symbols = {symbol.rpartition("_")[0]: symbol for symbol in compiled.kernel_info}
    if missing := [entry for entry in source.entries if entry not in symbols]:
        raise CompileError(f"{source.file} has no kernel {' and no kernel '.join(missing)}")
    return Module(compiled.__ptx__, compiled.__cubin__, symbols, arch, compiler)


def _host_function(source: CuteSource) -> Any:
    """The function ``kernels`` of the source.

    The text is executed under the bare file name instead of imported, so that line tables hold no path of this machine.
    """
    lines = source.text.splitlines(keepends=True)
    linecache.cache[source.file] = (len(source.text), None, lines, source.file)  # where the DSL looks for the text
    namespace: dict[str, Any] = {"__name__": source.file.removesuffix(".py")}
    exec(compile(source.text, source.file, "exec"), namespace)
    return namespace["kernels"]


def _compile(host: Any, arch: str, file: str) -> Any:
    from cutlass import Float32, cute
    from cutlass.base_dsl.common import DSLBaseError
    from cutlass.base_dsl.compiler import DumpDir
    from cutlass.cute.runtime import nullptr

    matrix = nullptr(Float32, cute.AddressSpace.gmem, assumed_align=POINTER_ALIGNMENT)
    with tempfile.TemporaryDirectory() as folder:
        options = (cute.KeepPTX, cute.KeepCUBIN, cute.GenerateLineInfo, cute.GPUArch(arch), DumpDir(folder))
        try:
            return cute.compile[options](host, matrix, matrix, 1, 1)
        except DSLBaseError as error:
            plain = re.sub(r"\x1b\[[0-9;]*m", "", str(error)).strip()
            raise CompileError(f"{file}: {plain}") from error


def _check_arch(arch: str, compiler: str) -> None:
    from cutlass.base_dsl import Arch

    known = [member.to_string() for member in Arch]
    if arch not in known:
        raise UsageError(f"unknown architecture {arch!r}: {compiler} compiles for {', '.join(known)}")
