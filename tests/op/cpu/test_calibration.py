import json
from pathlib import Path

import pytest

from cornerturn.op.cpu import calibration, store


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CORNERTURN_CACHE", str(tmp_path))
    calibration.stream_ratio.cache_clear()
    yield tmp_path
    calibration.stream_ratio.cache_clear()


def test_a_processor_is_measured_once(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    measured = []
    monkeypatch.setattr(calibration, "_measured", lambda kernel: measured.append(kernel) or 0.5)
    assert calibration.stream_ratio() == 0.5
    calibration.stream_ratio.cache_clear()
    assert calibration.stream_ratio() == 0.5
    assert len(measured) == 1
    (file,) = cache.glob("*.json")
    assert json.loads(file.read_text())["stream_ratio"] == 0.5


@pytest.mark.parametrize("damaged", ["", "{", '{"stream_ratio": "fast"}', '{"stream_ratio": 1e9}', "[]"])
def test_a_damaged_figure_is_measured_anew(cache: Path, monkeypatch: pytest.MonkeyPatch, damaged: str) -> None:
    calibration._path().write_text(damaged)
    monkeypatch.setattr(calibration, "_measured", lambda kernel: 0.25)
    assert calibration.stream_ratio() == 0.25


def test_where_nothing_can_be_measured(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "kernel", lambda name: None)
    assert calibration.stream_ratio() == 1.0


def test_a_measured_ratio_is_a_number(cache: Path) -> None:
    assert 0.1 <= calibration.stream_ratio() <= 10
