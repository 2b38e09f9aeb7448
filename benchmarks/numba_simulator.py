"""Two transposes in Numba's CUDA simulator: NUMBA_ENABLE_CUDASIM=1 python benchmarks/numba_simulator.py SIZE

Prints the seconds of one launch each as JSON. The simulator replaces the global name ``cuda`` while a kernel
runs, so these kernels need a module of their own.
"""

import argparse
import json
import sys
import time

import numpy as np
from numba import cuda, uint32

from cornerturn.lab import distinct


@cuda.jit
def naive(x, y):
    """One element per thread: read along a row, write down a column."""
    col = cuda.blockIdx.x * 32 + cuda.threadIdx.x
    row = cuda.blockIdx.y * 32 + cuda.threadIdx.y
    if row < x.shape[0] and col < x.shape[1]:
        y[col, row] = x[row, col]


@cuda.jit
def shared_padding(x, y):
    """Through a padded 32 x 33 tile, four rows per thread."""
    tile = cuda.shared.array((32, 33), uint32)
    across, down = cuda.threadIdx.x, cuda.threadIdx.y
    first_row, first_col = cuda.blockIdx.y * 32, cuda.blockIdx.x * 32
    for k in range(down, 32, 8):
        if first_row + k < x.shape[0] and first_col + across < x.shape[1]:
            tile[k, across] = x[first_row + k, first_col + across]
    cuda.syncthreads()
    for k in range(down, 32, 8):
        if first_col + k < x.shape[1] and first_row + across < x.shape[0]:
            y[first_col + k, first_row + across] = tile[across, k]


def seconds_of_launch(kernel, threads: tuple[int, int], size: int) -> float:
    x = distinct(size, size)
    y = np.invert(x.T, order="C")
    start = time.perf_counter()
    kernel[(size // 32, size // 32), threads](x, y)
    seconds = time.perf_counter() - start
    if not np.array_equal(y, x.T):
        sys.exit("the simulator's output is wrong")
    return seconds


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("size", type=int, help="rows and columns of the matrix, a multiple of 32")
    size = parser.parse_args().size
    print(
        json.dumps(
            {
                "naive": seconds_of_launch(naive, (32, 32), size),
                "shared_padding": seconds_of_launch(shared_padding, (32, 8), size),
            }
        )
    )
