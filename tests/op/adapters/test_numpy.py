"""What is remembered of earlier calls: the same layout is moved alike, and nothing else is taken for it."""

from typing import Any

import numpy as np
import pytest

from cornerturn.errors import UsageError
from cornerturn.op.adapters import numpy as adapter
from cornerturn.op.adapters.numpy import ADAPTER, few, known
from cornerturn.op.cpu.plan import Plan, plan_move
from cornerturn.op.cpu.way import NUMPY_COPY, Candidate


@pytest.fixture(autouse=True)
def nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapter, "_calls", {})


def distinct(shape: tuple[int, ...], dtype: str = "u4", start: int = 0) -> np.ndarray:
    return np.arange(start, start + np.prod(shape), dtype=dtype).reshape(shape)


SMALL = [
    ((70, 90), None),
    ((70, 90), (1, 0)),
    ((30, 5, 40), (2, 0, 1)),
    ((30, 5, 40), [-1, 0, 1]),
    ((64, 2), (0, 1)),
]


@pytest.mark.parametrize(("shape", "axes"), SMALL)
@pytest.mark.parametrize("into", [False, True], ids=["new", "out"])
def test_a_layout_that_comes_again_is_moved_alike(shape: tuple[int, ...], axes: Any, into: bool) -> None:
    for start in (0, 1000):
        x = distinct(shape, start=start)
        expected = x.transpose(axes)
        out = np.zeros(expected.shape, x.dtype) if into else None
        axes_given = tuple(axes) if isinstance(axes, list) else axes
        if start:
            y = known(x, axes_given, out)
            assert y is not None
        else:
            assert known(x, axes_given, out) is None
            y = ADAPTER.transpose(x, axes, out)
        assert (y is out) == into
        np.testing.assert_array_equal(y, expected, strict=True)
        assert not np.may_share_memory(x, y)


def test_what_numpy_copies_is_remembered_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def numpy_copies(source: Any, destination: Any) -> Plan:
        return Plan(plan_move(source, destination).problem, (Candidate(NUMPY_COPY, None, False, False, 0),))

    monkeypatch.setattr(adapter, "plan_move", numpy_copies)
    monkeypatch.setattr(adapter.engine, "run", None)
    x, out = distinct((70, 90)), np.zeros((90, 70), np.uint32)
    ADAPTER.transpose(distinct((70, 90)))
    ADAPTER.transpose(distinct((70, 90)), None, np.zeros((90, 70), np.uint32))
    y = known(x, None, None)
    assert known(x, None, out) is out
    assert y is not None
    assert (y == x.T).all() and (out == x.T).all()
    assert not np.may_share_memory(x, y)


X = distinct((70, 90))
READ_ONLY = np.zeros((90, 70), np.uint32)
READ_ONLY.flags.writeable = False


@pytest.mark.parametrize(
    ("x", "axes", "out"),
    [
        (X[:, ::-1], None, None),
        (X.T, None, None),
        (X.view("f4"), None, None),
        (X.view(">u4"), None, None),
        (X[:69], None, None),
        (X, (1.0, 0.0), None),
        (X, (0, 1), None),
        (X, np.array([1, 0]), None),
        (X, None, READ_ONLY),
        (X, None, np.zeros((90, 70), np.uint32).view(np.ma.MaskedArray)),
        (X, None, np.zeros((90, 140), np.uint32)[:, ::2]),
        (X, None, X.reshape(90, 70)),
        (X, None, [[0]]),
    ],
)
def test_nothing_else_is_taken_for_it(x: np.ndarray, axes: Any, out: Any) -> None:
    ADAPTER.transpose(X)
    ADAPTER.transpose(X, (1, 0))
    ADAPTER.transpose(X, None, np.zeros((90, 70), np.uint32))
    assert known(X, None, None) is not None
    assert known(x, axes, out) is None


def test_an_array_of_a_subclass_is_not_remembered() -> None:
    class Plain(np.ndarray):
        pass

    y = ADAPTER.transpose(X.view(Plain))
    assert type(y) is np.ndarray
    assert known(X, None, None) is None


def test_no_more_than_some_layouts_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapter, "_CALLS_MAX", 3)
    for rows in range(40, 45):
        ADAPTER.transpose(distinct((rows, 50)))
    assert [known(distinct((rows, 50)), None, None) is not None for rows in range(40, 45)] == [
        *([False] * 3),
        *([True] * 2),
    ]


@pytest.mark.parametrize(
    ("x", "out", "message"),
    [
        (np.ma.masked_greater(X, 5), None, r"would lose its mask: transpose x\.data and x\.mask"),
        (np.array([[None]]), None, "dtype object holds references; use numpy.transpose"),
        (X, READ_ONLY, "out is read-only: pass a writable array"),
        (X, np.ma.zeros((90, 70), np.uint32), r"out must not be a masked array, .*: pass out\.data"),
    ],
)
def test_what_would_lose_something_is_refused(x: np.ndarray, out: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        ADAPTER.transpose(x, None, out)


FEW = distinct((3, 4))
OWN = np.arange(9.0)
LOCKED = np.zeros((4, 3), np.uint32)
LOCKED.flags.writeable = False


@pytest.mark.parametrize("axes", [None, (1, 0), [-1, 0], (0, 1)])
@pytest.mark.parametrize("dtype", ["?", "i1", ">u2", "f4", "c16"])
def test_a_few_elements_are_moved_by_numpy(axes: Any, dtype: str) -> None:
    x = FEW.astype(dtype)
    for source in (x, x[::-1, ::2]):  # one owns its memory, one does not
        expected = source.transpose(axes)
        for out in (
            None,
            np.zeros(expected.shape, dtype),
            np.zeros(40, dtype)[3:][: expected.size].reshape(expected.shape),
        ):
            y = few(source, axes, out)
            assert y is not None
            assert out is None or y is out
            assert y.flags.c_contiguous and not np.may_share_memory(y, source)
            np.testing.assert_array_equal(y, expected, strict=True)


@pytest.mark.parametrize(
    ("x", "axes", "out"),
    [
        (FEW.astype(object), None, None),
        (np.zeros((3, 4), "V0"), None, None),  # copy() makes a byte of none
        (np.zeros((3, 4), "u1,O"), None, None),
        (np.zeros((1,) * 33), None, None),
        (FEW, b"\x01\x00", None),
        (FEW, (0, 0), None),
        (FEW, (1.0, 0.0), None),
        (FEW, None, LOCKED),
        (FEW, None, np.zeros((3, 4), np.uint32)),
        (FEW, None, np.zeros((4, 3), np.int32)),
        (FEW, None, np.zeros((4, 6), np.uint32)[:, ::2]),
        (FEW, None, np.zeros((4, 3), np.uint32).view(np.ma.MaskedArray)),
        (FEW, None, FEW.reshape(4, 3)),
        (OWN, None, OWN),
    ],
)
def test_what_breaks_a_rule_is_left_to_the_checks(x: np.ndarray, axes: Any, out: Any) -> None:
    assert few(x, axes, out) is None
