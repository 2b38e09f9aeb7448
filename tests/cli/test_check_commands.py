import json

import pytest
from click.testing import CliRunner

from cornerturn.cli import bench_commands, main
from cornerturn.errors import DeviceError
from cornerturn.lab import counters
from cornerturn.lab.counters import COUNTERS

RIGHT = """// cornerturn: block=32,8 grid=ceil(cols/32),ceil(rows/8)
__global__ void turn(const float* x, float* y, int rows, int cols) {
    int c = 32 * blockIdx.x + threadIdx.x, r = 8 * blockIdx.y + threadIdx.y;
    if (r < rows && c < cols) y[c * rows + r] = x[r * cols + c];
}
"""
WRONG = RIGHT.replace("r < rows && ", "")


def run(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture(autouse=True)
def _no_gpu(monkeypatch):
    def refuse():
        raise DeviceError("no GPU in tests")

    monkeypatch.setattr(bench_commands, "open_device", refuse)
    monkeypatch.setattr(bench_commands, "unavailable_reason", lambda: "no GPU in tests")


@pytest.fixture
def file(tmp_path):
    def write(text):
        path = tmp_path / "k.cu"
        path.write_text(text)
        return path

    return write


class TestCheck:
    def test_a_right_kernel(self, file):
        done = run("check", file(RIGHT))
        assert (done.exit_code, done.stderr) == (0, "")
        assert "k.cu: turn, emulator, PTX for sm_90" in done.stdout
        assert done.stdout.count(" right") == 8
        assert "▸ global store" in done.stdout
        assert done.stdout.endswith("no fault found at 8 shapes\n")

    def test_a_wrong_kernel(self, file):
        done = run("check", file(WRONG))
        assert (done.exit_code, done.stderr) == (1, "")
        assert "k.cu:4: out of bounds, at 97x97, 100x36, 67x131, 1x1, 1x133, 133x1" in done.stdout
        assert "faults found" in done.stdout or "1 fault found" in done.stdout

    def test_chosen_shapes_and_options(self, file):
        text = RIGHT.split("\n", 1)[1].replace("void turn", "void flip")
        done = run("check", file(text), "--block", "32,8", "--grid", "ceil(cols/32),ceil(rows/8)", "--size", "8x32")
        assert done.exit_code == 0
        assert "flip" in done.stdout
        assert done.stdout.count(" right") == 1
        assert done.stdout.endswith("no fault found at 1 shape\n")

    def test_the_comment_to_copy_stands_in_one_line_of_the_help(self):
        comment = "  // cornerturn: block=32,8 grid=ceil(cols/32),ceil(rows/32) args=x,y,rows,cols\n"
        assert comment in run("check", "--help").stdout

    def test_a_compilers_log_is_shown_as_it_is(self, file):
        done = run("check", file(RIGHT.replace("c];", "c]")))
        assert (done.exit_code, done.stdout) == (2, "")
        lines = done.stderr.splitlines()
        assert lines[0].startswith("error: k.cu(5): error: expected")
        assert len(lines) > 2

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["--grid", "open('x')"], "\"open('x')\" is no arithmetic"),
            (["--grid", "cols/32"], "cols / 32 is not whole for cols = 97"),
            (["--size", "0x1"], "'0x1' is not ROWSxCOLS"),
            (["--block", "2000"], "block (2000, 1, 1) of kernel turn: along x it must be between 1 and 1024"),
            (["--grid", "2147483647"], "at most 8388608 threads are run there"),
            (["--shared", "()"], "'()' is empty"),
            (["--entry", "other"], "k.cu has no kernel other"),
            (["--size", "4000000x4000000"], "size 4000000x4000000 needs"),
        ],
    )
    def test_bad_usage(self, file, arguments, message):
        done = run("check", file(RIGHT), *arguments)
        assert (done.exit_code, done.stdout) == (2, "")
        assert message in done.stderr
        assert done.stderr.count("\n") == 1

    def test_a_file_that_is_not_there(self, tmp_path):
        done = run("check", tmp_path / "none.cu")
        assert done.exit_code == 2
        assert "no such file" in done.stderr


class TestLessons:
    def test_all_of_them(self, tmp_path):
        path = tmp_path / "lessons.json"
        done = run("lessons", "--size", "128x128", "--json", path)
        assert done.exit_code == 0
        assert done.stderr == "evidence is counts, times are not measured; no GPU: no GPU in tests\n"
        report = json.loads(path.read_text())
        assert list(report) == ["device", "rows", "cols", "lessons"]
        assert {lesson["verdict"] for lesson in report["lessons"]} >= {"holds", "holds in counts", "needs a GPU"}
        for lesson in report["lessons"]:
            assert list(lesson) == ["name", "claim", "kernels", "verdict", "reason", "evidence"]
            assert f"{lesson['name']}: {lesson['verdict']}" in done.stdout

    def test_one_by_name(self):
        done = run("lessons", "padding", "--size", "64x64", "--device", "emulator")
        assert (done.exit_code, done.stderr) == (0, "")
        assert "padding: holds\n" in done.stdout
        assert "shared_no_padding: 32 wavefronts a shared load request" in done.stdout
        assert "1 of 1 lesson with evidence holds here" in done.stdout

    def test_evidence_that_cannot_be_computed_fails(self):
        done = run("lessons", "diagonal", "--size", "8x9")
        assert done.exit_code == 1
        assert "diagonal: no evidence" in done.stdout

    def test_unknown_name(self):
        done = run("lessons", "swizle")
        assert done.exit_code == 2
        assert "did you mean 'swizzle'?" in done.stderr


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
        facts = type("Facts", (), {"arch": "sm_90", "name": "a GPU"})
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
        assert f"{1 - extra} of 1 kernels count alike" in done.stdout
        (result,) = json.loads(path.read_text())["results"]
        assert set(result["emulated"]) == set(result["measured"]) == {counter.name for counter in COUNTERS}
