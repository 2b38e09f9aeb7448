"""What the README, the guides and the docstrings name is there: modules, files, commands, options."""

import ast
import builtins
import os
import re
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import click
import numpy as np
import pytest

from cornerturn.cli import main
from cornerturn.gpu import facts_of
from cornerturn.op.cpu import engine, store
from cornerturn.op.cpu.crew import Patience
from cornerturn.op.transpose import transpose

from .op.adapters.fake_cupy import Ndarray, adapter_of_fake_cupy

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "cornerturn"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
MODULES = {
    ".".join(("cornerturn", *path.relative_to(SOURCE).with_suffix("").parts)).removesuffix(".__init__"): path
    for path in SOURCE.rglob("*.py")
}
MODULES_BY_NAME = {module.rpartition(".")[2] for module in MODULES}
FOLDERS = {path.name for base in (ROOT, SOURCE) for path in base.iterdir() if path.is_dir()}
TARGETS = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))


def code_of(text: str) -> list[str]:
    """The lines of a page's fenced blocks, and its inline code."""
    fences = re.findall(r"^```\w*\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    prose = re.sub(r"^```\w*\n.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    inline = re.findall(r"`([^`]+)`", prose)
    joined = "\n".join(fences).replace("\\\n", " ")
    return joined.splitlines() + [" ".join(code.split()) for code in inline]


@cache
def tree_of(module: str) -> ast.Module:
    return ast.parse(MODULES[module].read_text(encoding="utf-8"))


@cache
def names_in(module: str) -> frozenset[str]:
    """All that the code of a module defines, imports or uses."""
    names: set[str] = set()
    for node in ast.walk(tree_of(module)):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name):
                names.add(name)
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                names.add(name)
            case ast.alias(name=name, asname=other):
                names.update((other or name).split("."))
    return frozenset(names)


def is_there(dotted: str) -> bool:
    """Whether ``cornerturn.a.b`` is a module, or a name in one."""
    parts = dotted.split(".")
    known = max(count for count in range(1, len(parts) + 1) if ".".join(parts[:count]) in MODULES)
    return set(parts[known : known + 1]) <= names_in(".".join(parts[:known]))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_and_files_are_there(page: Path):
    text = page.read_text(encoding="utf-8")
    links = [link for link in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text) if "://" not in link]
    assert [link for link in links if not (page.parent / link).exists()] == []
    paths = [path for code in code_of(text) for path in re.findall(r"(?<![\w./-])\w+(?:/[\w.-]+)+/?", code)]
    named = [path for path in paths if path.split("/")[0] in FOLDERS]
    assert [path for path in named if not any((base / path).exists() for base in (ROOT, SOURCE))] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_modules_and_their_names_are_there(page: Path):
    code = code_of(page.read_text(encoding="utf-8"))
    named = {name for line in code for name in re.findall(r"(?<![\w./])cornerturn(?:\.\w+)+", line)}
    for line in code:
        for module, names in re.findall(r"from (cornerturn[\w.]*) import ([\w, ]+)", line):
            named |= {f"{module}.{name}" for name in re.findall(r"\w+", names)}
    assert [name for name in sorted(named) if not is_there(name)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_and_their_options_are_there(page: Path):
    text = page.read_text(encoding="utf-8")
    code = code_of(text)
    asked = [target for line in code for target in re.findall(r"^(?:\$ )?make ([a-z][\w-]*)", line)]
    assert [target for target in asked if target not in TARGETS] == []

    used = [found for line in code for found in re.findall(r"(?<![\w./])(?<!from )cornerturn ([a-z]+)\b([^#]*)", line)]
    for section in re.split(r"^#+ (?=.*`cornerturn [a-z])", text, flags=re.MULTILINE)[1:]:
        command = re.search("`cornerturn ([a-z]+)", section)
        assert command
        used += [(command[1], row) for row in re.findall(r"^\| (`-.*?) \|", section, re.MULTILINE)]
    wrong = []
    for name, rest in used:
        command = main.commands.get(name)
        options = {option for each in command.params for option in each.opts} if command else set()
        if not isinstance(command, click.Command):
            wrong.append(name)
        wrong += [
            f"{name} {option}" for option in re.findall(r"(?<!\S)`?(--[a-z][a-z-]*)", rest) if option not in options
        ]
    assert wrong == []


def test_the_walks_are_short_and_enter_no_module_twice():
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    walks = [re.findall(r"^\d+\. `([\w/]+\.py)`", part, re.MULTILINE) for part in text.split("\n### ")[1:]]
    assert [len(walk) - len(set(walk)) for walk in walks] == [0, 0, 0]
    on_cpu, on_gpu, in_bench = map(len, walks)
    assert 0 < on_cpu <= 8
    assert 0 < on_gpu <= 9
    assert in_bench


def walk(number: int) -> tuple[list[str], set[str], set[str]]:
    """The modules of a walk's steps, those that only a first call asks, and those of the records that all hand on."""
    walks = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8").split("\n## Three walks")[1]
    records, *texts = walks.split("\n### ")
    named = r"`([\w/]+\.py)`"
    listed, first_call, *_ = re.split(r"\n\n(?=\D)", texts[number].partition("\n\n")[2])
    steps = re.findall(rf"^\d+\. {named}", listed, re.MULTILINE)
    further = {*re.findall(named, listed + first_call)} - {*steps}
    return steps, further, {*re.findall(named, records)}


def entered_by(call: Callable[[], object]) -> list[str]:
    """The modules of the package whose functions a call enters, on this thread, in the order of their first ones."""
    entered = {}

    def note(frame, event, argument):
        if event == "call" and (path := Path(frame.f_code.co_filename)).is_relative_to(SOURCE):
            entered[path.relative_to(SOURCE).as_posix()] = None

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return list(entered)


def without(modules: list[str], others: set[str]) -> list[str]:
    return [module for module in modules if module not in others]


@pytest.fixture
def visible_kernels(monkeypatch):
    """Calls of compiled kernels show as calls of the functions they were compiled from: not every Python tells them."""
    kernel_of = store.kernel
    fill = pytest.importorskip("cornerturn.op.cpu.fill")

    def visible(name):
        kernel = kernel_of(name)

        def call(*numbers):
            kernel(*numbers)

        call.__code__ = call.__code__.replace(co_filename=fill.__file__)
        return call

    monkeypatch.setattr(store, "kernel", visible)


@pytest.fixture
def two_threads(monkeypatch):
    """The CPU engine asks for one helper, whatever the machine has and whatever came before."""
    numba = pytest.importorskip("numba")
    monkeypatch.setattr(numba, "get_num_threads", lambda: 2)
    monkeypatch.setattr(numba.config, "NUMBA_NUM_THREADS", 2)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 1}, raising=False)
    monkeypatch.setattr(engine, "_patience", Patience())
    monkeypatch.setattr(engine, "idle_processors", lambda: 1)


