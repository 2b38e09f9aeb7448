"""Tests mirror the source: ``tests/a/test_b.py`` is the test of ``a/b.py``, and the few that are not are named here."""

import ast
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
SOURCE = TESTS.parent / "src" / "cornerturn"

ELSEWHERE = {
    "kernels/controls.py": "kernels/test_catalogue.py",  # a table of the catalogue, as the other families are
    "op/adapters/torch_cuda.py": "gpu/test_replay.py",  # wants a device
}
"""Source modules whose test is another one."""

OF_SEVERAL = {
    "cli/test_cli.py",
    "emulator/test_cuda.py",
    "emulator/test_published_counters.py",
    "emulator/test_random_programs.py",
    "kernels/test_counts.py",
    "lab/report/test_browser.py",
    "test_benchmarks.py",
    "test_docs.py",
    "test_makefile.py",
    "test_mirror.py",
    "test_notebooks.py",
    "test_package.py",
}
"""Tests of several modules at once, or of what is no module. So are those in tests/gpu, which want a device."""


def functions_in(path: Path) -> bool:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return any(isinstance(node, ast.FunctionDef) for node in ast.walk(tree))


def mirror_of(module: str) -> str:
    path = Path(module)
    return path.with_name(f"test_{path.name}").as_posix()


MODULES = {path.relative_to(SOURCE).as_posix(): path for path in SOURCE.rglob("*.py") if path.name != "__init__.py"}


@pytest.mark.parametrize("module", sorted(name for name, path in MODULES.items() if functions_in(path)))
def test_every_module_with_a_function_has_its_test(module: str):
    assert (TESTS / ELSEWHERE.get(module, mirror_of(module))).is_file()


def test_every_test_has_its_module():
    tests = {path.relative_to(TESTS).as_posix() for path in TESTS.rglob("test_*.py")}
    alone = tests - set(map(mirror_of, MODULES))
    assert {test for test in alone if not test.startswith("gpu/")} == OF_SEVERAL


def test_no_exception_is_named_in_vain():
    for module in ELSEWHERE:
        assert functions_in(MODULES[module])
        assert not (TESTS / mirror_of(module)).exists()
