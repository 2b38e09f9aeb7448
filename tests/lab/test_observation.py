import numpy as np
import pytest

from cornerturn.errors import UsageError
from cornerturn.kernels.catalogue import find
from cornerturn.lab.observation import Element, require_inside, run_block


@pytest.mark.parametrize("name", ["tile_1", "tile_2", "naive", "tile_8", "tile_16"])
def test_values_are_the_flat_indices_of_the_elements_of_x(name):
    """Whatever the size of the elements, also where it holds a part of the index only."""
    kernel, rows, cols = find(name), 256, 512
    run = run_block(kernel, rows, cols, (0, 0))
    loads = [movement for movement in run.movements if (movement.kind, movement.memory) == ("load", "x")]
    assert loads
    for movement in loads:
        first = movement.offset // kernel.element_bytes
        assert np.array_equal(movement.values, first[:, None] + np.arange(movement.values.shape[1]))
    stores = [movement for movement in run.movements if (movement.kind, movement.memory) == ("store", "y")]
    for movement in stores:
        row, col = np.divmod(movement.offset // kernel.element_bytes, rows)
        assert np.array_equal(movement.values[:, 0], col * cols + row)


def test_a_movement_knows_its_line_and_its_access():
    run = run_block(find("naive"), 64, 48, (0, 0))
    load, store = run.movements[:2]
    assert run.line(load) == run.line(store)
    assert (run.access(load).kind, run.access(store).kind) == ("load", "store")
    assert "y[c * rows + r]" in run.text.lines[run.line(store) - run.text.first]


def test_places_are_named_in_the_terms_of_the_matrices():
    run = run_block(find("naive"), 64, 48, (1, 0))
    assert run.element("x", 4 * 49) == Element(1, 1)
    assert run.element("y", 4 * 64) == Element(1, 0)
    assert run.thread(32 + 5) == (5, 1, 0)
    assert (run.at, run.pitch) == ((1, 0), {"x": 48, "y": 64})


@pytest.mark.parametrize("at", [(2, 0), (0, 3), (-1, 0)])
def test_what_is_outside_is_refused(at):
    with pytest.raises(UsageError, match=f"block {at[0]},{at[1]} is outside the 2 x 3 blocks of this launch: x goes"):
        require_inside("block", at, (2, 3, 1), "blocks")
