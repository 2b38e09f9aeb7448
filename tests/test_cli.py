import json
import os
import pty
import re
import shlex
import signal
import subprocess
import sys
import time
from importlib.util import find_spec

import numpy as np
import pytest
from click.testing import CliRunner
from rich.table import Table

from cornerturn import __version__
from cornerturn.cli import bench_commands, main, use_commands
from cornerturn.cli.shell import show
from cornerturn.errors import DeviceError, EmulatorError
from cornerturn.kernels.catalogue import CATALOGUE
from cornerturn.lab.run import run_emulated
from cornerturn.measure import compare, compare_cpu
from cornerturn.measure.groups import GROUPS, MODELS
from cornerturn.measure.moves import random_moves
from cornerturn.toolchain import compiler_version

from .default_signals import default_signals

ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
COMMAND = [sys.executable, "-m", "cornerturn"]


def run(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture(autouse=True)
def _no_gpu(monkeypatch):
    """The same answers on a machine that has one."""

    def refuse():
        raise DeviceError("no GPU in tests")

    monkeypatch.setattr(bench_commands, "open_device", refuse)
    monkeypatch.setattr(use_commands, "open_device", refuse)
    monkeypatch.setattr(bench_commands, "unavailable_reason", lambda: "no GPU in tests")


def saved(path, array):
    np.save(path, array)
    return path


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
        monkeypatch.setattr("cornerturn.lab.bench.distinct", lambda rows, cols, _: np.zeros((rows, cols), np.uint32))
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

        monkeypatch.setattr("cornerturn.lab.bench.run_emulated", stuck)
        path = tmp_path / "out.json"
        done = run("bench", "naive", "copy", "--size", "8x8", "--device", "emulator", "--json", path)
        assert (done.exit_code, done.stderr) == (1, "")
        assert "failed: naive: k.cu:3: a barrier that not all threads reach\n" in done.stdout
        assert [row["valid"] for row in json.loads(path.read_text())["results"]] == [False, True]

    @pytest.mark.parametrize("option", ["--json", "--plot"])
    def test_the_input_is_never_replaced(self, tmp_path, option):
        path = saved(tmp_path / "x.npy", np.zeros((4, 4), np.float32))
        (tmp_path / "link.svg").symlink_to("x.npy")
        before = path.read_bytes()
        for output in (path, tmp_path / "link.svg"):
            done = run("bench", "naive", "--input", path, option, output)
            assert (done.exit_code, done.stdout) == (2, "")
            assert done.stderr.endswith("that is the file of --input: choose another path to write to\n")
        assert path.read_bytes() == before


class TestCompare:
    def test_shows_and_writes_what_it_measured(self, tmp_path, monkeypatch):
        monkeypatch.setattr(compare, "ROUNDS", 2)
        path = tmp_path / "out.json"
        done = run("compare", "--case", "30x40", "--case", "2x3x4:1,0,2", "--dtype", "float16", "--json", path)
        assert done.exit_code == 0
        assert [line.split()[0] for line in done.stdout.splitlines() if "%" in line][:2] == ["30x40", "2x3x4:1,0,2"]
        report = json.loads(path.read_text())
        assert report["device"]["kind"] == "cpu"
        assert [row["case"] for row in report["results"] if row["engine"] == "cornerturn"] == ["30x40", "2x3x4:1,0,2"]
        assert {"copy", "cornerturn", "NumPy"} <= {row["engine"] for row in report["results"]}

    def test_names_the_libraries_that_are_missing(self, monkeypatch):
        monkeypatch.setattr(compare, "ROUNDS", 2)
        for library in ("torch", "cv2", "jax"):
            monkeypatch.setitem(sys.modules, library, None)
        done = run("compare", "--case", "3x4", "--dtype", "uint8")
        assert done.exit_code == 0
        for library, package in (("PyTorch", "torch"), ("OpenCV", "opencv-python-headless"), ("JAX", "jax")):
            assert f"{library} is not installed: pip install {package}" in done.stdout

    @pytest.mark.parametrize(("asked", "shown"), [(["NumPy"], ["NumPy"]), (["cornerturn"], [])])
    def test_measures_the_engines_asked_for(self, tmp_path, monkeypatch, asked, shown):
        monkeypatch.setattr(compare, "ROUNDS", 2)
        path = tmp_path / "out.json"
        options = [item for name in asked for item in ("--engine", name)]
        done = run("compare", "--case", "3x4", "--dtype", "uint8", "--json", path, *options)
        assert "not installed" not in done.stdout
        assert [row["engine"] for row in json.loads(path.read_text())["results"]] == ["copy", "cornerturn", *shown]

    def test_random_moves_are_summed_up(self, tmp_path, monkeypatch):
        monkeypatch.setattr(compare, "ROUNDS", 2)
        path = tmp_path / "out.json"
        options = ["--moves", "6", "--seed", "2", "--bytes", "1KiB:16KiB", "--engine", "NumPy", "--json", path]
        done = run("compare", *options)
        assert done.exit_code == 0
        assert done.stdout.startswith("6 random moves, seed 2, 1,024 to 16,384 bytes, ")
        report = json.loads(path.read_text())
        assert report["moves"] == {"count": 6, "seed": 2, "bytes": [1024, 16384]}
        drawn = [case.name for case, _ in random_moves(6, 2, 1024, 16384)]
        ours = [row for row in report["results"] if row["engine"] == "cornerturn"]
        assert [row["case"] for row in ours] == drawn
        assert all(row["kernel"] for row in ours)
        assert report["summary"]["shares"]["moves"] == 6
        assert [rival["engine"] for rival in report["summary"]["rivals"]] == ["NumPy"]
        assert sum(line.split()[0] in drawn for line in done.stdout.splitlines() if line) == 6  # the slowest, of ten

    def test_everyday_moves_have_names_and_dtypes(self, tmp_path, monkeypatch):
        monkeypatch.setattr(compare, "ROUNDS", 2)
        few = tuple(case for case in MODELS if case.label in ("12 axes of 2 reversed", "convolution weights to OHWI"))
        monkeypatch.setitem(GROUPS, "models", few)
        path = tmp_path / "out.json"
        done = run(
            "compare", "--case", "models", "--case", "3x4", "--dtype", "uint8", "--engine", "NumPy", "--json", path
        )
        assert done.exit_code == 0
        assert [line for line in done.stdout.splitlines() if line.startswith("12 axes of 2 reversed")]
        ours = [row for row in json.loads(path.read_text())["results"] if row["engine"] == "cornerturn"]
        assert [(row.get("name"), row["dtype"]) for row in ours] == [
            ("convolution weights to OHWI", "float16"),
            ("12 axes of 2 reversed", "complex64"),
            (None, "uint8"),
        ]
        assert ["kernel" in row for row in ours] == [True, True, False]

    def test_a_wrong_result_fails(self, monkeypatch):
        monkeypatch.setattr(compare_cpu, "ours", lambda case, array, out: lambda: None)
        done = run("compare", "--case", "3x4", "--dtype", "uint8")
        assert done.exit_code == 1
        assert "wrong" in done.stdout


class TestTranspose:
    def test_a_file(self, tmp_path):
        source, target = saved(tmp_path / "x.npy", np.arange(24).reshape(2, 3, 4)), tmp_path / "y.npy"
        done = run("transpose", source, target, "--axes", "-1,0,1", "--memory", "2MiB")
        assert (done.exit_code, done.stdout) == (0, "")
        assert re.fullmatch(rf"{re.escape(str(target))}: 4x2x3 int64, 192 bytes, \d+\.\d\d s\n", done.stderr)
        assert np.array_equal(np.load(target), np.arange(24).reshape(2, 3, 4).transpose(-1, 0, 1))
        assert run("transpose", source, target).exit_code == 2
        assert run("transpose", source, target, "--force").exit_code == 0
        assert np.load(target).shape == (4, 3, 2)

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (b"hello", "x.npy: not a .npy file: save one array with numpy.save"),
            (np.array([None]), "x.npy: dtype object holds pickled Python objects"),
            (np.zeros((1,) * 33), "x has 33 axes"),
        ],
    )
    def test_a_file_of_no_use_is_one_line_and_status_2(self, tmp_path, content, message):
        path = tmp_path / "x.npy"
        path.write_bytes(content) if isinstance(content, bytes) else np.save(path, content)
        done = run("transpose", path, tmp_path / "y.npy")
        assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (2, "", 1)
        assert message in done.stderr
        assert [entry.name for entry in tmp_path.iterdir()] == ["x.npy"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["frobnicate"], "No such command 'frobnicate'."),
        (["bench", "--frob"], "No such option '--frob'."),
        (["bench", "nave"], "unknown kernel 'nave': did you mean 'naive'? `cornerturn list` shows them all"),
        (["bench", "--family", "text"], "unknown family 'text': did you mean 'textbook'? the families are"),
        *(
            (["bench", "--size", size], f"'{size}' is not ROWSxCOLS, two positive integers such as 1024x1024")
            for size in ("0x5", "5x0", "-4x4", "4", "4x", "x4", "4x4x4", "4 x 4", "1e3x4", "٤x٤", "", "9" * 5000 + "x1")
        ),
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
        (["bench", "--json", "a.svg", "--plot", "a.svg"], "--plot a.svg: that is the file of --json: choose another"),
        (["compare", "--json", "a.svg", "--plot", "a.svg"], "--plot a.svg: that is the file of --json: choose another"),
        (["report", "-o", "a.json", "--results", "a.json"], "--output a.json: that is the file of --results a.json"),
        *(
            ([*command, "missing/out"], "missing/out: cannot be written: No such file or directory")
            for command in (
                ["bench", "--plot"],
                ["compare", "--plot"],
                ["lessons", "--json"],
                ["explain", "naive", "--svg"],
                ["layout", "naive", "--svg"],
                ["report", "-o"],
            )
        ),
        (["bench", "--plot", "plot.xyz"], "--plot plot.xyz: the ending must be one of "),
        (["compare", "--case", "8by8"], "unknown case '8by8': give large, small, "),
        (["compare", "--seed", "3"], "--seed is about random moves: give --moves N too"),
        (
            ["compare", "--moves", "3", "--case", "8x8"],
            "--moves and --case exclude each other: random moves have shapes",
        ),
        (["compare", "--moves", "3", "--bytes", "8KiB"], "'8KiB' is not a range of bytes such as 64KiB:16MiB"),
        (["compare", "--moves", "3", "--bytes", "8KiB:many"], "'many' is not a number of bytes such as 512MiB or 2GB"),
        (["compare", "--moves", "3", "--bytes", "8KiB:9KiB"], "moves of 8192 to 9216 bytes cannot be drawn: "),
        (["compare", "--dtype", "int3"], "'int3' is not one of 'uint8', "),
        (["compare", "--device", "gpu"], "no GPU in tests: choose --device cpu"),
        (["compare", "--dtype", "bfloat16"], "--dtype bfloat16: NumPy has no such dtype; choose float16"),
        (["compare", "--engine", "CuPy"], "--engine CuPy: it is not compared on this device; NumPy, PyTorch, "),
        (["compare", "--json", "missing/out.json"], "cannot be written: No such file or directory"),
        (["transpose", "x.npy"], "Missing argument 'OUT.npy'."),
        (["transpose", "missing.npy", "y.npy"], "missing.npy: no such file"),
        (["transpose", "x.npy", "y.npy", "--axes", "1;0"], "'1;0' is not a list of axes such as 1,0"),
        (["transpose", "x.npy", "y.npy", "--memory", "much"], "'much' is not a number of bytes such as 512MiB or 2GB"),
        (["transpose", "x.npy", "y.npy", "--memory", "1KiB"], "'1KiB' is too little: give at least 1MiB"),
        (["list", "all"], "Got unexpected extra argument (all)"),
    ],
)
def test_bad_usage_is_one_line_and_status_2(arguments, message, tmp_path, monkeypatch):
    if "--plot" in arguments and not find_spec("matplotlib"):
        pytest.skip("matplotlib is not installed")
    monkeypatch.chdir(tmp_path)
    done = run(*arguments)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith("error: ")
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", [["info"], ["bench", "naive"], ["explain", "naive"]])
def test_a_cache_at_the_home_of_nobody_is_bad_usage(monkeypatch, command):
    monkeypatch.setenv("CORNERTURN_CACHE", "~nosuchuser/x")
    done = run(*command)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == "error: CORNERTURN_CACHE=~nosuchuser/x: there is no such home: give an absolute path\n"


