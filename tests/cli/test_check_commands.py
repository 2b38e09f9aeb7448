import json

import pytest

from .command import assert_refused, run

pytestmark = pytest.mark.usefixtures("no_gpu")

RIGHT = """// cornerturn: block=32,8 grid=ceil(cols/32),ceil(rows/8)
__global__ void turn(const float* x, float* y, int rows, int cols) {
    int c = 32 * blockIdx.x + threadIdx.x, r = 8 * blockIdx.y + threadIdx.y;
    if (r < rows && c < cols) y[c * rows + r] = x[r * cols + c];
}
"""
WRONG = RIGHT.replace("r < rows && ", "")


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
            (["--grid", "open('x')"], "\"open('x')\" is not arithmetic"),
            (["--grid", "cols/32"], "cols / 32 is not whole for cols = 97"),
            (["--size", "0x1"], "'0x1' is not ROWSxCOLS"),
            (["--block", "2000"], "block (2000, 1, 1) of kernel turn: along x it must be between 1 and 1024"),
            (["--block", "32x32"], "block: '32x32' is not an expression: it may hold"),
            (["--block", "32x32"], "; block is threads along x, y and z, such as 32,8"),
            (["--block", "32,32,32"], "block (32, 32, 32) of kernel turn has 32768 threads: at most 1024"),
            (["--grid", "2147483647"], "at most 8388608 threads are run there"),
            (["--shared", "()"], "'()' is empty"),
            (["--entry", "other"], "k.cu has no kernel other"),
            (["--size", "4000000x4000000"], "size 4000000x4000000 needs"),
        ],
    )
    def test_bad_usage(self, file, arguments, message):
        assert_refused(["check", file(RIGHT), *arguments], message)

    def test_a_file_that_is_not_there(self, tmp_path):
        assert_refused(["check", tmp_path / "none.cu"], "no such file")


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
        assert "shared_no_padding: 32 wavefronts per shared load request" in done.stdout
        assert "1 of 1 lesson with evidence holds here" in done.stdout

    def test_evidence_that_cannot_be_computed_fails(self):
        done = run("lessons", "diagonal", "--size", "8x9")
        assert done.exit_code == 1
        assert "diagonal: no evidence" in done.stdout

    def test_unknown_name(self):
        assert_refused(["lessons", "swizle"], "did you mean 'swizzle'?")

    def test_a_file_that_cannot_be_written_is_said_before_the_work(self):
        message = "missing/out: cannot be written: No such file or directory"
        assert_refused(["lessons", "--json", "missing/out"], message)
