"""Compile a kernel's source into an Image (PTX, machine code, line table), and keep it in a cache on disk."""

from cornerturn.toolchain.cache import Cache, CacheInfo, cache_folder
from cornerturn.toolchain.compilation import DEFAULT_ARCH, build, compile_source, unavailable_reason
from cornerturn.toolchain.image import Image
from cornerturn.toolchain.module import Module
from cornerturn.toolchain.nvrtc import compiler_version

__all__ = [
    "DEFAULT_ARCH",
    "Cache",
    "CacheInfo",
    "Image",
    "Module",
    "build",
    "cache_folder",
    "compile_source",
    "compiler_version",
    "unavailable_reason",
]
