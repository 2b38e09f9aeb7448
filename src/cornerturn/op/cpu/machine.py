"""The machine that runs: its caches, its processors, what its instructions can do."""

import ctypes
import os
import platform
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np

LINE_BYTES = 64
_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")


@cache
def cache_bytes(level: int) -> int:
    """Return the size of a data cache as Linux tells it, or else one that few processors fall short of."""
    size = _said(level, "size").removesuffix("K")
    return int(size) * 1024 if size.isdecimal() else {1: 1 << 15, 2: 1 << 18, 3: 1 << 22}[level]


@cache
def ways(level: int) -> int:
    """Return how many lines a set of a data cache holds, or else what most do."""
    said = _said(level, "ways_of_associativity")
    return int(said) if said.isdecimal() and 0 < int(said) <= cache_bytes(level) // LINE_BYTES else 8


def way_bytes(level: int) -> int:
    """Return the distance at which lines fall into one set of a data cache."""
    return cache_bytes(level) // ways(level)


def _said(level: int, name: str) -> str:
    """Return what Linux tells of a data cache, or nothing."""
    for index in _CACHES.glob("index*"):
        try:
            kind, number, said = ((index / file).read_text().strip() for file in ("type", "level", name))
            if kind != "Instruction" and number == str(level):
                return said
        except OSError:
            continue
    return ""


@cache
def byte_lookup() -> str:
    """Return what LLVM calls the look-up of 16 bytes by 16 indices, where those of 128 and more give 0; or nothing."""
    names = {"x86_64": "llvm.x86.ssse3.pshuf.b.128", "aarch64": "llvm.aarch64.neon.tbl1.v16i8"}
    return names.get({"AMD64": "x86_64", "arm64": "aarch64"}.get(platform.machine(), platform.machine()), "")


def processors() -> int:
    """Return how many processors this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def other_processors() -> set[int]:
    """Return the processors that this process may run on, but for the one that it runs on; none if that is unknown."""
    current = _current()
    return os.sched_getaffinity(0) - {current()} if current else set()


@cache
def _current() -> Callable[[], int] | None:
    """Return what tells the number of the processor that runs this thread; on Linux there is something."""
    try:
        os.sched_getaffinity(0)
        current: Callable[[], int] = ctypes.CDLL(None).sched_getcpu
    except (AttributeError, OSError, TypeError):
        return None
    return current


def idle_processors() -> int:
    """Return how many processors of the machine have nothing to do at this moment, or all where that is unknown.

    Linux counts what runs or waits for a processor, this thread included. To read it takes 2 microseconds.
    """
    try:
        running = os.pread(_load(), 64, 0).split()[3].partition(b"/")[0]
        return max(0, _online() - int(running))
    except (OSError, ValueError, IndexError):
        return _online()


@cache
def _load() -> int:
    """Return a descriptor of the file that holds the machine's load, or raise OSError; it stays open."""
    return os.open("/proc/loadavg", os.O_RDONLY)


@cache
def _online() -> int:
    return os.cpu_count() or 1


@cache
def data_offset() -> int:
    """Return where a NumPy array's object holds the address of its elements, 0 if it is not where it used to be.

    NumPy's C interface fixes the place: the first field after the head that all objects have.
    """
    offset, probe = object.__basicsize__, np.zeros(1)
    if sys.implementation.name != "cpython":
        return 0
    return offset if ctypes.c_void_p.from_address(id(probe) + offset).value == probe.ctypes.data else 0
