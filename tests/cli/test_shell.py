"""What all commands share, most of it seen in a real process alone."""

import json
import os
import pty
import shlex
import subprocess

import pytest
from rich.table import Table

from cornerturn.cli.shell import show

from .command import COMMAND, ENVIRONMENT, run

pytestmark = pytest.mark.usefixtures("no_gpu")

KERNEL = """// cornerturn: block=32,8 grid=ceil(cols/32),ceil(rows/8)
__global__ void turn(const float* x, float* y, int rows, int cols) {  // ∀ (r, c): y[c, r] = x[r, c]
    int c = 32 * blockIdx.x + threadIdx.x, r = 8 * blockIdx.y + threadIdx.y;
    if (r < rows && c < cols) y[c * rows + r] = x[r * cols + c];
}
"""
TERMINAL = {"TERM": "xterm-256color", "COLUMNS": "100"}


def test_a_closed_pipe_is_silent():
    with subprocess.Popen([*COMMAND, "list"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 141


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_are_no_error(tmp_path, closed):
    path = tmp_path / "out.json"
    command = f"exec {shlex.join(COMMAND)} bench copy --size 8x8 --device emulator --json {path} {closed}"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(path.read_text())["results"][0]["valid"] is True


def test_piped_output_is_plain_and_a_terminal_shows_progress():
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


class TestEncoding:
    """No character ends a command, and status 1 means a wrong kernel whatever the terminal."""

    @pytest.mark.parametrize("charset", ["latin-1", "ascii", "koi8-r"])
    @pytest.mark.parametrize(
        "command",
        [
            ("list",),
            ("info",),
            ("bench", "naive", "view", "--size", "8x8"),
            ("explain", "shared_no_padding", "--size", "64x64"),
            ("trace", "tiled_32", "--thread", "1,1", "--size", "64x64"),
            ("lessons", "padding", "--size", "64x64"),
            ("compare", "--case", "3x4", "--dtype", "uint8", "--engine", "cornerturn"),
        ],
        ids=lambda command: command[0],
    )
    def test_every_command_prints_in_any_encoding(self, charset, command):
        done = run(*command, charset=charset)
        assert done.exception is None or isinstance(done.exception, SystemExit)
        assert done.exit_code == 0
        assert "?" not in done.stdout.replace("?:", "")  # a ternary in a kernel's source

    @pytest.mark.parametrize("charset", ["latin-1", "ascii"])
    def test_drawings_have_their_like_in_ascii(self, charset):
        shown = run("explain", "shared_no_padding", "--size", "64x64", charset=charset).stdout
        drawn = run("explain", "shared_no_padding", "--size", "64x64").stdout
        assert "49 |             tile[ty + k][tx]" in shown and "49 │             tile[ty + k][tx]" in drawn
        assert "> shared load" in shown and "▸ shared load" in drawn

    def test_a_checked_file_may_hold_any_character(self, tmp_path):
        path = tmp_path / "k.cu"
        path.write_text(KERNEL, encoding="utf-8")
        done = run("check", path, "--size", "40x40", charset="latin-1")
        assert (done.exit_code, done.stderr) == (0, "")
        assert "// ? (r, c): y[c, r] = x[r, c]" in done.stdout

    def test_the_bytes_of_a_files_name_stay_as_they_are(self, tmp_path):
        name = b"caf\xe9.cu"
        (tmp_path / os.fsdecode(name)).write_text(KERNEL, encoding="utf-8")
        done = subprocess.run(
            [*COMMAND, "check", name, "--size", "8x8"],
            cwd=tmp_path,
            env=ENVIRONMENT | {"PYTHONIOENCODING": "utf-8"},
            capture_output=True,
        )
        assert (done.returncode, done.stderr) == (0, b"")
        assert done.stdout.startswith(name + b": turn, emulator")

    def test_a_process_with_the_encoding_of_its_environment(self):
        command = [*COMMAND, "explain", "naive", "--size", "8x8"]
        done = subprocess.run(command, env=ENVIRONMENT | {"PYTHONIOENCODING": "latin-1"}, capture_output=True)
        assert (done.returncode, done.stderr) == (0, b"")
        assert b"> global store" in done.stdout
