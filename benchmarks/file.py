"""Transpose a large ``.npy`` file and copy it, with cold caches, and compare: seconds, share of the copy, peak memory.

Run: ``python benchmarks/file.py [--gib 8] [--memory 1GiB] [--folder .]``; it needs three times the size on the disk.
Both times include the disk's own (``fsync``).
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from numpy.lib import format as npy

CHUNK = 1 << 24


def write_input(path: Path, rows: int, cols: int) -> None:
    """Write every element's own number, not through a mapping: a child's peak memory starts at its parent's."""
    step = max(1, CHUNK // cols)
    with path.open("wb") as file:
        npy.write_array_header_1_0(file, {"descr": "<u4", "fortran_order": False, "shape": (rows, cols)})
        for start in range(0, rows, step):
            np.arange(start * cols, min(start + step, rows) * cols).astype("<u4").tofile(file)


def flush_and_forget(path: Path) -> None:
    """Bring a file to the disk and out of the page cache."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def timed_copy(source: Path, target: Path) -> float:
    flush_and_forget(source)
    begin = time.perf_counter()
    with source.open("rb", buffering=0) as infile, target.open("wb", buffering=0) as outfile:
        buffer = bytearray(CHUNK)
        while count := infile.readinto(buffer):
            outfile.write(memoryview(buffer)[:count])
        os.fsync(outfile.fileno())
    return time.perf_counter() - begin


def timed_transpose(source: Path, target: Path, memory: str) -> float:
    flush_and_forget(source)
    begin = time.perf_counter()
    command = [sys.executable, "-m", "cornerturn", "transpose", source, target, "--memory", memory]
    subprocess.run(command, check=True)
    with target.open("rb") as file:
        os.fsync(file.fileno())
    return time.perf_counter() - begin


def is_right(path: Path, rows: int, cols: int) -> bool:
    """Compare every element with what it must be, a few rows of the output at a time."""
    y = np.load(path, mmap_mode="r")
    column = np.arange(rows, dtype=np.uint64) * cols
    step = max(1, CHUNK // rows)
    return y.shape == (cols, rows) and all(
        np.array_equal(y[row : row + step], (column + np.arange(row, min(row + step, cols))[:, None]).astype(np.uint32))
        for row in range(0, cols, step)
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gib", type=float, default=8)
    parser.add_argument("--memory", default="1GiB")
    parser.add_argument("--folder", type=Path, default=Path())
    options = parser.parse_args()
    rows = 32768
    cols = int(options.gib * 2**30 / 4 / rows)
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        source, target = Path(folder, "x.npy"), Path(folder, "y.npy")
        write_input(source, rows, cols)
        copying = timed_copy(source, target)
        target.unlink()
        turning = timed_transpose(source, target, options.memory)
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
        right = is_right(target, rows, cols)
    print(f"{rows} x {cols} uint32, {rows * cols * 4 / 2**30:.2f} GiB, memory {options.memory}")
    print(f"copy       {copying:7.1f} s")
    print(f"transpose  {turning:7.1f} s, {copying / turning:.2f} of the copy's speed, peak {peak / 2**30:.2f} GiB")
    sys.exit(0 if right else "the output is wrong")


if __name__ == "__main__":
    main()
