"""From a kernel to its Image: compiled once, remembered in this process and kept on disk."""

import re
from functools import cache
from pathlib import Path

from cornerturn.errors import MissingExtraError, UsageError
from cornerturn.kernels.kernel import CudaProgram, CudaSource, Kernel, Source
from cornerturn.toolchain.cache import Cache, cache_folder, cache_key
from cornerturn.toolchain.cute_dsl import compile_with_cute, cute_version
from cornerturn.toolchain.image import Image
from cornerturn.toolchain.module import Module
from cornerturn.toolchain.nvcc import NVCC_OPTIONS, compile_with_nvcc, nvcc_version
from cornerturn.toolchain.nvrtc import OPTIONS, compile_with_nvrtc, compiler_version

DEFAULT_ARCH = "sm_90"
OLDEST_ARCH = "sm_80"
"""The first architecture with asynchronous copies to shared memory, which some kernels use."""


def build(kernel: Kernel, arch: str = DEFAULT_ARCH) -> Image:
    """The Image of ``kernel`` for ``arch``. Kernels of one source share one compilation.

    Raises:
        CompileError: the source does not compile; the message holds the compiler's log with file and line.
        UsageError: ``arch`` is older than ``sm_80``, or the compiler does not know it.
        MissingExtraError: the compiler is not installed, and the cache does not hold the result.

    Example:
        >>> from cornerturn.kernels.catalogue import find
        >>> build(find("naive")).arch
        'sm_90'
    """
    return compile_source(kernel.source, arch).image(kernel.entry)


def unavailable_reason(source: Source, arch: str = DEFAULT_ARCH) -> str | None:
    """Why ``source`` cannot be compiled here, or None if it can or if the cache holds the result.

    The one reason is that its compiler is not installed. Nothing is compiled to find out.
    """
    try:
        _installed_compiler(source)
    except MissingExtraError as error:
        return None if Cache(cache_folder()).load(_key(source, arch)) else str(error)
    return None


def compile_source(source: Source, arch: str = DEFAULT_ARCH) -> Module:
    """Compile ``source`` with all its entries, or take the module from this process's memory or the disk cache.

    A cached module from another version of the compiler is compiled again. Where the compiler is not installed, the
    cached module is used whatever its version, so a machine needs nothing but a cache that was filled elsewhere.

    Raises: as `build`.
    """
    _check_arch(arch)
    return _compile_once(source, arch, cache_folder())


def _check_arch(arch: str) -> None:
    number = re.fullmatch(r"sm_(\d+)[af]?", arch) if isinstance(arch, str) else None
    if number is None:
        raise UsageError(f"unknown architecture {arch!r}: write it as {DEFAULT_ARCH}; the oldest is {OLDEST_ARCH}")
    if int(number[1]) < int(OLDEST_ARCH.removeprefix("sm_")):
        raise UsageError(f"architecture {arch} is too old: the kernels need {OLDEST_ARCH} or newer")


@cache
def _compile_once(source: Source, arch: str, folder: Path) -> Module:
    disk, key = Cache(folder), _key(source, arch)
    module = disk.load(key)
    if module is None or not _is_current(module, source):
        module = _compile(source, arch)
        disk.store(key, module)
    return module


def _compile(source: Source, arch: str) -> Module:
    if isinstance(source, CudaProgram):
        return compile_with_nvcc(source, arch)
    if isinstance(source, CudaSource):
        return compile_with_nvrtc(source, arch)
    return compile_with_cute(source, arch)


def _key(source: Source, arch: str) -> str:
    """The cache key: everything that decides the code, except for the compiler's version."""
    language: tuple[str, ...] = ("cuda", *OPTIONS) if isinstance(source, CudaSource) else ("cute",)
    if isinstance(source, CudaProgram):
        language = ("nvcc", *NVCC_OPTIONS)
    text = source.joined() if isinstance(source, CudaSource) else source.text
    return cache_key((*language, arch, source.file, text, *source.entries))


def _is_current(module: Module, source: Source) -> bool:
    """Whether the installed compiler made the module; true also if no compiler is installed."""
    try:
        return module.compiler == _installed_compiler(source)
    except MissingExtraError:
        return True


def _installed_compiler(source: Source) -> str:
    if isinstance(source, CudaProgram):
        return nvcc_version()
    return compiler_version() if isinstance(source, CudaSource) else cute_version()
