import pytest

from cornerturn.errors import DeviceError, UsageError
from cornerturn.measure import compare as rounds
from cornerturn.measure import contest
from cornerturn.measure.cases import Case
from cornerturn.measure.comparison import Drawn
from cornerturn.measure.contest import compare, contest_on
from cornerturn.measure.moves import random_moves


@pytest.fixture(autouse=True)
def _few_rounds(monkeypatch):
    monkeypatch.setattr(rounds, "ROUNDS", 2)


def test_a_comparison_holds_all_cases_and_engines():
    found = compare("30x20", "5x4x3:0,2,1", dtypes=["uint8", "float32"], engines=["NumPy"])
    assert [(row.case.name, row.dtype, row.engine, row.status) for row in found] == [
        (case, dtype, engine, "valid")
        for case in ("30x20", "5x4x3:0,2,1")
        for dtype in ("uint8", "float32")
        for engine in ("copy", "cornerturn", "NumPy")
    ]
    assert "30x20" in str(found)


def test_random_moves_are_those_of_their_seed():
    found = compare(moves=3, seed=5, sizes=(1024, 4096), engines=["NumPy"])
    assert found.drawn == Drawn(3, 5, 1024, 4096)
    assert list(dict.fromkeys(row.case for row in found)) == [case for case, _ in random_moves(3, 5, 1024, 4096)]


def test_a_case_with_a_dtype_of_its_own_keeps_it():
    mine = contest_on("cpu", ["NumPy"], (), many=False)
    own = Case((2, 3), (1, 0), dtype="float16", label="own")
    assert [dtype for _, dtype in mine.pairs([own], ["int8"])] == [mine.adapted(own).dtype]


@pytest.mark.parametrize(
    ("asked", "error", "message"),
    [
        ({"device": "tpu"}, UsageError, "device must be cpu or gpu: got 'tpu'"),
        ({"engines": ["CuPy"]}, UsageError, "--engine CuPy: it is not compared on this device"),
        ({"dtypes": ["bfloat16"]}, UsageError, "--dtype bfloat16: NumPy has no such dtype"),
        ({"device": "gpu"}, DeviceError, "none: choose --device cpu"),
    ],
)
def test_what_cannot_be_measured_is_said(monkeypatch, asked, error, message):
    def refuse():
        raise DeviceError("none")

    monkeypatch.setattr(contest, "open_device", refuse)
    with pytest.raises(error, match=message):
        compare("4x4", **asked)
