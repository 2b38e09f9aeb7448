"""A cell that holds a kernel is checked and explained below itself, and what is wrong with it is said in words."""

import pytest

import cornerturn
from cornerturn.cli import magic
from cornerturn.lab import Check, Explanation

interactiveshell = pytest.importorskip("IPython.core.interactiveshell")

KERNEL = """__global__ void turn(const float* x, float* y, int rows, int cols) {
    int c = 32 * blockIdx.x + threadIdx.x, r = 8 * blockIdx.y + threadIdx.y;
    if (%s) y[c * rows + r] = x[r * cols + c];
}
"""
RIGHT, WRONG = KERNEL % "r < rows && c < cols", KERNEL % "r < rows"
LAUNCH = "--block 32,8 --grid ceil(cols/32),ceil(rows/8)"


@pytest.fixture
def shown(monkeypatch):
    """What the cell shows."""
    shown = []
    monkeypatch.setattr("IPython.display.display", shown.append)
    return shown


def test_a_right_kernel_is_checked_and_explained(shown, capsys):
    magic.cuda_transpose(f"{LAUNCH} --size 64x48", RIGHT)
    found, explained = shown
    assert isinstance(found, Check)
    assert found.passed
    assert [(trial.rows, trial.cols) for trial in found.trials] == [(64, 48)]
    assert isinstance(explained, Explanation)
    assert (explained.rows, explained.cols) == (64, 48)
    assert explained.text.file == magic.FILE
    assert capsys.readouterr().err == ""


def test_of_a_wrong_kernel_the_faults_are_shown(shown):
    magic.cuda_transpose(LAUNCH, WRONG)
    (found,) = shown
    assert not found.passed
    assert found.faults[0].location == "cell.cu:3"


def test_the_launch_may_stand_in_the_cell(shown):
    magic.cuda_transpose("", f"// cornerturn: block=32,8 grid=ceil(cols/32),ceil(rows/8)\n{RIGHT}")
    assert shown[0].passed
    assert shown[1].rows == 256


@pytest.mark.parametrize(
    ("line", "cell", "message"),
    [
        ("", RIGHT, "error: cell.cu: the launch is not known: give --block"),
        (LAUNCH, "", "error: cell.cu has no __global__ function"),
        (LAUNCH, "__global__ void turn(int) { nonsense; }", "nonsense"),
        (f"{LAUNCH} --speed 3", RIGHT, "error: No such option"),
        (f"{LAUNCH} --size big", RIGHT, "'big' is not ROWSxCOLS"),
        ("--block 32,8 --grid 'ceil(", RIGHT, "error: --block 32,8 --grid 'ceil(: No closing quotation"),
        (f"{LAUNCH} more", RIGHT, "error: Got unexpected extra argument"),
        ("--block 0 --grid 1", RIGHT, "error: block must be 1 to 3 numbers of at least 1"),
    ],
)
def test_what_is_wrong_with_a_cell_is_said(shown, capsys, line, cell, message):
    magic.cuda_transpose(line, cell)
    assert shown == []
    said = capsys.readouterr()
    assert message in said.err
    assert "Traceback" not in said.err
    assert said.out == ""


def test_help_shows_the_options(shown, capsys):
    magic.cuda_transpose("--help", "")
    out = capsys.readouterr().out
    assert out.startswith("Usage: %%cuda_transpose [OPTIONS]\n")
    assert "--block X[,Y[,Z]]" in out


def test_a_shell_gets_it_with_the_extension(shown):
    shell = interactiveshell.InteractiveShell()
    cornerturn.load_ipython_extension(shell)
    shell.run_cell_magic("cuda_transpose", f"{LAUNCH} --size 32x32", RIGHT)
    assert [type(each) for each in shown] == [Check, Explanation]
