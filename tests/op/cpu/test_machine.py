import os
from pathlib import Path

import pytest

from cornerturn.op.cpu import machine


@pytest.fixture(autouse=True)
def fresh():
    machine.cache_bytes.cache_clear()
    machine.ways.cache_clear()
    yield
    machine.cache_bytes.cache_clear()
    machine.ways.cache_clear()


def test_caches_are_what_the_system_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for index, (kind, level, size, ways) in enumerate(
        [("Data", 1, "48K", 12), ("Instruction", 1, "32K", 8), ("Unified", 2, "2048K", 0)]
    ):
        folder = tmp_path / f"index{index}"
        folder.mkdir()
        for name, value in (("type", kind), ("level", level), ("size", size), ("ways_of_associativity", ways)):
            (folder / name).write_text(f"{value}\n")
    monkeypatch.setattr(machine, "_CACHES", tmp_path)
    assert machine.cache_bytes(1) == 48 << 10
    assert machine.cache_bytes(2) == 2 << 20
    assert machine.cache_bytes(3) == 4 << 20  # not said
    assert machine.ways(1) == 12
    assert machine.way_bytes(1) == 4 << 10
    assert machine.ways(2) == 8  # 0 says nothing


def test_caches_of_a_system_that_says_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "_CACHES", tmp_path / "none")
    assert machine.cache_bytes(1) < machine.cache_bytes(2) < machine.cache_bytes(3)


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system binds no process to processors")
def test_processors_of_this_process() -> None:
    before = os.sched_getaffinity(0)
    try:
        assert len(machine.other_processors()) == len(before) - 1
        os.sched_setaffinity(0, {min(before)})
        assert machine.processors() == 1
        assert machine.other_processors() == set()
    finally:
        os.sched_setaffinity(0, before)


def test_where_the_system_does_not_say_which_processor_runs_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    machine._current.cache_clear()
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    assert machine.other_processors() == set()
    machine._current.cache_clear()


@pytest.mark.parametrize(
    ("said", "idle"),
    [("0.88 1.66 1.55 1/86 24834\n", 3), ("9.0 9.0 9.0 7/86 24834\n", 0), ("", 4), ("0.88 1.66 1.55 -/- 1", 4)],
)
def test_idle_processors(said: str, idle: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "loadavg").write_text(said)
    load = os.open(tmp_path / "loadavg", os.O_RDONLY)
    monkeypatch.setattr(machine, "_load", lambda: load)
    monkeypatch.setattr(machine, "_online", lambda: 4)
    try:
        assert machine.idle_processors() == idle
    finally:
        os.close(load)


def test_where_the_system_does_not_say_how_busy_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> int:
        raise FileNotFoundError

    monkeypatch.setattr(machine, "_load", missing)
    assert machine.idle_processors() == machine._online() >= 1
