import json
import re
import shlex
import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pytest

from cornerturn import __version__
from cornerturn.cli import bench_commands
from cornerturn.errors import EmulatorError
from cornerturn.gpu import DeviceFacts
from cornerturn.kernels.catalogue import CATALOGUE
from cornerturn.lab import counters
from cornerturn.lab.counters import COUNTERS
from cornerturn.lab.run import run_emulated
from cornerturn.toolchain import compiler_version

from .command import COMMAND, ENVIRONMENT, assert_refused, run, saved

pytestmark = pytest.mark.usefixtures("no_gpu")


class TestList:
    def test_names_every_kernel(self):
        done = run("list")
        assert done.exit_code == 0
        assert all(f"  {entry.name} " in done.stdout for entry in CATALOGUE)


class TestInfo:
    def test_shows_versions_and_cache_wherever_it_runs(self):
        done = run("info")
        assert done.exit_code == 0
        for fact in (__version__, "GPU", "compiler", "numpy", "cache"):
            assert fact in done.stdout

    def test_works_without_compiler_and_cuda_core(self):
        code = "import sys; sys.modules['cuda'] = None; from cornerturn.cli import main; main(['info'])"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")
        assert [line.split()[0] for line in done.stdout.splitlines() if "none: " in line] == ["GPU", "compiler"]


