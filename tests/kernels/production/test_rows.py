"""`rows` on the emulator."""

import pytest

from cornerturn.kernels.production.rows import rows

from ...emulated_move import moved_axes, run


@pytest.mark.parametrize(("element", "items"), [(1, 2), (2, 1), (4, 4), (8, 2), (16, 1), (16, 4)])
def test_rows(element: int, items: int) -> None:
    for shape, order in (((16, 33, 4, 8), (0, 2, 1, 3)), ((1001,), (0,)), ((5, 7, 3), (1, 0, 2))):
        run(rows(element, moved_axes(shape, order, element), 64, items), shape, order, element, element)
