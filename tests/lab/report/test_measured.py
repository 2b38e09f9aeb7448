import json

import pytest

from cornerturn.errors import UsageError
from cornerturn.lab.report import read_measured


def bench_file(tmp_path, **changes):
    timed = {"kernel": "naive", "rows": 64, "cols": 96, "valid": True, "seconds": 2e-6, "gbps": 24.5, "roof_share": 0.5}
    results = [timed | changes, timed | {"rows": 128} | changes, timed | {"kernel": "view", "seconds": None}]
    path = tmp_path / "h200.json"
    path.write_text(json.dumps({"device": {"name": "NVIDIA H200"}, "results": results}))
    return path


def test_times_are_read_size_by_size(tmp_path):
    first, second = read_measured(bench_file(tmp_path))
    assert (first.label, first.device, first.rows, first.cols) == ("h200", "NVIDIA H200", 64, 96)
    assert [(time.kernel, time.seconds, time.roof_share) for time in first.times] == [("naive", 2e-6, 0.5)]
    assert second.rows == 128


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", '{"device": {"name": "H200"}, "results": [1]}', '{"device": 1}', "[" * 100_000]
)
def test_a_file_that_bench_did_not_write_is_refused(tmp_path, text):
    path = tmp_path / "other.json"
    path.write_text(text)
    with pytest.raises(UsageError, match="not the JSON that `cornerturn bench --json FILE` writes"):
        read_measured(path)


@pytest.mark.parametrize(
    "changes",
    [
        *({name: value} for name in ("seconds", "gbps", "roof_share") for value in (float("nan"), float("inf"), 0, -1)),
        *({name: value} for name in ("rows", "cols") for value in (float("inf"), 0, -1, 1.5, True, "8", 10**12)),
        {"rows": 10**400},
        {"seconds": 10**400},
    ],
)
def test_numbers_that_no_measurement_gives_are_refused(tmp_path, changes):
    with pytest.raises(UsageError, match="not the JSON that `cornerturn bench --json FILE` writes"):
        read_measured(bench_file(tmp_path, **changes))


def test_a_number_beyond_a_float_is_refused(tmp_path):
    path = bench_file(tmp_path)
    path.write_text(path.read_text().replace("2e-06", "1e999"))
    with pytest.raises(UsageError, match="not the JSON"):
        read_measured(path)


def test_a_file_without_times_is_refused(tmp_path):
    with pytest.raises(UsageError, match="holds no times"):
        read_measured(bench_file(tmp_path, seconds=None))
    with pytest.raises(UsageError, match="no such file"):
        read_measured(tmp_path / "none.json")