class TestBench:
    def test_shows_the_chosen_kernels_in_the_catalogues_order(self):
        done = run("bench", "view", "tiled_32", "naive", "naive", "--size", "64x64", "--device", "emulator")
        assert done.exit_code == 0
        assert done.stderr == ""
        rows = [line.split()[0] for line in done.stdout.splitlines() if line.endswith(("valid", "a view"))]
        assert rows == ["naive", "tiled_32", "view"]

    def test_the_title_names_the_compiler_which_decides_the_instructions(self):
        title = run("bench", "copy", "view", "--size", "8x8", "--device", "emulator").stdout.splitlines()[0]
        assert title == f"8 x 8, 4-byte elements, emulator, PTX for sm_90 by {compiler_version()}"
        title = run("bench", "view", "--size", "8x8", "--device", "emulator").stdout.splitlines()[0]
        assert title == "8 x 8, 4-byte elements, emulator, PTX for sm_90"

    def test_families_and_kernels_add_up(self):
        done = run("bench", "naive", "--family", "controls", "--size", "8x8")
        assert [name for name in ("naive", "copy", "view") if f"\n{name} " in done.stdout] == ["naive", "copy", "view"]
        assert "tiled" not in done.stdout

    def test_auto_falls_back_to_the_emulator_and_says_so_in_a_line(self):
        done = run("bench", "copy", "--size", "8x8")
        assert done.exit_code == 0
        assert done.stderr == (
            "using the emulator: counts are exact, times are not measured; no GPU: no GPU in tests\n"
        )

    def test_several_sizes_make_several_tables(self):
        done = run("bench", "naive", "--size", "8x9", "--size", "9x8", "--size", "8x9")
        titles = [line for line in done.stdout.splitlines() if "4-byte elements" in line]
        assert [title.split(",")[0] for title in titles] == ["8 x 9", "9 x 8"]

    def test_a_refused_kernel_is_no_failure(self):
        done = run("bench", "f32_diagonal2d", "--size", "8x9")
        assert done.exit_code == 0
        assert "refused: rows and cols must be equal: got 8 x 9: f32_diagonal2d" in done.stdout

    def test_json_has_the_documented_shape(self, tmp_path):
        path = tmp_path / "out.json"
        done = run("bench", "--size", "32x36", "--size", "1x1", "--json", path)
        assert done.exit_code == 0
        report = json.loads(path.read_text())
        assert list(report) == ["device", "results"]
        assert report["device"]["kind"] == "emulator"
        assert report["device"]["compilers"][0] == compiler_version()
        assert [(row["kernel"], row["rows"], row["cols"]) for row in report["results"]] == [
            (entry.name, *shape) for shape in ((32, 36), (1, 1)) for entry in CATALOGUE
        ]
        assert all(
            list(row)
            == [
                *("kernel", "family", "rows", "cols", "bytes", "device", "valid", "refused"),
                *("seconds", "gbps", "roof_share", "instructions", "counters"),
            ]
            for row in report["results"]
        )

    @pytest.mark.parametrize("order", ["C", "F"])
    def test_an_input_of_ones_own(self, tmp_path, order):
        path = saved(tmp_path / "x.npy", np.array(np.random.default_rng(1).random((33, 20), np.float32), order=order))
        done = run("bench", "naive", "f32x4_col2row", "copy", "--input", path)
        assert done.exit_code == 0
        assert "33 x 20" in done.stdout
        assert done.stdout.count(" valid") == 3

    def test_an_input_of_larger_elements_goes_to_the_kernels_that_move_them(self, tmp_path):
        path = saved(tmp_path / "x.npy", np.random.default_rng(1).random((33, 20)))
        done = run("bench", "naive", "ragged_8", "--input", path)
        assert done.exit_code == 0
        assert "33 x 20, 8-byte elements" in done.stdout
        assert [line.split()[-1] for line in done.stdout.splitlines() if line.startswith(("naive", "ragged"))] == [
            "refused",
            "valid",
        ]
        assert "refused: elements must have 4 bytes: those of x have 8: naive" in done.stdout

    def test_a_picture(self, tmp_path):
        pytest.importorskip("matplotlib", reason="matplotlib is not installed")
        path = tmp_path / "plot.svg"
        assert run("bench", "naive", "--size", "8x8", "--plot", path).exit_code == 0
        assert "<svg" in path.read_text()

    def test_a_picture_without_matplotlib(self, tmp_path, monkeypatch):
        monkeypatch.setitem(sys.modules, "matplotlib.backend_bases", None)
        done = run("bench", "naive", "--plot", tmp_path / "plot.svg")
        assert (done.exit_code, done.stdout) == (2, "")
        assert done.stderr == "error: --plot needs matplotlib, which is not installed: pip install 'cornerturn[plot]'\n"
        assert list(tmp_path.iterdir()) == []

    def test_a_wrong_kernel_fails_and_is_written_down(self, tmp_path, monkeypatch):
        monkeypatch.setattr(
            "cornerturn.lab.measuring.distinct", lambda rows, cols, _: np.zeros((rows, cols), np.uint32)
        )
        monkeypatch.setattr("cornerturn.lab.run.expected_output", lambda kernel, x: ~x.T)
        path = tmp_path / "out.json"
        done = run("bench", "naive", "--size", "8x8", "--json", path)
        assert done.exit_code == 1
        assert "wrong: naive: 64 of 64 elements are wrong; the first is y[0, 0]: got 0x00000000" in done.stdout
        assert json.loads(path.read_text())["results"][0]["valid"] is False

    def test_a_kernel_that_fails_costs_no_other_its_result(self, tmp_path, monkeypatch):
        def stuck(kernel, *rest):
            if kernel.name == "naive":
                raise EmulatorError("k.cu:3: a barrier that not all threads reach")
            return run_emulated(kernel, *rest)

        monkeypatch.setattr("cornerturn.lab.measuring.run_emulated", stuck)
        path = tmp_path / "out.json"
        done = run("bench", "naive", "copy", "--size", "8x8", "--device", "emulator", "--json", path)
        assert (done.exit_code, done.stderr) == (1, "")
        assert "failed: naive: k.cu:3: a barrier that not all threads reach\n" in done.stdout
        assert [row["valid"] for row in json.loads(path.read_text())["results"]] == [False, True]

    @pytest.mark.parametrize("option", ["--json", "--plot"])
    def test_the_input_is_never_replaced(self, tmp_path, option):
        path = saved(tmp_path / "x.npy", np.zeros((4, 4), np.float32))
        link = tmp_path / ("link.json" if option == "--json" else "link.svg")
        link.symlink_to("x.npy")
        before = path.read_bytes()
        for output in (path, link):
            done = run("bench", "naive", "--input", path, option, output)
            assert (done.exit_code, done.stdout) == (2, "")
            assert done.stderr.endswith("that is the file of --input: choose another path to write to\n")
        assert path.read_bytes() == before


