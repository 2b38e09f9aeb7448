import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from cornerturn.cli import bench_commands, main, tune_commands
from cornerturn.errors import DeviceError
from cornerturn.gpu import DeviceFacts
from cornerturn.kernels.production.h200 import H200
from cornerturn.measure.tune import Choice, decisions
from cornerturn.op.gpu import tuned
from cornerturn.op.gpu.tuned import store, tiles_path, tuned_elements

DEVICE = DeviceFacts(0, "NVIDIA H200", "sm_90", 132, 60 << 20, 140 << 30, True, "13.0")
CHOICES = {
    2: [
        Choice(
            "aligned", 2, "128x128x4, 512 threads, wide reads", "64x128x4, 256 threads", 4e-5, 3.2e-5, 3.0e-5, 10**8
        ),
        Choice("aligned, small", 2, "64x64x4, 64 threads", "64x64x4, 64 threads", 4e-5, 4e-5, 3.8e-5, 10**8),
    ],
    4: [Choice("ragged", 4, "64x64x4, 256 threads", "64x32x2, 128 threads", None, 4e-5, 3e-5, 10**8)],
}


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["tune", *map(str, arguments)])


class FakeDevice:
    facts = DEVICE


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine with an H200, on which what is found is known before."""

    def tune_device(device, elements, progress):
        for element in elements:
            progress(0, "at work", 0.5)
            store(DEVICE, H200, [element])
            yield CHOICES.get(element, CHOICES[2])

    folder = tmp_path / "cache"
    monkeypatch.setenv("CORNERTURN_CACHE", str(folder))
    monkeypatch.setattr(tune_commands, "open_device", FakeDevice)
    monkeypatch.setattr(tune_commands, "facts_of", lambda ordinal: DEVICE)
    monkeypatch.setattr(tune_commands, "tune_device", tune_device)
    tuned._load_once.cache_clear()
    return folder


class TestTune:
    def test_all_element_sizes_are_tuned(self) -> None:
        done = run()
        assert (done.exit_code, done.stderr) == (0, f"kept in {tiles_path(DEVICE)}\n")
        assert tuned_elements(DEVICE) == (1, 2, 4, 8, 16)

    def test_those_asked_for_each_once(self) -> None:
        assert run("--element", 4, "--element", 2, "--element", 4).exit_code == 0
        assert tuned_elements(DEVICE) == (2, 4)

    def test_the_table_says_what_was_chosen_and_what_it_gains(self) -> None:
        lines = run("--element", 2, "--element", 4).stdout.splitlines()
        assert lines[0] == "tiles for NVIDIA H200 (sm_90), 132 multiprocessors"
        aligned, short = (next(line for line in lines if kind in line) for kind in ("aligned  ", "aligned, small"))
        assert aligned.split() == [
            *("2", "aligned", "128x128x4,", "512", "threads,", "wide", "reads", "64x128x4,", "256", "threads"),
            *("3,125", "94%", "+25.0%"),
        ]
        assert short.split() == ["2", "aligned,", "small", "64x64x4,", "64", "threads", "default", "2,500", "95%", "-"]
        assert next(line for line in lines if "ragged" in line).split()[-1] == "new"

    def test_it_fits_a_narrow_terminal(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("COLUMNS", "80")
        assert max(map(len, run().stdout.splitlines())) <= 80

    def test_json(self, tmp_path: Path) -> None:
        path = tmp_path / "tuned.json"
        assert run("--element", 2, "--json", path).exit_code == 0
        report = json.loads(path.read_text())
        assert report["device"]["name"] == "NVIDIA H200"
        assert report["results"] == [choice.to_json() for choice in CHOICES[2]]

    def test_a_file_that_cannot_be_written_is_said_before_the_work(self, tmp_path: Path) -> None:
        done = run("--json", tmp_path / "no" / "such" / "folder.json")
        assert done.exit_code == 2
        assert tuned_elements(DEVICE) == ()

    def test_a_cache_that_cannot_be_written_too(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        monkeypatch.setenv("CORNERTURN_CACHE", str(tmp_path / "file"))
        done = run()
        assert done.exit_code == 2
        assert done.stderr == (
            f"error: the cache {tmp_path / 'file'} is not writable: set CORNERTURN_CACHE to a folder that is\n"
        )

    @pytest.mark.parametrize("error", [KeyboardInterrupt(), DeviceError("the device is lost")])
    def test_what_was_measured_before_the_end_is_shown(self, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
        def ended(device, elements, progress):
            yield CHOICES[2]
            raise error

        monkeypatch.setattr(tune_commands, "tune_device", ended)
        done = run()
        assert done.exit_code == (2 if isinstance(error, DeviceError) else 130)
        assert "aligned, small" in done.stdout
        assert done.stderr.splitlines()[-1].startswith("error: ")

    def test_interrupted_before_anything_was_found_it_shows_nothing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def ended(device, elements, progress):
            raise KeyboardInterrupt
            yield

        monkeypatch.setattr(tune_commands, "tune_device", ended)
        done = run()
        assert (done.exit_code, done.stdout, done.stderr) == (130, "", "error: interrupted\n")

    @pytest.mark.parametrize("option", [[], ["--forget"], ["--element", "8"]])
    def test_without_a_gpu_that_is_said_in_one_sentence(
        self, monkeypatch: pytest.MonkeyPatch, option: list[str]
    ) -> None:
        def refuse() -> None:
            raise DeviceError("no NVIDIA driver found")

        monkeypatch.setattr(tune_commands, "open_device", refuse)
        done = run(*option)
        assert (done.exit_code, done.stdout) == (2, "")
        assert done.stderr.startswith("error: no NVIDIA driver found: tune needs an NVIDIA GPU with its driver; ")
        assert done.stderr.count("\n") == 1

    @pytest.mark.parametrize("element", ["3", "32", "four"])
    def test_a_size_that_no_element_has(self, element: str) -> None:
        assert run("--element", element).exit_code == 2

    def test_the_bar_ends_where_the_work_does(self, monkeypatch: pytest.MonkeyPatch) -> None:
        totals = []
        real = tune_commands.progress_bar
        monkeypatch.setattr(tune_commands, "progress_bar", lambda total: totals.append(total) or real(total))
        run("--element", 16)
        assert totals == [len(decisions([16]))]


class TestForget:
    def test_what_was_tuned_is_removed(self, cache: Path) -> None:
        run()
        done = run("--forget")
        assert (done.exit_code, done.stdout, done.stderr) == (0, "", "NVIDIA H200: what was tuned is removed\n")
        assert tuned_elements(DEVICE) == ()
        assert list(cache.iterdir()) == []

    def test_where_there_is_nothing_that_is_said(self) -> None:
        assert run("--forget").stderr == "NVIDIA H200: nothing was tuned\n"

    @pytest.mark.parametrize("option", [["--element", "4"], ["--json", "x.json"]])
    def test_it_stands_alone(self, option: list[str]) -> None:
        done = run("--forget", *option)
        assert done.exit_code == 2
        assert "--forget excludes --element and --json" in done.stderr


class TestInfo:
    def test_an_untuned_device(self) -> None:
        assert tune_commands.tuned_fact() == "those of an H200; cornerturn tune measures the best ones here"

    def test_a_tuned_one(self) -> None:
        run("--element", 4, "--element", 16)
        assert tune_commands.tuned_fact() == "tuned for elements of 4, 16 bytes"

    def test_info_shows_it_where_there_is_a_gpu(self, monkeypatch: pytest.MonkeyPatch) -> None:
        run("--element", 4)
        for reason, shown in ((None, True), ("no NVIDIA driver found", False)):
            monkeypatch.setattr(bench_commands, "unavailable_reason", lambda reason=reason: reason)
            lines = [" ".join(line.split()) for line in CliRunner().invoke(main, ["info"]).stdout.splitlines()]
            assert ("tiles tuned for elements of 4 bytes" in lines) == shown
