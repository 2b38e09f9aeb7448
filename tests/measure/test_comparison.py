import json

from cornerturn.measure.cases import Case
from cornerturn.measure.compare import OURS, ROOF, Measurement
from cornerturn.measure.comparison import Comparison, Drawn

CASE = Case((64, 48), (1, 0))
RESULTS = (
    Measurement(CASE, "float32", ROOF, 24576, "valid", 1e-6, 1e-6),
    Measurement(CASE, "float32", OURS, 24576, "valid", 2e-6, 1e-6),
    Measurement(CASE, "float32", "other", 24576, "refused", refused="does not do this"),
)


def test_the_report_holds_what_is_valid():
    report = Comparison(RESULTS, (), "a machine", {"kind": "cpu"}).to_json()
    assert list(report) == ["device", "results"]
    assert [row["engine"] for row in report["results"]] == [ROOF, OURS]


def test_of_random_moves_it_says_how_they_were_drawn_and_sums_up():
    report = Comparison(RESULTS, (), "a machine", {"kind": "cpu"}, Drawn(1, 3, 1024, 65536)).to_json()
    assert list(report) == ["device", "moves", "results", "summary"]
    assert report["moves"] == {"count": 1, "seed": 3, "bytes": [1024, 65536]}
    json.dumps(report)


def test_it_counts_engines_and_cases():
    assert repr(Comparison(RESULTS, (), "a machine")) == "<Comparison on a machine: 3 engines, 1 case>"
    assert list(Comparison(RESULTS, (), "a machine")) == list(RESULTS)