def test_without_a_command_there_is_help():
    done = run()
    assert done.exit_code == 0
    assert "bench" in done.stdout


def test_no_summary_is_cut():
    done = run("--help")
    assert "The matrix transpose, to use and to understand.\n" in done.stdout
    assert "..." not in done.stdout.split("Commands:")[1]


@pytest.mark.parametrize("command", ["bench", "compare"])
def test_help_says_what_an_option_needs(command):
    shown = " ".join(run(command, "--help").stdout.split())
    assert "Draw the results; needs pip install 'cornerturn[plot]'." in shown
    assert not re.search(r"--device \[[\w|]+\] \[default", shown)


def test_version():
    assert run("--version").stdout == f"cornerturn {__version__}\n"


class TestProcess:
    """What only a real process shows."""

    def test_module_and_exit_status(self):
        done = subprocess.run([*COMMAND, "bench", "--size", "oops"], capture_output=True, text=True)
        assert done.returncode == 2
        assert done.stderr.startswith("error: ")
        assert done.stderr.count("\n") == 1

    def test_a_closed_pipe_is_silent(self):
        with subprocess.Popen([*COMMAND, "list"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            process.stdout.close()
            assert process.stderr.read() == b""
            assert process.wait() == 141

    @pytest.mark.parametrize("module", ["click", "numpy", "rich", "cornerturn.cli.shell", "cornerturn.op.transpose"])
    def test_an_interrupt_while_it_is_imported_is_one_line(self, module):
        code = f"""
import signal
import sys
from cornerturn.__main__ import main

class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            signal.raise_signal(signal.SIGINT)

sys.meta_path.insert(0, Interrupt())
sys.argv = ["cornerturn", "compare", "--case", "2x2", "--dtype", "uint8"]
main()
"""
        done = subprocess.run([sys.executable, "-c", code], env=ENVIRONMENT, capture_output=True, text=True)
        assert (done.returncode, done.stdout, done.stderr) == (130, "", "error: interrupted\n")

    def test_an_interrupt_of_executed_text_ends_with_the_status_too(self, tmp_path):
        (tmp_path / "interrupted.py").write_text(
            "from cornerturn.cli import main\n"
            "main.commands['info'].callback = lambda: exec('raise KeyboardInterrupt')\n"
            "main(['info'])\n"
        )
        command = [sys.executable, "-m", "interrupted"]
        done = subprocess.run(command, cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (130, "error: interrupted\n")

    def test_an_interrupt_is_one_line_and_leaves_no_file(self, tmp_path):
        path = tmp_path / "out.json"
        command = [*COMMAND, "bench", "--device", "emulator", "--size", "4096x4096", "--json", path]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, preexec_fn=default_signals) as process:
            time.sleep(3)
            process.send_signal(signal.SIGINT)
            assert process.stderr.read() == "error: interrupted\n"
            assert process.wait() == 130
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize(
        ("ignored", "numbers", "status", "said"),
        [
            ("", [signal.SIGINT], 130, "error: interrupted\n"),
            ("", [signal.SIGTERM], 143, ""),
            ("", [signal.SIGHUP], 129, ""),
            ("trap '' HUP; ", [signal.SIGHUP, signal.SIGTERM], 143, ""),  # as nohup does
        ],
    )
    def test_a_signal_leaves_no_half_file(self, tmp_path, ignored, numbers, status, said):
        with (tmp_path / "x.npy").open("wb") as file:
            np.lib.format.write_array_header_1_0(
                file, {"descr": "|u1", "fortran_order": False, "shape": (1 << 15,) * 2}
            )
            file.truncate(file.tell() + (1 << 30))
        command = shlex.join([*COMMAND, "transpose", "x.npy", "y.npy", "--memory", "1MiB"])
        shell = ["sh", "-c", f"{ignored}exec {command}"]
        with subprocess.Popen(
            shell, cwd=tmp_path, env=ENVIRONMENT, stderr=subprocess.PIPE, text=True, preexec_fn=default_signals
        ) as process:
            # Once something is written, the temporary file is there.
            while process.poll() is None and sum(e.stat().st_blocks for e in tmp_path.glob(".*")) < 2048:
                time.sleep(0.01)
            for number in numbers:
                process.send_signal(number)
                time.sleep(0.2)
            assert process.stderr.read() == said
            assert process.wait() == status
        assert [entry.name for entry in tmp_path.iterdir()] == ["x.npy"]

    @pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
    def test_closed_streams_are_no_error(self, tmp_path, closed):
        path = tmp_path / "out.json"
        command = f"exec {shlex.join(COMMAND)} bench copy --size 8x8 --device emulator --json {path} {closed}"
        done = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")
        assert json.loads(path.read_text())["results"][0]["valid"] is True

    @pytest.mark.parametrize("option", ["--json", "--plot"])
    def test_a_full_disk_costs_the_file_and_not_the_table(self, tmp_path, option):
        if option == "--plot" and not find_spec("matplotlib"):
            pytest.skip("matplotlib is not installed")
        command = shlex.join([*COMMAND, "bench", "copy", "--size", "8x8", "--device", "emulator", option])
        # 1 block of 512 bytes, in place of a full disk; the shell ignores what would kill a writer beyond it.
        done = subprocess.run(
            ["sh", "-c", f"trap '' XFSZ; ulimit -f 1; exec {command} out.svg"],
            cwd=tmp_path,
            env=ENVIRONMENT,
            capture_output=True,
            text=True,
        )
        assert (done.returncode, done.stderr) == (2, "error: out.svg: cannot be written: File too large\n")
        assert "\ncopy " in done.stdout
        assert list(tmp_path.iterdir()) == []

    def test_piped_output_is_plain_and_a_terminal_shows_progress(self):
        command = [*COMMAND, "bench", "naive", "--size", "256x256", "--device", "emulator"]
        piped = subprocess.run(command, capture_output=True)
        assert b"\x1b" not in piped.stdout + piped.stderr
        reader, terminal = pty.openpty()
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=terminal, check=True, env=os.environ | TERMINAL)
        os.close(terminal)
        assert b"naive" in os.read(reader, 1 << 16)
        os.close(reader)


class TestWidth:
    """Numbers are never cut."""

    @pytest.mark.parametrize("columns", ["0", "1", "60", "-5", "wide", ""])
    def test_below_80_columns_a_table_is_as_wide_as_it_needs(self, monkeypatch, columns):
        command = ("bench", "--family", "textbook", "--size", "66x50", "--device", "emulator")
        monkeypatch.setenv("COLUMNS", "200")
        wide = run(*command).stdout.split()
        monkeypatch.setenv("COLUMNS", columns)
        narrow = run(*command).stdout
        assert [word for word in wide if "─" not in word] == [word for word in narrow.split() if "─" not in word]
        assert max(map(len, narrow.splitlines())) <= 120

    @pytest.mark.parametrize(
        "command",
        [("list",), ("explain", "naive", "--size", "64x64"), ("trace", "naive", "--block", "0,0", "--thread", "1,1")],
    )
    def test_nothing_is_cut_off(self, monkeypatch, command):
        monkeypatch.setenv("COLUMNS", "20")
        assert "…" not in run(*command).stdout

    def test_a_table_of_large_numbers_is_wider_than_the_terminal(self, monkeypatch, capsys):
        monkeypatch.setenv("COLUMNS", "80")
        table = Table(*"abcdef")
        table.add_row(*["1" * 30] * 6)
        show(table)
        assert capsys.readouterr().out.count("1" * 30) == 6


TERMINAL = {"TERM": "xterm-256color", "COLUMNS": "100"}
