"""Wrong outputs that have a name: a transpose goes wrong in few ways, and each leaves its own pattern.

Elements of x of 4 bytes and more all differ, so each value of y says which element of x it is. Smaller elements
repeat: for them only elements that were never written form a pattern.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cornerturn.lab.matrices import Matrix, bits_of
from cornerturn.wording import counted, of_all

Index = NDArray[np.int64]

CAUSES = frozenset(
    {
        "not transposed",
        "rows and cols exchanged",
        "wrong pitch of y",
        "wrong pitch of x",
        "tiles not turned",
        "tiles not moved",
    }
)
_TILES = (64, 32, 16, 8, 4)
_TELLING = 4
"""Elements of this many bytes and more are told apart by their value."""


@dataclass(frozen=True)
class Mistake:
    """What an output looks like.

    Attributes:
        kind: its name, for example ``not transposed``; one of `CAUSES` where the pattern tells what went wrong.
        message: a sentence with the evidence.
        index: flat index in y of the element that shows it first.
    """

    kind: str
    message: str
    index: int


def recognise(y: Matrix, expected: Matrix, x: Matrix, written: NDArray[np.bool_]) -> Mistake | None:
    """Name what is wrong with ``y``; None if every bit is right.

    Args:
        y: cols x rows, what the kernel left.
        expected: same shape.
        x: rows x cols, elements as different as their size allows.
        written: for each element of y, flat, whether any thread wrote it.

    Example:
        >>> from cornerturn.lab.matrices import distinct
        >>> x = distinct(40, 24)
        >>> recognise(x.reshape(24, 40), x.T, x, np.ones(x.size, dtype=bool)).kind
        'not transposed'
    """
    wrong = (y != expected).reshape(-1)
    if not wrong.any():
        return None
    if not written.any():
        return Mistake("nothing written", "no thread writes an element of y", 0)
    if not (wrong & written).any():
        return _missing(y, x, ~written)
    at = int(np.flatnonzero(wrong & written)[0])
    if x.itemsize >= _TELLING:
        places = np.flatnonzero(written)
        sources = _sources(y, x)[places]
        for kind, meaning, fits in _patterns(*x.shape):
            if (sources >= 0).all() and fits(sources, places):
                return Mistake(kind, f"{meaning}; {_one(y, expected, x, at)}", at)
    count = int(np.count_nonzero(wrong))
    never = int(np.count_nonzero(~written))
    unwritten = f", {never} of them never written" if never else ""
    return Mistake(
        "wrong elements", f"{of_all(count, y.size, 'element')} wrong{unwritten}; {_one(y, expected, x, at)}", at
    )


def _sources(y: Matrix, x: Matrix) -> Index:
    """For each element of y, flat, the flat index in x of its value; -1 for a value that is not in x."""
    values = x.reshape(-1)
    order = np.argsort(values)
    found = order[np.searchsorted(values, y.reshape(-1), sorter=order).clip(max=x.size - 1)]
    return np.where(values[found] == y.reshape(-1), found, -1)


def _patterns(rows: int, cols: int) -> list[tuple[str, str, Callable[[Index, Index], bool]]]:
    """Kind, meaning and test of each pattern; the test takes flat indices in x, and those in y where they are found."""

    def ends_up(place: Callable[[Index, Index], Index]) -> Callable[[Index, Index], bool]:
        return lambda sources, places: np.array_equal(place(sources // cols, sources % cols), places)

    def comes_from(source: Callable[[Index, Index], Index]) -> Callable[[Index, Index], bool]:
        return lambda sources, places: np.array_equal(source(places % rows, places // rows), sources)

    patterns = [
        ("not transposed", "y holds x as it was", ends_up(lambda r, c: r * cols + c)),
        (
            "rows and cols exchanged",
            f"y is the transpose of x taken as {cols} x {rows}",
            ends_up(lambda r, c: (r * cols + c) % rows * cols + (r * cols + c) // rows),
        ),
        (
            "wrong pitch of y",
            f"rows of y are placed {counted(cols, 'element')} apart instead of {rows}",
            ends_up(lambda r, c: c * cols + r),
        ),
        (
            "wrong pitch of x",
            f"rows of x are taken {counted(rows, 'element')} apart instead of {cols}",
            comes_from(lambda r, c: r * rows + c),
        ),
    ]
    for side in _TILES:

        def moved(r: Index, c: Index, n: int = side) -> Index:
            return (c // n * n + r % n) * rows + r // n * n + c % n

        def turned(r: Index, c: Index, n: int = side) -> Index:
            return (r // n * n + c % n) * rows + c // n * n + r % n

        tiles = f"{side} x {side} tiles"
        patterns += [
            ("tiles not turned", f"{tiles} are in the right places, their elements not transposed", ends_up(moved)),
            ("tiles not moved", f"elements are transposed within {tiles}, but the tiles are not", ends_up(turned)),
        ]
    return patterns


def _missing(y: Matrix, x: Matrix, unwritten: NDArray[np.bool_]) -> Mistake:
    """The mistake of an output of which all that was written is right."""
    rows, cols = x.shape
    lost = unwritten.reshape(cols, rows).T
    kept_rows, kept_cols = np.flatnonzero(~lost.all(axis=1)), np.flatnonzero(~lost.all(axis=0))
    down, along = int(kept_rows[-1]) + 1, int(kept_cols[-1]) + 1
    at, count = int(np.flatnonzero(unwritten)[0]), int(np.count_nonzero(unwritten))
    edge = np.ones_like(lost)
    edge[:down, :along] = False
    if np.array_equal(edge, lost):
        lost_ends = ((rows - down, "row"), (cols - along, "column"))
        ends = [f"last {noun if n == 1 else counted(n, noun)}" for n, noun in lost_ends if n]
        return Mistake("edge missing", f"missing from y: the {' and the '.join(ends)} of x", at)
    place = divmod(at, rows)
    return Mistake(
        "elements never written", f"{count} of {counted(y.size, 'element')}; the first is y[{place[0]}, {place[1]}]", at
    )


def _one(y: Matrix, expected: Matrix, x: Matrix, at: int) -> str:
    """One wrong element, in matrix coordinates where its value is in x."""
    place = divmod(at, y.shape[1])
    got, due = (f"0x{bits_of(matrix[place]):0{2 * y.itemsize}x}" for matrix in (y, expected))
    if y.itemsize < _TELLING:
        return f"y[{place[0]}, {place[1]}] is {got} and should be {due}"
    source = int(_sources(y[place].reshape(1, 1), x)[0])
    got = "x[{}, {}]".format(*divmod(source, x.shape[1])) if source >= 0 else f"{got} (not an element of x)"
    due = "x[{}, {}]".format(*divmod(int(_sources(expected[place].reshape(1, 1), x)[0]), x.shape[1]))
    return f"y[{place[0]}, {place[1]}] is {got} and should be {due}"
