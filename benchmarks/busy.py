"""transpose() of squares against NumPy's copy on a machine that has other things to do: NumPy's time over ours.

    python benchmarks/busy.py [--busy 2] [--threads N] [--size 1000 ...]
    nice -n 10 python benchmarks/busy.py --busy 2
    taskset -c 0 python benchmarks/busy.py

``--busy`` says how many processes compute all the while. Both run in turn, round after round, and medians of rounds are
compared. A call shorter than 5 ms is repeated within its round until it takes that long.
"""

import argparse
import math
import subprocess
import sys
import time
from collections.abc import Callable
from statistics import median

import numba
import numpy as np

from cornerturn import transpose
from cornerturn.op.strided_view import empty_c_order

SIZES = (100, 200, 300, 500, 512, 700, 1000, 1024, 1500, 2000, 3000)
DTYPES = ("uint8", "float16", "float32", "float64", "complex128")
ROUND_SECONDS = 0.005


def seconds(call: Callable[[], object], repeats: int) -> float:
    """Mean of some calls in a row."""
    start = time.perf_counter()
    for _ in range(repeats):
        call()
    return (time.perf_counter() - start) / repeats


def gain(size: int, dtype: str, rounds: int) -> float:
    """NumPy's time over that of ``transpose``, medians."""
    x, out = (empty_c_order((size, size), np.dtype(dtype)) for _ in range(2))
    x.reshape(-1).view(np.uint8)[:] = 1
    out.reshape(-1).view(np.uint8)[:] = 0
    calls = (lambda: np.copyto(out, x.T), lambda: transpose(x, out=out))
    repeats = []
    for call in calls:
        call()
        repeats.append(max(1, math.ceil(ROUND_SECONDS / min(seconds(call, 3) for _ in range(5)))))
    times = [[seconds(call, count) for call, count in zip(calls, repeats, strict=True)] for _ in range(rounds)]
    theirs, ours = map(median, zip(*times, strict=True))
    return theirs / ours


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--busy", type=int, default=0, help="processes that compute meanwhile")
    parser.add_argument("--threads", type=int, help="as numba.set_num_threads takes it")
    parser.add_argument("--size", type=int, action="append")
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    if options.threads:
        numba.set_num_threads(options.threads)
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(options.busy)]
    try:
        print(f"{'n':>6}" + "".join(f"{dtype:>12}" for dtype in DTYPES), flush=True)
        for size in options.size or SIZES:
            print(f"{size:6}", end="", flush=True)
            for dtype in DTYPES:
                print(f"{gain(size, dtype, options.rounds):12.2f}", end="", flush=True)
            print()
    finally:
        for process in busy:
            process.kill()


if __name__ == "__main__":
    main()
