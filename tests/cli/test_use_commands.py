import json
import re
import shlex
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from cornerturn.measure import compare, compare_cpu
from cornerturn.measure.groups import GROUPS, MODELS
from cornerturn.measure.moves import random_moves

from ..default_signals import default_signals
from .command import COMMAND, ENVIRONMENT, assert_refused, run, saved

pytestmark = pytest.mark.usefixtures("no_gpu")


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
    def test_a_bound_that_cannot_be_kept_is_said_to_be_none(self, tmp_path):
        source, target = saved(tmp_path / "x.npy", np.arange(6).reshape(2, 3)), tmp_path / "y.npy"
        first, second = run("transpose", source, target, "--memory", "255MiB").stderr.splitlines()
        assert first == (
            "Python and the compiled engine take about 200MiB in any case: --memory bounds the process from 256MiB on"
        )
        assert second.startswith(str(target))

    def test_a_file(self, tmp_path):
        source, target = saved(tmp_path / "x.npy", np.arange(24).reshape(2, 3, 4)), tmp_path / "y.npy"
        done = run("transpose", source, target, "--axes", "-1,0,1", "--memory", "256MiB")
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
        (["compare", "--json", "a.xyz", "--plot", "a.xyz"], "--plot a.xyz: that is the file of --json: choose another"),
        (["compare", "--case", "8by8"], "unknown case: got '8by8'; give large, small, "),
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
        (["transpose", "x.npy", "y/"], "y/ names a folder: give the path of a file"),
        (["compare", "--json", "folder/"], "folder/ names a folder: give the path of a file"),
        (["transpose", "x.npy", "y.npy", "--axes", "1;0"], "'1;0' is not a list of axes such as 1,0"),
        (["transpose", "x.npy", "y.npy", "--memory", "much"], "'much' is not a number of bytes such as 512MiB or 2GB"),
        (["transpose", "x.npy", "y.npy", "--memory", "1KiB"], "'1KiB' is too little: give at least 1MiB"),
        (["compare", "--plot", "missing/out"], "missing/out: cannot be written: No such file or directory"),
    ],
)
def test_bad_usage_is_one_line_and_status_2(arguments, message, tmp_path, monkeypatch):
    if "--plot" in arguments:
        pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    monkeypatch.chdir(tmp_path)
    assert_refused(arguments, message)
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
def test_a_signal_leaves_no_half_file(tmp_path, ignored, numbers, status, said):
    with (tmp_path / "x.npy").open("wb") as file:
        np.lib.format.write_array_header_1_0(file, {"descr": "|u1", "fortran_order": False, "shape": (1 << 15,) * 2})
        file.truncate(file.tell() + (1 << 30))
    command = shlex.join([*COMMAND, "transpose", "x.npy", "y.npy", "--memory", "256MiB"])
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


def test_help_says_what_an_option_needs():
    shown = " ".join(run("compare", "--help").stdout.split())
    assert "Draw the results; needs pip install 'cornerturn[plot]'." in shown
    assert not re.search(r"--device \[[\w|]+\] \[default", shown)
