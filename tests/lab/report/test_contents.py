import pytest

from cornerturn.kernels.catalogue import find
from cornerturn.lab.explanation import explain
from cornerturn.lab.matrices import distinct
from cornerturn.lab.measuring import bench_on_emulator
from cornerturn.lab.report import contents, steps
from cornerturn.toolchain import DEFAULT_ARCH

NAMES = ["naive", "shared_no_padding", "shared_padding", "f32_diagonal2d", "copy", "view"]
ENTRIES = [find(name) for name in NAMES]


@pytest.fixture(scope="module")
def record():
    return contents(ENTRIES, 64, 96)


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
