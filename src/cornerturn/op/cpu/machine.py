"""The machine that runs: its caches, its processors, what its instructions can do."""

import ctypes
import os
import platform
import sys
from functools import cache
from pathlib import Path

import numpy as np

LINE_BYTES = 64
_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")


@cache
def cache_bytes(level: int) -> int:
    """Return the size of a data cache as Linux tells it, or else one that few processors fall short of."""
    otherwise = {1: 1 << 15, 2: 1 << 18, 3: 1 << 22}[level]
    for index in _CACHES.glob("index*"):
        try:
            kind, said, size = ((index / name).read_text().strip() for name in ("type", "level", "size"))
            if kind != "Instruction" and said == str(level):
                return int(size.removesuffix("K")) * 1024
        except (OSError, ValueError):
            continue
    return otherwise


@cache
def byte_lookup() -> str:
    """Return what LLVM calls the look-up of 16 bytes by 16 indices, where those of 128 and more give 0; or nothing."""
    names = {"x86_64": "llvm.x86.ssse3.pshuf.b.128", "aarch64": "llvm.aarch64.neon.tbl1.v16i8"}
    return names.get({"AMD64": "x86_64", "arm64": "aarch64"}.get(platform.machine(), platform.machine()), "")


def processors() -> int:
    """Return how many processors this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@cache
def data_offset() -> int:
    """Return where a NumPy array's object holds the address of its elements, 0 if it is not where it used to be.

    NumPy's C interface fixes the place: the first field after the head that all objects have.
    """
    offset, probe = object.__basicsize__, np.zeros(1)
    if sys.implementation.name != "cpython":
        return 0
    return offset if ctypes.c_void_p.from_address(id(probe) + offset).value == probe.ctypes.data else 0
