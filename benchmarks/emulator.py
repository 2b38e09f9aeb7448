"""How fast the emulator is, and what it needs: python benchmarks/emulator.py

1. `naive` and `shared_padding` at 256 x 256 against the same ideas in Numba's CUDA simulator; both outputs are
   checked bit for bit.
2. The whole catalogue at 1024 x 1024, as a user runs it: seconds and peak memory, compilation included.

Exit status 1 when a target is missed.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from cornerturn.kernels.catalogue import find
from cornerturn.lab import distinct, run_emulated

SIZE = 256
KERNELS = ("naive", "shared_padding")
REPEATS = 7
TARGET_RATIO = 200.0
TARGET_SECONDS = 60.0
TARGET_BYTES = 1.5e9


def main() -> int:
    catalogue_seconds, catalogue_bytes = run_catalogue()  # first: the peak of all child processes is read after it
    simulated = run_simulator()
    ratios = []
    print(f"{SIZE} x {SIZE}, {'seconds':>22}{'Numba simulator':>18}{'ratio':>10}")
    for name in KERNELS:
        seconds = emulator_seconds(name)
        ratios.append(simulated[name] / seconds)
        print(f"{name:<20}{seconds:>13.4f}{simulated[name]:>18.2f}{ratios[-1]:>9.0f}x")
    print(f"target: at least {TARGET_RATIO:.0f}x\n")
    print(f"catalogue at 1024 x 1024: {catalogue_seconds:.1f} s (target: at most {TARGET_SECONDS:.0f} s)")
    print(f"peak memory: {catalogue_bytes / 1e9:.2f} GB (target: at most {TARGET_BYTES / 1e9:.1f} GB)")
    reached = min(ratios) >= TARGET_RATIO and catalogue_seconds <= TARGET_SECONDS and catalogue_bytes <= TARGET_BYTES
    print("all targets reached" if reached else "a target is missed")
    return 0 if reached else 1


def emulator_seconds(name: str) -> float:
    """Median seconds of one run: poison the output, emulate, count, compare."""
    kernel, x = find(name), distinct(SIZE, SIZE)
    assert run_emulated(kernel, x).valid  # compiles, and warms caches
    seconds = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        run = run_emulated(kernel, x)
        seconds.append(time.perf_counter() - start)
        assert run.valid
    return statistics.median(seconds)


def run_catalogue() -> tuple[float, int]:
    """Seconds and peak bytes of ``cornerturn bench`` in a new process with nothing compiled before."""
    with tempfile.TemporaryDirectory() as cache:
        command = [sys.executable, "-m", "cornerturn", "bench", "--size", "1024x1024", "--device", "emulator"]
        start = time.perf_counter()
        subprocess.run(command, check=True, env=os.environ | {"CORNERTURN_CACHE": cache})
        seconds = time.perf_counter() - start
    kibibytes = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss  # on Linux; the target is stated for it
    return seconds, kibibytes * 1024


def run_simulator() -> dict[str, float]:
    """Seconds of each kernel in Numba's simulator, which only a fresh process can be switched to."""
    done = subprocess.run(
        [sys.executable, Path(__file__).with_name("numba_simulator.py"), str(SIZE)],
        check=True,
        stdout=subprocess.PIPE,
        env=os.environ | {"NUMBA_ENABLE_CUDASIM": "1"},
    )
    return dict(json.loads(done.stdout))


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    sys.exit(main())