def test_a_numpy_array_takes_the_steps_of_its_walk(visible_kernels, two_threads):
    transpose(np.zeros((4096, 4080), np.float32))  # imports and compiles
    steps, further, records = walk(0)
    x = np.zeros((4096, 4081), np.float32)  # of a layout that nothing else has
    first = entered_by(lambda: transpose(x))
    assert {*first} - records == {*steps, *further}
    repeated = entered_by(lambda: transpose(x))
    assert without(repeated, records) == steps


def test_a_small_numpy_array_goes_straight_to_the_kernel_when_its_layout_comes_again(visible_kernels):
    steps, _, _ = walk(0)
    x = np.zeros((1500, 1001), np.float32)
    transpose(x)
    assert entered_by(lambda: transpose(x)) == [steps[0], steps[1], steps[-1]]


@pytest.fixture
def launched(monkeypatch):
    """Parameters of the launches on an A100 that only answers: it has no memory and computes nothing."""
    driver = pytest.importorskip("cuda.bindings.driver", reason="cuda-bindings is not installed")
    launches = []
    attributes = {"CAPABILITY_MAJOR": 8, "CAPABILITY_MINOR": 0, "MULTIPROCESSOR_COUNT": 108, "L2_CACHE_SIZE": 40 << 20}

    def attribute(kind, device):
        return next((value for name, value in attributes.items() if kind.name.endswith(name)), 1)

    answers = {
        "cuInit": lambda flags: (),
        "cuDeviceGet": lambda ordinal: (ordinal,),
        "cuDeviceGetName": lambda length, device: (b"NVIDIA A100",),
        "cuDriverGetVersion": lambda: (13000,),
        "cuDeviceGetAttribute": lambda kind, device: (attribute(kind, device),),
        "cuDeviceTotalMem": lambda device: (40 << 30,),
        "cuLibraryLoadData": lambda *code: (0,),
        "cuLibraryGetKernel": lambda library, name: (0,),
        "cuLaunchKernel": lambda *parts: launches.append(parts) or (),
    }
    for name, answer in answers.items():
        monkeypatch.setattr(driver, name, lambda *given, answer=answer: (driver.CUresult.CUDA_SUCCESS, *answer(*given)))
    facts_of.cache_clear()
    yield launches
    facts_of.cache_clear()


def test_an_array_of_cupy_takes_the_steps_of_its_walk(monkeypatch, launched):
    steps, further, records = walk(1)
    with adapter_of_fake_cupy(monkeypatch):
        x = Ndarray(np.zeros((6, 3, 16, 14, 16, 14), np.float16))
        y = Ndarray(np.zeros((6, 16, 16, 14, 14, 3), np.float16))
        axes = 0, 2, 4, 3, 5, 1
        first = entered_by(lambda: transpose(x, axes, out=y))
        repeated = entered_by(lambda: transpose(x, axes, out=y))
    assert [module for module in first if module in steps] == steps
    assert further <= {*first}
    assert without(repeated, records) == steps[:5] + steps[8:]
    assert len(launched) == 2


def test_every_command_has_a_page():
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert [name for name in main.commands if f"cornerturn {name}" not in text] == []


@pytest.mark.parametrize("module", sorted(MODULES))
def test_the_names_in_docstrings_are_there(module: str):
    package = module if MODULES[module].name == "__init__.py" else module.rpartition(".")[0]
    neighbours = [other for other in MODULES if MODULES[other].parent == MODULES[module].parent]
    known = set().union(dir(builtins), MODULES_BY_NAME, *map(names_in, neighbours))
    wrong = []
    for node in ast.walk(tree_of(module)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            for name in re.findall(r"(?<!`)`([A-Za-z_][\w.]*)`(?!`)", node.value.value):
                first, *others = name.split(".")
                near = f"{package}.{first}"
                if first == "cornerturn":
                    right = is_there(name)
                elif near in MODULES and others:
                    right = is_there(f"{package}.{name}")
                else:
                    right = {first, *others} <= known
                if not right:
                    wrong.append(name)
    assert wrong == []