class TestCounters:
    def test_without_a_gpu(self):
        done = run("bench", "naive", "--counters")
        assert (done.exit_code, done.stdout) == (2, "")
        assert done.stderr.startswith("error: no GPU in tests: --counters needs an NVIDIA GPU with its driver; ")

    @pytest.mark.parametrize("option", [["--cold"], ["--plot", "x.svg"], ["--device", "emulator"]])
    def test_what_it_excludes(self, option):
        done = run("bench", "--counters", *option)
        assert done.exit_code == 2
        assert "--counters needs a GPU, and excludes" in done.stderr

    @pytest.mark.parametrize(("extra", "status"), [(0, 0), (1, 1)])
    def test_both_are_shown(self, monkeypatch, tmp_path, extra, status):
        facts = DeviceFacts(0, "a GPU", "sm_90", 1, 1 << 20, 1 << 30, False, "13.0")
        device = type("Device", (), {"facts": facts, "free_bytes": lambda self: 1 << 30})()
        monkeypatch.setattr(bench_commands, "open_device", lambda: device)
        monkeypatch.setattr(bench_commands.environment, "device_record", lambda device: {"kind": "gpu"})

        def measure(names, shape):
            real = counters.run_emulated(counters.find(names[0]), counters.distinct(*shape)).emulation.accesses
            return [{name: value + extra for name, value in counters.emulated_counters(real).items()} for _ in names]

        monkeypatch.setattr(counters, "measure", measure)
        path = tmp_path / "out.json"
        done = run("bench", "naive", "--counters", "--size", "64x64", "--json", path)
        assert done.exit_code == status, done.stderr
        assert "64 x 64, 4-byte elements, a GPU (sm_90)" in done.stdout
        assert f"{1 - extra} of 1 kernel counts alike" in done.stdout
        (result,) = json.loads(path.read_text())["results"]
        assert set(result["emulated"]) == set(result["measured"]) == {counter.name for counter in COUNTERS}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["bench", "--frob"], "No such option '--frob'."),
        (["bench", "nave"], "unknown kernel 'nave': did you mean 'naive'? `cornerturn list` shows them all"),
        (["bench", "--family", "text"], "unknown family 'text': did you mean 'textbook'? the families are"),
        (["bench", "--size"], "Option '--size' requires an argument."),
        (["bench", "--size", "4000000x4000000"], "size 4000000x4000000 needs 192,000.0 GB of main memory and "),
        (["bench", "--device", "tpu"], "'tpu' is not one of 'auto', 'gpu', 'emulator'."),
        (["bench", "--device", "gpu"], "no GPU in tests: choose --device emulator, which counts"),
        (["bench", "--repeat", "0"], "'--repeat': 0 is not in the range x>=1."),
        (["bench", "--warmup", "-1"], "'--warmup': -1 is not in the range x>=1."),
        (["bench", "--warmup", "few"], "'--warmup': 'few' is not a valid integer"),
        (["bench", "--input", "missing.npy"], "missing.npy: no such file"),
        (["bench", "--input", "x.npy", "--size", "4x4"], "--size and --input exclude each other"),
        (["bench", "--json", "missing/out.json"], "missing/out.json: cannot be written: No such file or directory"),
        (["bench", "--json", "."], ".: not a regular file: choose another path to write to"),
        (["bench", "--json", "-"], "-: results go to a file, not to standard output: choose another path to write to"),
        (["bench", "--json", "a.xyz", "--plot", "a.xyz"], "--plot a.xyz: that is the file of --json: choose another"),
        (["bench", "--plot", "plot.xyz"], "--plot plot.xyz: the ending must be one of "),
        (["list", "all"], "Got unexpected extra argument (all)"),
        (["bench", "--plot", "missing/out"], "missing/out: cannot be written: No such file or directory"),
    ],
)
def test_bad_usage_is_one_line_and_status_2(arguments, message, tmp_path, monkeypatch):
    if "--plot" in arguments:
        pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    monkeypatch.chdir(tmp_path)
    assert_refused(arguments, message)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("option", ["--json", "--plot"])
def test_a_full_disk_costs_the_file_and_not_the_table(tmp_path, option):
    if option == "--plot" and not find_spec("matplotlib"):
        pytest.skip("matplotlib is not installed")
    command = shlex.join([*COMMAND, "bench", "copy", "--size", "8x8", "--device", "emulator", option])
    name = "out.json" if option == "--json" else "out.svg"
    # 1 block of 512 bytes, in place of a full disk; the shell ignores what would kill a writer beyond it.
    done = subprocess.run(
        ["sh", "-c", f"trap '' XFSZ; ulimit -f 1; exec {command} {name}"],
        cwd=tmp_path,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (2, f"error: {name}: cannot be written: File too large\n")
    assert "\ncopy " in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_help_says_what_an_option_needs():
    shown = " ".join(run("bench", "--help").stdout.split())
    assert "Draw the results; needs pip install 'cornerturn[plot]'." in shown
    assert not re.search(r"--device \[[\w|]+\] \[default", shown)
