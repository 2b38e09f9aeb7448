"""From a kernel of the catalogue to its Image: compiled once, then remembered and kept on disk."""

from functools import cache
from pathlib import Path

from cornerturn.kernels.kernel import CudaSource, Kernel
from cornerturn.toolchain.cache import Cache, cache_folder, cache_key
from cornerturn.toolchain.image import Image
from cornerturn.toolchain.module import Module
from cornerturn.toolchain.nvrtc import OPTIONS, compile_with_nvrtc, compiler_version

DEFAULT_ARCH = "sm_90"


def build(kernel: Kernel, arch: str = DEFAULT_ARCH) -> Image:
    """The Image of ``kernel`` for ``arch``. Kernels of one source share one compilation.

    Raises:
        CompileError: the source does not compile; carries the compiler's log with file and line.
        UsageError: the compiler does not know ``arch``.
        MissingExtraError: the compiler is not installed.

    Example:
        >>> from cornerturn.kernels.catalogue import find
        >>> build(find("naive")).arch
        'sm_90'
    """
    return compile_source(kernel.source, arch).image(kernel.entry)


def compile_source(source: CudaSource, arch: str = DEFAULT_ARCH) -> Module:
    """Compile ``source`` with all its entries, or take it from this process's memory or the disk cache.

    Raises: as ``build``.
    """
    return _compile_once(source, arch, cache_folder())


@cache
def _compile_once(source: CudaSource, arch: str, folder: Path) -> Module:
    disk = Cache(folder)
    key = cache_key((compiler_version(), *OPTIONS, arch, source.file, source.text, *source.entries))
    module = disk.load(key)
    if module is None:
        module = compile_with_nvrtc(source, arch)
        disk.store(key, module)
    return module
