"""Each known way to get a transpose wrong, made with NumPy, and recognised from the output alone."""

import numpy as np
import pytest

from cornerturn.lab.matrices import distinct, poison
from cornerturn.lab.user.mistakes import recognise

ROWS, COLS = 96, 64


def scattered(place, rows=ROWS, cols=COLS):
    """An output in which element (r, c) of x ends up at the flat index ``place(r, c)``, where that lies in y."""
    x = distinct(rows, cols)
    y, written = poison(x.T), np.zeros(x.size, dtype=bool)
    r, c = np.indices(x.shape)
    at = place(r, c)
    inside = (at >= 0) & (at < x.size)
    y.reshape(-1)[at[inside]], written[at[inside]] = x[inside], True
    return recognise(y, x.T, x, written)


@pytest.mark.parametrize(
    ("place", "kind", "message"),
    [
        (lambda r, c: r * COLS + c, "not transposed", "y holds x as it was"),
        (lambda r, c: (r * COLS + c) % ROWS * COLS + (r * COLS + c) // ROWS, "rows and cols exchanged", "as 64 x 96"),
        (lambda r, c: c * COLS + r, "wrong pitch of y", "64 elements apart instead of 96"),
        (
            lambda r, c: (c // 32 * 32 + r % 32) * ROWS + r // 32 * 32 + c % 32,
            "tiles not turned",
            "32 x 32 tiles are in the right places",
        ),
        (
            lambda r, c: np.where((r < 64), (r // 8 * 8 + c % 8) * ROWS + c // 8 * 8 + r % 8, -1),
            "tiles not moved",
            "within 8 x 8 tiles",
        ),
        (lambda r, c: np.where(r < 90, c * ROWS + r, -1), "edge missing", "the last 6 rows of x"),
        (
            lambda r, c: np.where((r < 95) & (c < 60), c * ROWS + r, -1),
            "edge missing",
            "the last row and the last 4 columns of x",
        ),
        (
            lambda r, c: np.where((r == 5) & (c == 7), -1, c * ROWS + r),
            "elements never written",
            "1 of 6144 elements; the first is y[7, 5]",
        ),
        (lambda r, c: np.full(r.shape, -1), "nothing written", "no thread writes"),
        (lambda r, c: c * ROWS + (r + 1) % ROWS, "wrong elements", "y[0, 0] is x[95, 0] and should be x[0, 0]"),
        (lambda r, c: c * ROWS + r, None, ""),
    ],
)
def test_a_pattern_is_recognised(place, kind, message):
    found = scattered(place)
    if kind is None:
        assert found is None
        return
    assert found.kind == kind
    assert message in found.message


def test_a_value_that_x_does_not_have_is_shown_as_bits():
    x = distinct(4, 5)
    y = x.T.copy()
    y[2, 1] = 0xA5A5A5A5
    found = recognise(y, x.T, x, np.ones(x.size, dtype=bool))
    assert found.kind == "wrong elements"
    assert (
        "1 of 20 elements is wrong; y[2, 1] is 0xa5a5a5a5 (not an element of x) and should be x[1, 2]" in found.message
    )
    assert found.index == 9


def test_pitch_of_x():
    rows, cols = 40, 64
    x = distinct(rows, cols)
    r, c = np.indices(x.shape)
    y = np.zeros((cols, rows), np.uint32)
    y[c, r] = x.reshape(-1)[r * rows + c]
    found = recognise(y, x.T, x, np.ones(x.size, dtype=bool))
    assert found.kind == "wrong pitch of x"
    assert "rows of x are taken 40 elements apart instead of 64" in found.message


@pytest.mark.parametrize("size", [1, 2, 4, 8, 16])
def test_larger_elements_tell_what_went_wrong_and_smaller_ones_that_it_did(size):
    x = distinct(40, 24, size)
    everywhere = np.ones(x.size, dtype=bool)
    assert recognise(x.T.copy(), x.T, x, everywhere) is None
    found = recognise(x.reshape(24, 40), x.T, x, everywhere)
    assert found.kind == ("not transposed" if size >= 4 else "wrong elements")
    place = "y[{}, {}]".format(*divmod(found.index, 40))
    got, due = (each[divmod(found.index, 40)].tobytes()[::-1].hex() for each in (x.reshape(24, 40), x.T))
    assert size >= 4 or found.message.endswith(f"{place} is 0x{got} and should be 0x{due}")
    holes = everywhere.copy()
    holes[7] = False
    y = poison(x.T)
    y.reshape(-1)[holes] = x.T.reshape(-1)[holes]
    assert recognise(y, x.T, x, holes).kind == "elements never written"
