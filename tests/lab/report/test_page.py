"""What the page embeds: the laboratory's own numbers, times from files, and nothing that the network would bring."""

import json
import re

import pytest

from cornerturn.errors import UsageError
from cornerturn.kernels.catalogue import find
from cornerturn.lab.bench import bench_on_emulator
from cornerturn.lab.explanation import explain
from cornerturn.lab.matrices import distinct
from cornerturn.lab.report import contents, page, read_measured, steps
from cornerturn.toolchain import DEFAULT_ARCH

NAMES = ["naive", "shared_no_padding", "shared_padding", "f32_diagonal2d", "copy", "view"]
ENTRIES = [find(name) for name in NAMES]


@pytest.fixture(scope="module")
def record():
    return contents(ENTRIES, 64, 96)


def embedded(html):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.DOTALL)[1])


def test_the_results_are_those_of_bench(record):
    results = bench_on_emulator(ENTRIES, distinct(64, 96), DEFAULT_ARCH, lambda name, done: None)
    for kernel, result in zip(record["kernels"], results, strict=True):
        assert {key: kernel["result"][key] for key in result.to_json()} == result.to_json()
        assert kernel["result"]["status"] == result.status


def test_source_counts_and_diagnosis_are_those_of_explain(record):
    kernel = record["kernels"][1]
    found = explain(find("shared_no_padding"), 64, 96)
    assert kernel["source"]["lines"] == found.text.lines
    assert kernel["diagnosis"] == found.diagnosis
    assert [each["found"] for each in kernel["counts"]] == [each.found for each in found.counts]
    assert [each.get("waste") for each in kernel["counts"]] == [each.waste for each in found.counts]


def test_bytes_moved_for_each_byte_used(record):
    moved = {kernel["name"]: kernel["result"].get("moved") for kernel in record["kernels"]}
    assert moved["naive"] == [1, 8]
    assert moved["shared_padding"] == [1, 1]
    assert moved["view"] is None


def test_what_did_not_run_says_why_and_shows_nothing_more(record):
    refused, view = record["kernels"][3], record["kernels"][5]
    assert refused["result"]["refused"] == "rows and cols must be equal: got 64 x 96"
    assert view["result"]["status"] == "not materialised"
    assert "source" not in refused and "source" not in view


def test_lessons_are_those_about_these_kernels_alone(record):
    assert {lesson["name"] for lesson in record["lessons"]} >= {"padding", "staging"}
    assert "coalescing" not in {lesson["name"] for lesson in record["lessons"]}


def test_progress_never_goes_back_and_ends_within_the_steps():
    told = []
    contents(ENTRIES[:2], 64, 64, step=lambda name, done: told.append(done))
    assert told == sorted(told)
    assert 1 < told[-1] <= steps(ENTRIES[:2])


def test_the_page_holds_its_data_whole_and_asks_for_nothing(record):
    html = page(record)
    assert embedded(html) == json.loads(json.dumps(record))
    assert not re.search(r"""(src|href)=["'](?!#|data:)""", html)
    assert not re.search(r"@import|url\(|fetch\(|XMLHttpRequest", html)


def test_data_cannot_end_its_element():
    html = page({"text": "</script><script>alert(1)</script><!--"})
    assert embedded(html) == {"text": "</script><script>alert(1)</script><!--"}
    assert "alert(1)</script>" not in html


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
