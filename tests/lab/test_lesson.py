"""Every lesson is computed; what the laboratory is fed decides the verdict."""

import json
from dataclasses import asdict
from types import SimpleNamespace

import pytest

from cornerturn.errors import CornerturnError
from cornerturn.kernels.catalogue import find
from cornerturn.kernels.kernel import Kernel
from cornerturn.lab.evidence import Fact, Numbers
from cornerturn.lab.lesson import Lesson, learn
from cornerturn.lab.lesson_book import LESSONS, find_lessons
from cornerturn.toolchain import unavailable_reason

IN_COUNTS = {"contiguous-write", "vector-on-cheap-end", "diagonal", "register-vectors", "block-size"}


@pytest.fixture(scope="module")
def numbers():
    return Numbers(256, 256)


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
def test_a_lesson_is_judged_by_counts(numbers, lesson):
    kernels = [entry for entry in map(find, lesson.kernels) if isinstance(entry, Kernel)]
    finding = learn(lesson, numbers)
    if any(unavailable_reason(kernel.source) for kernel in kernels):
        assert finding.verdict == "not installed"
        return
    expected = {"register-traffic": "does not hold here", "launch-overhead": "needs a GPU"}
    expected |= dict.fromkeys(IN_COUNTS, "holds in counts")
    assert finding.verdict == expected.get(lesson.name, "holds"), finding.facts
    assert (finding.facts == ()) == (finding.verdict == "needs a GPU")
    assert json.loads(json.dumps(finding.to_json()))["evidence"] == [asdict(fact) for fact in finding.facts]


def timed(monkeypatch, seconds):
    """A laboratory with a GPU on which each kernel takes what ``seconds`` says."""
    numbers = Numbers(256, 256, device=object())

    def run(kernel, x, device, plan):
        return SimpleNamespace(timing=SimpleNamespace(median=seconds(kernel.name, *x.shape)))

    monkeypatch.setattr("cornerturn.lab.evidence.run_on_gpu", run)
    return numbers


@pytest.mark.parametrize(
    ("name", "seconds", "verdict"),
    [
        ("contiguous-write", {"f32_row2col": 1, "f32_row2col2d": 1}, "holds"),
        ("contiguous-write", {"f32_row2col": 1, "f32_row2col2d": 2}, "does not hold here"),
        ("vector-on-cheap-end", {}, "holds"),
        ("vector-on-cheap-end", {"f32x4_col2row": 1}, "does not hold here"),
        ("padding", {"shared_padding": 1}, "holds"),
        ("padding", {}, "does not hold here"),
        ("diagonal", {"f32_diagonal2d": 3}, "holds"),
        ("diagonal", {"f32_diagonal2d": 1.5}, "does not hold here"),
        ("block-size", {"tiled_16": 1, "tiled_32": 0.5}, "holds"),
        ("block-size", {"tiled_16": 1, "tiled_32": 0.95}, "does not hold here"),  # less than 10% apart: equal
        ("block-size", {"tiled_16": 1, "tiled_32": 1.5}, "does not hold here"),
        ("launch-overhead", {}, "holds"),
    ],
)
def test_times_decide_where_a_gpu_is_there(monkeypatch, name, seconds, verdict):
    numbers = timed(monkeypatch, lambda kernel, rows, cols: seconds.get(kernel, 2) * 1e-6)
    (lesson,) = find_lessons([name])
    finding = learn(lesson, numbers)
    assert finding.verdict == verdict, finding.facts
    assert any(fact.timed for fact in finding.facts)


def test_launch_overhead_ends_somewhere(monkeypatch):
    numbers = timed(monkeypatch, lambda kernel, rows, cols: rows * cols * 1e-9)
    assert learn(find_lessons(["launch-overhead"])[0], numbers).verdict == "does not hold here"


def test_evidence_that_cannot_be_computed_is_no_verdict(numbers):
    def fail(_):
        raise CornerturnError("no")
        yield Fact("", True)

    finding = learn(Lesson("x", "X.", (), fail), numbers)
    assert (finding.verdict, finding.reason, finding.facts) == ("no evidence", "no", ())


def test_a_size_that_a_kernel_refuses_gives_no_evidence():
    finding = learn(find_lessons(["diagonal"])[0], Numbers(8, 9))
    assert finding.verdict == "no evidence"
    assert "f32_diagonal2d refuses 8x9: rows and cols must be equal" in finding.reason


def test_a_wrong_kernel_is_no_evidence(monkeypatch):
    monkeypatch.setattr("cornerturn.lab.run.expected_output", lambda kernel, x: ~x.T)
    finding = learn(find_lessons(["coalescing"])[0], Numbers(32, 32))
    assert finding.verdict == "no evidence"
    assert "f32_col2row is wrong at 32x32" in finding.reason
