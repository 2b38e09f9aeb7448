"""The checks of make before it installs anything."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

MAKEFILE = Path(__file__).parents[1] / "Makefile"

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")


@pytest.fixture
def make(tmp_path: Path):
    """Runs make in a folder whose .venv is up to date: a link to this interpreter, and a command that says its name."""
    (tmp_path / "pyproject.toml").touch()
    programs = tmp_path / ".venv" / "bin"
    programs.mkdir(parents=True)
    scripts = {"python": f'exec {sys.executable} "$@"', "cornerturn": "echo ran", "pip": ""}
    for name, line in scripts.items():
        (programs / name).write_text(f"#!/bin/sh\n{line}\n")
        (programs / name).chmod(0o755)
    (tmp_path / ".venv" / "run.installed").touch()

    def make(*arguments: str) -> "subprocess.CompletedProcess[str]":
        command = ["make", "-f", str(MAKEFILE), *arguments]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env={"PATH": "/usr/bin:/bin"})

    return make


@pytest.mark.parametrize("python", [[], [f"PYTHON={sys.executable}"]])
def test_a_venv_of_the_given_python_is_used(make, python: list[str]):
    done = make("run", *python)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("ran\n")


def test_a_python_that_is_not_there_is_named(make):
    done = make("run", "PYTHON=python3.99")
    assert done.returncode == 2
    assert "error: python3.99 is not found: choose another PYTHON\n" in done.stderr
    assert "make clean" not in done.stderr
    assert "ran" not in done.stdout


def test_a_venv_of_another_python_is_an_error(make, tmp_path: Path):
    other = tmp_path / "other-python"
    other.write_text("#!/bin/sh\necho /other 3 99\n")
    other.chmod(0o755)
    done = make("run", f"PYTHON={other}")
    assert done.returncode == 2
    assert f"error: .venv was not made from {other}: make clean first, or omit PYTHON\n" in done.stderr
    assert "ran" not in done.stdout
