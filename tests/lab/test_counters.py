import stat
import sys
from dataclasses import replace

import pytest

from cornerturn.errors import DeviceError
from cornerturn.kernels.catalogue import find
from cornerturn.lab import counters, run_emulated
from cornerturn.lab.counters import (
    COUNTERS,
    CounterComparison,
    compare_counters,
    emulated_counters,
    parse_table,
    read_counters,
)
from cornerturn.lab.matrices import distinct

HEADING = ",".join(f'"{name}"' for name in ("ID", "Kernel Name", *(counter.metric for counter in COUNTERS)))


def row(number, values):
    return ",".join(f'"{cell}"' for cell in (number, "k", *(f"{value:,}" for value in values)))


def emulated(name, rows, cols):
    return emulated_counters(run_emulated(find(name), distinct(rows, cols)).emulation.accesses)


def test_the_emulators_numbers_for_a_padded_tile():
    assert emulated("shared_padding", 64, 32) == {
        "global load requests": 64,
        "global store requests": 64,
        "global load sectors": 256,
        "global store sectors": 256,
        "global sectors": 512,
        "global sectors, ideal": 512,
        "global lines": 128,
        "shared load requests": 64,
        "shared store requests": 64,
        "shared wavefronts": 128,
        "shared wavefronts, ideal": 128,
    }


def test_asynchronous_copies_are_no_shared_store_requests():
    plain, asynchronous = emulated("shared_padding", 32, 128), emulated("tiled_async", 32, 128)
    assert plain["shared store requests"] == 128
    assert asynchronous["shared store requests"] == 0
    assert {**asynchronous, "shared store requests": 128} == plain


def test_a_table_of_nsight_compute_is_read():
    units = ",".join(['""', '""', *['"sector"'] * len(COUNTERS)])
    values = [1000 * n for n in range(len(COUNTERS))]
    lines = ["==PROF== Connected to process 1", HEADING, units, row(0, values), row(1, reversed(values)), "other"]
    first, second = parse_table(lines)
    assert list(first.values()) == values
    assert list(second.values()) == values[::-1]
    assert parse_table(["==ERROR== nothing"]) == []


def profiler(tmp_path, monkeypatch, script):
    """A program in place of ncu."""
    program = tmp_path / "ncu"
    program.write_text(f"#!{sys.executable}\nimport sys\n{script}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(counters, "find_ncu", lambda: str(program))


def test_a_command_runs_under_nsight_compute(tmp_path, monkeypatch):
    values = list(range(len(COUNTERS)))
    shown = (HEADING, row("", values), row(0, values))
    profiler(
        tmp_path,
        monkeypatch,
        f"print(*sys.argv, file=open({str(tmp_path / 'asked')!r}, 'w'))\nprint(*{shown!r}, sep='\\n')",
    )
    assert read_counters(["program", "argument"], launches=1) == [
        dict(zip((c.name for c in COUNTERS), values, strict=True))
    ]
    asked = (tmp_path / "asked").read_text().split()
    assert asked[-2:] == ["program", "argument"]
    assert asked[1:3] == ["--clock-control", "none"]
    assert asked[asked.index("--metrics") + 1].split(",") == [counter.metric for counter in COUNTERS]


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("print('==ERROR== ERR_NVGPUCTRPERM: no permission'); sys.exit(1)", "an administrator can allow it"),
        ("sys.exit('Error: no device')", "counted 0 of 2 launches: Error: no device"),
        (f"print({HEADING!r})", "counted 0 of 2 launches"),
    ],
)
def test_what_goes_wrong_is_said(tmp_path, monkeypatch, script, message):
    profiler(tmp_path, monkeypatch, script)
    with pytest.raises(DeviceError, match=message):
        read_counters(["program"], launches=2)


def test_without_nsight_compute(monkeypatch):
    monkeypatch.setattr(counters, "find_ncu", lambda: None)
    with pytest.raises(DeviceError, match="Nsight Compute, whose program ncu is not on PATH"):
        read_counters(["program"], launches=1)


def test_both_are_compared(monkeypatch):
    kernels = [find("naive"), find("tiled_32")]
    right = [emulated(kernel.name, 64, 64) for kernel in kernels]
    hardware = [right[0], {**right[1], "global load sectors": right[1]["global load sectors"] + 7}]
    monkeypatch.setattr(counters, "measure", lambda names, shape: hardware)
    steps = []
    compared = compare_counters(kernels, (64, 64), step=lambda kernel, done: steps.append((kernel, done)))
    assert [found.differences for found in compared] == [{}, {"global load sectors": 7}]
    assert steps[-1] == ("tiled_32", 2)


def test_a_comparison_of_equals_has_no_difference():
    same = CounterComparison("k", 1, 1, {"a": 1}, {"a": 1})
    assert same.differences == {}
    assert replace(same, measured={"a": 0}).differences == {"a": -1}
