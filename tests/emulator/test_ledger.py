"""The table of accesses of a small launch, every number worked out by hand."""

import numpy as np

from .harness import launch_cuda

TEXT = """extern "C" __global__ void kernel(const float2* x, volatile float* y) {
    __shared__ float2 tile[64];
    const int t = threadIdx.x;
    tile[t] = x[t];
    __syncthreads();
    for (int k = 0; k < 3; ++k)
        if (t < 40)
            y[t * 64 + k] = tile[k].x + tile[k].y;
    *(volatile char*)(y + 63) = 1;
}"""


def test_every_number_of_every_access():
    x, y = np.arange(128, dtype=np.float32), np.zeros(64 * 64, dtype=np.float32)
    accesses = launch_cuda(TEXT, x, y, block=64).accesses
    table = [
        (
            *(a.location.split(":")[1], a.space, a.kind, a.width, a.requests, a.lanes),
            *(a.sectors, a.sectors_ideal, a.lines, a.lines_ideal, a.wavefronts, a.wavefronts_ideal),
        )
        for a in accesses
    ]
    assert [row[:6] for row in table[:2]] == [("4", "global", "load", 8, 2, 64), ("4", "shared", "store", 8, 2, 64)]
    # 64 lanes of 8 bytes are 16 sectors, 4 lines, 4 rows of 32 banks.
    assert table[0][6:] == (16, 16, 4, 4, 0, 0)
    assert table[1][6:] == (0, 0, 0, 0, 4, 4)
    loads = [row for row in table if row[1:3] == ("shared", "load")]
    stores = [row for row in table if row[1:3] == ("global", "store")]
    # Three turns of a whole warp and of one with 8 lanes; a pair that all lanes read takes one wavefront, which
    # no packing could better.
    assert _sum(loads) == (8, 6, 3 * 40, 0, 0, 0, 0, 6, 6)
    column, byte = [row for row in stores if row[3] == 4], [row for row in stores if row[3] == 1]
    # A store down a column: a sector and a line for each lane, where 4 + 1 sectors and 1 + 1 lines would do.
    assert _sum(column) == (4, 6, 3 * 40, 3 * 40, 3 * 5, 3 * 40, 3 * 2, 0, 0)
    assert _sum(byte) == (1, 2, 64, 2, 2, 2, 2, 0, 0)
    assert len(table) == 2 + len(loads) + len(stores)


def _sum(rows: list[tuple]) -> tuple[int, ...]:
    """Width and sums of the counts: the compiler may have unrolled a loop."""
    assert len({row[3] for row in rows}) == 1
    return (rows[0][3], *(sum(row[n] for row in rows) for n in range(4, 12)))


def test_a_pair_stored_by_all_takes_a_wavefront_per_half_warp():
    text = """extern "C" __global__ void kernel(double* y) {
        __shared__ volatile double one;
        one = 1.0;
        y[threadIdx.x] = one;
    }"""
    store, load, _ = launch_cuda(text, np.zeros(32)).accesses
    assert (store.kind, store.wavefronts, store.wavefronts_ideal) == ("store", 2, 2)
    assert (load.kind, load.wavefronts, load.wavefronts_ideal) == ("load", 1, 1)
