import doctest
import os
import pkgutil
import re
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

import pytest

import cornerturn


def test_the_version_is_the_installed_one():
    try:
        installed = version("cornerturn")
    except PackageNotFoundError:
        pytest.skip("runs from a source tree")
    assert cornerturn.__version__ == installed


def test_the_public_names_are_there():
    assert set(cornerturn.__all__) <= set(dir(cornerturn))
    assert all(getattr(cornerturn, name) for name in cornerturn.__all__)
    with pytest.raises(AttributeError, match="module 'cornerturn' has no attribute 'transposed'"):
        _ = cornerturn.transposed


def test_nothing_else_is_shown():
    assert dir(cornerturn) == sorted([*cornerturn.__all__, "lab"])
    code = "import cornerturn; print(cornerturn.lab.find('naive').name)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "naive\n"


@pytest.mark.parametrize("function", [cornerturn.transpose, cornerturn.matrix_transpose, cornerturn.permute_dims])
def test_the_hints_say_that_an_array_of_the_same_kind_comes_back(function):
    hints = get_type_hints(function)
    assert isinstance(hints["x"], TypeVar)
    assert hints["return"] is hints["x"]
    assert hints["out"] == hints["x"] | None


def test_a_call_leaves_nothing_in_the_package(tmp_path):
    """What is compiled goes to the cache: a file beside the source would keep the folder after an uninstall."""
    package = Path(cornerturn.__file__).parent
    before = {path for path in package.rglob("*") if path.suffix != ".pyc"}
    code = "import numpy as np, cornerturn; cornerturn.transpose(np.zeros((300, 200), np.float32))"
    environment = os.environ | {
        "CORNERTURN_CACHE": str(tmp_path),
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)
    assert {path for path in package.rglob("*") if path.suffix != ".pyc"} == before
    assert [path.suffix for path in tmp_path.iterdir()] == [".cpu"]


@pytest.mark.parametrize("module", ["cornerturn", "cornerturn.cli"])
def test_an_import_loads_nothing_heavy(module):
    heavy = {"numba", "torch", "jax", "cupy", "matplotlib", "cuda.core", "cuda.bindings.nvrtc", "cutlass"}
    code = f"import {module}, sys; print(*({heavy!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


MODULES = ["cornerturn", *(module.name for module in pkgutil.walk_packages(cornerturn.__path__, "cornerturn."))]


def test_a_first_use_imports_where_no_handler_of_signals_raises():
    code = """
import threading, cornerturn
import_module, threads = cornerturn.import_module, []
def noted(name):
    threads.append(threading.current_thread() is threading.main_thread())
    return import_module(name)
cornerturn.import_module = noted
cornerturn.transpose
print(threads)
"""
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[False, True]\n"


@pytest.mark.parametrize("module", [name for name in MODULES if not name.endswith("__main__")])
def test_the_examples_in_docstrings_hold(module):
    assert doctest.testmod(pytest.importorskip(module)).failed == 0


def test_the_examples_in_the_readme_run(capsys):
    readme = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    use, understand = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    names: dict[str, Any] = {}
    exec(use, names)
    assert (names["y"] == names["x"].T).all()
    assert "kernel" in capsys.readouterr().out
    exec(understand, {})
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "True"
    assert {line.split()[1] for line in lines[1:]} == {"global", "shared"}


def test_the_readme_links_every_guide():
    root = Path(__file__).parents[1]
    readme = (root / "README.md").read_text(encoding="utf-8")
    assert {f"docs/{page.name}" for page in (root / "docs").glob("*.md")} <= set(re.findall(r"\(([^)]+)\)", readme))
