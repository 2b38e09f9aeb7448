"""`ragged_rows` on the emulator."""

import math

import numpy as np
import pytest

from cornerturn.emulator import Memory
from cornerturn.kernels.production.ragged_rows import ragged_rows

from ...emulated_move import launched, moved_axes, run


@pytest.mark.parametrize("shifted", [False, True])
@pytest.mark.parametrize("element", [1, 2, 4, 8])
def test_ragged_rows(element: int, shifted: bool) -> None:
    units = 16 // element
    for shape, order, skews in (
        ((7, 11, units), (1, 0, 2), (1, 2)),
        ((7, 11, units + 1), (1, 0, 2), (0, 0)),
        ((5, 3, 4, 37), (2, 0, 1, 3), (0, 3)),
        ((3, 4, 5, 2 * units + 3), (0, 2, 1, 3), (5, 0)),
        ((1, 4999), (0, 1), (3, 0)),
        ((1, units), (0, 1), (0, 1)),
    ):
        kernel = ragged_rows(element, moved_axes(shape, order, element), shifted, 64)
        run(kernel, shape, order, element, skews[0] * element, skews[1] * element)


@pytest.mark.parametrize("shifted", [False, True])
def test_ragged_rows_between_gaps(shifted: bool) -> None:
    """Rows of y that do not follow one on another are lines of their own; nothing between them is written."""
    x = np.random.default_rng(0).integers(0, 256, (9, 37), dtype=np.uint8)
    y = np.zeros((9, 50), np.uint8)
    memory = Memory()
    arrays = {"x": memory.bind(x, "x"), "y": memory.bind(y, "y")}
    kernel = ragged_rows(1, [(9, 37, 50), (37, 1, 1)], shifted)
    assert not launched(kernel, memory, arrays).hazards
    assert np.array_equal(y[:, :37], x)
    assert not y[:, 37:].any()


@pytest.mark.parametrize("shifted", [False, True])
def test_ragged_rows_store_whole_sectors(shifted: bool) -> None:
    shape = (100, 100, 63)
    emulation = run(ragged_rows(1, moved_axes(shape, (1, 0, 2), 1), shifted), shape, (1, 0, 2), 1)
    stores = [a for a in emulation.accesses if (a.space, a.kind) == ("global", "store")]
    assert sum(a.sectors for a in stores) < 1.01 * math.prod(shape) / 32
