"""`records` on the emulator."""

import math

import pytest

from cornerturn.kernels.production.records import TABLE, record_tile, records

from ...emulated_move import moved_axes, run


@pytest.mark.parametrize(("element", "record"), [(1, 3), (1, 13), (2, 5), (4, 3)])
def test_records(element: int, record: int) -> None:
    for shape, x_skew, y_skew in (
        ((1, 257, 83, record), 0, 0),
        ((2, 30, 300, record), 1, 3),
        ((1, 400, 5, record), 0, 5),
    ):
        batch, cols, rows, _ = moved_axes(shape, (0, 2, 1, 3), element)
        kernel = records(element, record, rows, cols, [batch])
        emulation = run(kernel, shape, (0, 2, 1, 3), element, x_skew * element, y_skew * element)
        stores = [a for a in emulation.accesses if (a.space, a.kind, a.width) == ("global", "store", 16)]
        lines = shape[0] * shape[2]
        assert sum(a.sectors for a in stores) <= math.prod(shape) * element / 32 + 4 * lines


@pytest.mark.parametrize("size", range(2, 16))
def test_no_records_need_more_shared_memory_than_any_kernel_gets(size: int) -> None:
    tall, wide = record_tile(size)
    kernel = records(1, size, (1000, 3000 * size, size), (1000, size, 1000 * size), [])
    assert kernel.launch.shared_bytes + 2 * TABLE <= 48 * 1024
    assert (tall + -(-32 // size)) * size <= TABLE
    assert tall * size % 64 == 0 and wide % 8 == 0 and wide
