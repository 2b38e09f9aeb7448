import json
import math

import pytest

from cornerturn.measure.cases import Case
from cornerturn.measure.compare import Measurement
from cornerturn.measure.summary import MARGINS, WORST, Shares, summarize


def row(rows, engine, seconds, dtype="float32", status="valid", kernel=None):
    valid = status == "valid"
    timed = (seconds, 1.0) if valid else (None, None)
    return Measurement(Case((rows, 5), (1, 0)), dtype, engine, 40 * rows, status, *timed, None, kernel)


def test_shares_are_geometric_means_and_percentiles():
    shares = Shares.of([i / 100 for i in range(1, 102)])
    assert (shares.moves, shares.p5, shares.p10, shares.worst) == (101, pytest.approx(0.06), pytest.approx(0.11), 0.01)
    assert Shares.of([0.25, 1.0]).mean == pytest.approx(0.5)


def test_elements_are_told_apart_by_their_size():
    results = [row(2, "cornerturn", 2.0, "bfloat16"), row(3, "cornerturn", 4.0, "float16")]
    results += [row(4, "cornerturn", 1.0, "uint8"), row(5, "copy", 1.0, "uint8")]
    summary = summarize(results)
    assert list(summary.elements) == [1, 2]
    assert [shares.moves for shares in summary.elements.values()] == [1, 2]
    assert summary.elements[2].mean == pytest.approx(math.sqrt(1 / 8))
    assert summary.whole.moves == 3


def test_a_rival_is_ahead_by_more_than_each_margin():
    own = [1.0, 1.02, 1.03, 1.06, 1.25, 1.3, 0.5]
    results = [row(index + 2, "cornerturn", seconds) for index, seconds in enumerate(own)]
    results += [row(index + 2, "other", 1.0) for index in range(len(own))]
    (rival,) = summarize(results).rivals
    assert (rival.engine, rival.moves, rival.mean) == ("other", 7, pytest.approx(1.0))
    assert rival.ahead == tuple(sum(seconds > 1 + margin for seconds in own) for margin in MARGINS) == (4, 3, 1)


def test_only_moves_that_both_did_are_compared():
    results = [row(2, "cornerturn", 1.0), row(3, "cornerturn", 1.0, status="wrong"), row(4, "cornerturn", 2.0)]
    results += [row(2, "other", 0.5), row(3, "other", 0.5), row(4, "other", 1.0, status="refused")]
    summary = summarize([*results, row(2, "picky", 1.0, status="refused")])
    (rival,) = summary.rivals
    assert (rival.moves, rival.ahead, rival.ours) == (1, (1, 1, 1), pytest.approx(1.0))
    assert (summary.whole.moves, summary.invalid) == (2, 1)


def test_the_worst_come_first_and_are_not_too_many():
    results = [row(index, "cornerturn", float(index), kernel=f"k{index}") for index in range(2, 30)]
    worst = summarize(results).worst
    assert [one.kernel for one in worst] == [f"k{index}" for index in range(29, 29 - WORST, -1)]


def test_json():
    report = json.loads(json.dumps(summarize([row(2, "cornerturn", 2.0, kernel="k"), row(2, "other", 1.0)]).to_json()))
    assert report["shares"] == {"moves": 1, "mean": 0.5, "p5": 0.5, "p10": 0.5, "worst": 0.5}
    assert report["rivals"] == [
        {"engine": "other", "moves": 1, "mean": 1.0, "ours": 0.5, "ahead_2": 1, "ahead_5": 1, "ahead_25": 1}
    ]
    assert report["worst"][0]["kernel"] == "k"
    assert set(report["elements"]) == {"4"}


def test_nothing_measured_is_no_error():
    assert summarize([row(2, "cornerturn", 1.0, status="failed")]).to_json() == {
        "shares": None,
        "elements": {},
        "rivals": [],
        "worst": [],
        "invalid": 1,
    }
