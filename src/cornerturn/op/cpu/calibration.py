"""What the caches of this processor are not asked but measured for: once per processor model, in a few milliseconds.

Arrays that the second cache does not hold and the last one does may be written by way of the caches, which fetches each
line of the output first, or past them. Which is faster differs: on some processors the last cache is near and a
process has much of it, on others it is far and shared by many.
"""

import hashlib
import json
import platform
import time
from contextlib import suppress
from functools import cache
from pathlib import Path

import numpy as np

from cornerturn.files import appearing
from cornerturn.op.cpu import store
from cornerturn.op.cpu.box import Box
from cornerturn.op.cpu.launch import job_of
from cornerturn.op.cpu.machine import LINE_BYTES, cache_bytes
from cornerturn.op.cpu.way import Candidate
from cornerturn.op.problem import Axis, Problem
from cornerturn.op.strided_view import empty_c_order
from cornerturn.toolchain.cache import cache_folder

ROUNDS = 15
NANOSECONDS_MAX = 20.0  # more than that is a measurement gone wrong
_SUFFIX = ".cpu.json"


@cache
def stream_nanoseconds() -> float:
    """Return what writing a line past the caches takes more than by way of them, beyond the second cache.

    Measured where the package's cache holds no figure for this processor. 0.0 where nothing can be measured.
    """
    path = _path()
    with suppress(Exception):  # no file, or one that is damaged
        nanoseconds = json.loads(path.read_text(encoding="utf-8"))["stream_nanoseconds"]
        if isinstance(nanoseconds, float) and abs(nanoseconds) <= NANOSECONDS_MAX:
            return nanoseconds
    kernel = store.kernel("runs")
    if kernel is None:
        return 0.0
    nanoseconds = min(NANOSECONDS_MAX, max(-NANOSECONDS_MAX, _measured(kernel)))
    with suppress(Exception):  # kept or not, there it is
        path.parent.mkdir(parents=True, exist_ok=True)
        with appearing(path) as file:
            file.write(json.dumps({"processor": _processor(), "stream_nanoseconds": nanoseconds}).encode())
    return nanoseconds


def _measured(kernel: store.Kernel) -> float:
    nbytes = 2 * cache_bytes(2)
    source, target = (empty_c_order((nbytes,), np.dtype(np.uint8)) for _ in range(2))
    source[:], target[:] = 1, 0
    problem = Problem(16, (nbytes // 16,), (16,), (16,))
    box = Box(16, (Axis(nbytes // 16, 16, 16),), (1 << 12,), aligned=True)
    found = []
    for stream in (False, True):  # one after the other: what is written past the caches is in none for the next
        job = job_of(Candidate("runs", box, False, stream, 0), problem)
        seconds = []
        for _ in range(ROUNDS):
            start = time.perf_counter()
            kernel(source.ctypes.data, target.ctypes.data, job.numbers.ctypes.data, 0, 0)
            seconds.append(time.perf_counter() - start)
        found.append(min(seconds) * 1e9 / (nbytes / LINE_BYTES))
    return found[1] - found[0]


def _processor() -> str:
    """Return the processor's model and caches."""
    name = platform.machine()  # processor() asks a program, under a lock that a fork would leave locked
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                name = line.partition(":")[2].strip()
                break
    return f"{name}, " + ", ".join(f"{cache_bytes(level) >> 10} KiB" for level in (1, 2, 3))


def _path() -> Path:
    return cache_folder() / f"{hashlib.sha256(_processor().encode()).hexdigest()[:32]}{_SUFFIX}"
