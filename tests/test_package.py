import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version

import pytest

import cornerturn


def test_the_version_is_the_installed_one():
    try:
        installed = version("cornerturn")
    except PackageNotFoundError:
        pytest.skip("runs from a source tree")
    assert cornerturn.__version__ == installed


@pytest.mark.parametrize("module", ["cornerturn", "cornerturn.cli"])
def test_an_import_loads_nothing_heavy(module):
    heavy = {"numba", "torch", "jax", "cupy", "matplotlib", "cuda.core", "cuda.bindings.nvrtc", "cutlass"}
    code = f"import {module}, sys; print(*({heavy!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
