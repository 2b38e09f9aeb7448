"""What only a real process shows."""

import signal
import subprocess
import sys
import time

import pytest

from .cli.command import COMMAND, ENVIRONMENT
from .default_signals import default_signals


def test_module_and_exit_status():
    done = subprocess.run([*COMMAND, "bench", "--size", "oops"], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("module", ["click", "numpy", "rich", "cornerturn.cli.shell", "cornerturn.op.transpose"])
def test_an_interrupt_while_it_is_imported_is_one_line(module):
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


def test_a_warning_is_one_line(tmp_path):
    (tmp_path / "home").touch()
    home = {"HOME": str(tmp_path / "home"), "TMPDIR": str(tmp_path), "CORNERTURN_CACHE": "", "XDG_CACHE_HOME": ""}
    done = subprocess.run([*COMMAND, "list"], env=ENVIRONMENT | home, capture_output=True, text=True)
    assert done.returncode == 0
    assert done.stderr.startswith(f"warning: {tmp_path}/home/.cache/cornerturn cannot be written, and compiled kernels")
    assert done.stderr.count("\n") == 1


def test_an_interrupt_of_executed_text_ends_with_the_status_too(tmp_path):
    (tmp_path / "interrupted.py").write_text(
        "from cornerturn.cli import main\n"
        "main.commands['info'].callback = lambda: exec('raise KeyboardInterrupt')\n"
        "main(['info'])\n"
    )
    command = [sys.executable, "-m", "interrupted"]
    done = subprocess.run(command, cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (130, "error: interrupted\n")


def test_an_interrupt_is_one_line_and_leaves_no_file(tmp_path):
    path = tmp_path / "out.json"
    command = [*COMMAND, "bench", "--device", "emulator", "--size", "4096x4096", "--json", path]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, preexec_fn=default_signals) as process:
        time.sleep(3)
        process.send_signal(signal.SIGINT)
        assert process.stderr.read() == "error: interrupted\n"
        assert process.wait() == 130
    assert list(tmp_path.iterdir()) == []
