"""Production kernels as entries of the catalogue."""

import numpy as np
import pytest

from cornerturn.kernels.grid import cols_in_fours
from cornerturn.kernels.kernel import CudaSource, Launch
from cornerturn.kernels.production.axes import MAX_EXTENT
from cornerturn.kernels.production.device_code import Production
from cornerturn.kernels.production.entry import axes_of, kernel

SOURCES = {entry: CudaSource("k.cu", "", (entry,)) for entry in ("k<1>", "k<2>")}
ROOMY = (5, 8)


def lay(element: int, rows: int, cols: int) -> Production:
    """An instance for even and one for odd rows; the grid tells what was asked for."""
    return Production(SOURCES[f"k<{1 + rows % 2}>"], Launch((element, rows, cols), (32, 1, 1), ()))


def test_axes_are_named_by_the_side_on_which_they_are_contiguous():
    x = np.zeros((5, 7), np.uint16)
    y = np.zeros((7, 5), np.uint16)
    assert axes_of(2, 5, 7) == ((5, x.strides[0], y.strides[1]), (7, x.strides[1], y.strides[0]))


def test_an_entry_lays_the_kernel_over_any_shape():
    entry = kernel("k", 4, lay, (cols_in_fours,), "Teaches.")
    assert (entry.name, entry.family, entry.element_bytes, entry.lesson) == ("k_4", "production", 4, "Teaches.")
    assert (entry.source, entry.entry) == (SOURCES["k<1>"], "k<1>")
    assert entry.launch(6, 9).grid == (4, 6, 9)
    assert kernel("k", 4, lay, (), "Teaches.", ROOMY).entry == "k<2>"


@pytest.mark.parametrize(
    ("rows", "cols", "refusal"),
    [
        (8, 8, None),
        (8, 6, cols_in_fours(8, 6)),
        (MAX_EXTENT, 4, None),
        (MAX_EXTENT + 1, 4, f"at most {MAX_EXTENT}, as the kernels number them with 31 bits: got {MAX_EXTENT + 1} x 4"),
    ],
)
def test_an_entry_refuses_by_its_own_rules_and_what_cannot_be_numbered(rows: int, cols: int, refusal: str | None):
    said = kernel("k", 4, lay, (cols_in_fours,), "Teaches.").refuses(rows, cols)
    assert said == refusal or (said and refusal and said.endswith(refusal))
