import json
from pathlib import Path

import pytest

from cornerturn.op.cpu import calibration, store


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CORNERTURN_CACHE", str(tmp_path))
    calibration.stream_nanoseconds.cache_clear()
    yield tmp_path
    calibration.stream_nanoseconds.cache_clear()


def test_a_processor_is_measured_once(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    measured = []
    monkeypatch.setattr(calibration, "_measured", lambda kernel: measured.append(kernel) or 0.5)
    assert calibration.stream_nanoseconds() == 0.5
    calibration.stream_nanoseconds.cache_clear()
    assert calibration.stream_nanoseconds() == 0.5
    assert len(measured) == 1
    (file,) = cache.glob("*.json")
    assert json.loads(file.read_text())["stream_nanoseconds"] == 0.5


@pytest.mark.parametrize("damaged", ["", "{", '{"stream_nanoseconds": "fast"}', '{"stream_nanoseconds": 1e9}', "[]"])
def test_a_damaged_figure_is_measured_anew(cache: Path, monkeypatch: pytest.MonkeyPatch, damaged: str) -> None:
    calibration._path().write_text(damaged)
    monkeypatch.setattr(calibration, "_measured", lambda kernel: 0.25)
    assert calibration.stream_nanoseconds() == 0.25


def test_where_nothing_can_be_measured(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "kernel", lambda name: None)
    assert calibration.stream_nanoseconds() == 0.0


def test_what_is_measured_is_a_figure_that_is_kept(cache: Path) -> None:
    measured = calibration.stream_nanoseconds()
    assert measured != 0
    assert abs(measured) <= calibration.NANOSECONDS_MAX
    calibration.stream_nanoseconds.cache_clear()
    assert calibration.stream_nanoseconds() == measured
