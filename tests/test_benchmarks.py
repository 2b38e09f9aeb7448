"""The benchmarks explain themselves without running."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks"


@pytest.mark.parametrize("script", sorted(FOLDER.glob("*.py")), ids=lambda path: path.name)
def test_a_benchmark_answers_help(script):
    source = os.pathsep.join(filter(None, [str(FOLDER.parent / "src"), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        [sys.executable, script, "--help"], capture_output=True, text=True, env=os.environ | {"PYTHONPATH": source}
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"usage: {script.name}")
