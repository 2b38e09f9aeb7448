from contextlib import suppress
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cornerturn.errors import UsageError
from cornerturn.lab.user.expressions import MAX_LENGTH, evaluate, split, whole

NAMES = {"rows": 100, "cols": 33, "block.x": 32}


def values(text):
    return [evaluate(tree, NAMES) for tree in split(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("7", [7]),
        ("cols", [33]),
        ("32,8", [32, 8]),
        ("ceil(cols/32), ceil(rows/32)", [2, 4]),
        ("floor(rows/32)", [3]),
        ("rows//32, rows%32", [3, 4]),
        ("rows/8", [Fraction(25, 2)]),
        ("min(rows, cols, 5), max(1, 2)", [5, 2]),
        ("ceil(rows*cols/block.x)", [104]),
        ("-(rows - cols) * 2 + 1", [-133]),
        ("2.5", [Fraction(5, 2)]),
        ("0.1", [Fraction(1, 10)]),
        (" ( rows ) ", [100]),
    ],
)
def test_arithmetic_is_exact(text, expected):
    assert values(text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("__import__('os')", "is not arithmetic"),
        ("rows.__class__", "unknown name 'rows.__class__'"),
        ("(lambda: 1)()", "is not arithmetic"),
        ("[1][0]", "is not arithmetic"),
        ("2**64", "is not arithmetic"),
        ("1 << 40", "is not arithmetic"),
        ("True", "is not arithmetic"),
        ("'a'", "is not arithmetic"),
        ("rows if cols else 1", "is not arithmetic"),
        ("ceil(1, 2)", "takes one number"),
        ("min(1)", "takes two or more"),
        ("ceil(x=1)", "is not arithmetic"),
        ("columns", "unknown name 'columns': the names are rows, cols, block.x"),
        ("1/0", "divides by zero"),
        ("1%(rows-100)", "divides by zero"),
        ("1e999", "too large"),
        ("", "is not an expression"),
        ("rows,", None),
        ("rows +", "is not an expression"),
        ("(" * 200, "is not an expression"),
        ("1+" * MAX_LENGTH + "1", "at most"),
    ],
)
def test_nothing_else_is_taken(text, message):
    if message is None:
        assert values(text) == [100]
        return
    with pytest.raises(UsageError, match=message):
        values(text)


def test_a_count_must_be_whole():
    (tree,) = split("cols/32")
    assert whole(tree, {"cols": 64}) == 2
    with pytest.raises(UsageError, match=r"cols / 32 is not whole for cols = 33: write ceil\(cols / 32\), or // for /"):
        whole(tree, {"cols": 33})


@given(rows=st.integers(1, 10**6), tile=st.integers(1, 1024))
def test_ceil_covers_the_extent(rows, tile):
    (tree,) = split(f"ceil(rows/{tile})")
    blocks = whole(tree, {"rows": rows})
    assert (blocks - 1) * tile < rows <= blocks * tile


@given(st.text(max_size=40))
def test_any_text_is_a_value_or_a_usage_error(text):
    with suppress(UsageError):
        assert all(isinstance(value, Fraction) for value in values(text))
