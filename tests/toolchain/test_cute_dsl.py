import re
import subprocess
import sys
from dataclasses import replace
from importlib.metadata import PackageNotFoundError
from importlib.util import find_spec
from pathlib import Path

import pytest

from cornerturn.errors import CompileError, MissingExtraError, UsageError
from cornerturn.kernels.cute_family import CUTE
from cornerturn.kernels.kernel import CuteSource
from cornerturn.toolchain import build, compilation, compile_source, cute_dsl, unavailable_reason
from cornerturn.toolchain.cute_dsl import compile_with_cute

needs_dsl = pytest.mark.skipif(
    find_spec("cutlass") is None, reason="needs the CuTe DSL: pip install 'cornerturn[cute]'"
)

TEXT = """\
import cutlass.cute as cute
from cutlass import Float32, Int32

@cute.kernel
def fill(x: cute.Pointer, value: Int32):
    thread, _, _ = cute.arch.thread_idx()
    cute.make_tensor(x, cute.make_layout(32))[thread] = value.to(Float32)

@cute.jit
def kernels(x: cute.Pointer, y: cute.Pointer, rows: Int32, cols: Int32):
    for name, value in (("fill_rows", rows), ("fill_cols", cols)):
        fill.set_name_prefix(name, remove_cutlass_symbol=True, keep_mangled_name=False)
        fill(x, value).launch(grid=(1, 1, 1), block=(32, 1, 1))
"""
SOURCE = CuteSource("fill.py", TEXT, ("fill_rows", "fill_cols"))


@pytest.fixture
def no_dsl(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the DSL were not installed: neither found nor importable."""

    def version(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(cute_dsl, "version", version)
    monkeypatch.setitem(sys.modules, "cutlass", None)


def forget() -> None:
    """Let the next compilation find the disk cache only, as in a new process."""
    compilation._compile_once.cache_clear()


@needs_dsl
def test_one_compilation_gives_every_entry_under_its_own_name():
    module = compile_with_cute(SOURCE, "sm_90")
    assert list(module.symbols) == ["fill_rows", "fill_cols"]
    for entry, symbol in module.symbols.items():
        assert symbol.startswith(entry)
        assert f".entry {symbol}(" in module.ptx
        assert symbol.encode() in module.cubin


@needs_dsl
def test_the_line_table_names_the_file_and_no_folder():
    module = compile_with_cute(SOURCE, "sm_90")
    assert re.findall(r'\.file\s+\d+\s+"(.*)"', module.ptx) == ["fill.py"]
    assert re.search(r"\.loc\s+1\s+7\s[^@]*?st\.global", module.ptx)
    for folder in (Path.cwd(), Path(cute_dsl.__file__).parent, Path(sys.prefix)):
        assert str(folder).encode() not in module.cubin


@needs_dsl
@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_100a"])
def test_code_is_for_the_architecture_asked_for(arch: str):
    module = compile_with_cute(SOURCE, arch)
    assert re.search(rf"\.target {arch}\b", module.ptx)
    assert module.arch == arch


@needs_dsl
def test_an_unknown_architecture_is_refused_with_those_that_are_known():
    with pytest.raises(UsageError, match=r"unknown architecture 'sm_12': cute dsl [\d.]+ compiles for sm_80, .*sm_90"):
        compile_with_cute(SOURCE, "sm_12")


@needs_dsl
@pytest.mark.parametrize(
    ("source", "message"),
    [
        (replace(SOURCE, entries=("fill_rows", "fill", "rows")), r"^fill\.py has no kernel fill and no kernel rows$"),
        (replace(SOURCE, text=TEXT.replace("make_layout(32)", "make_layout(rows)")), r"^fill\.py: .*rows"),
    ],
)
def test_a_source_that_does_not_compile_says_why(source: CuteSource, message: str):
    with pytest.raises(CompileError, match=re.compile(message, re.DOTALL)) as caught:
        compile_with_cute(source, "sm_90")
    assert "\x1b" not in str(caught.value)


@needs_dsl
def test_a_cache_filled_elsewhere_is_all_that_a_machine_without_the_dsl_needs(empty_cache: Path, request):
    built = [build(kernel) for kernel in CUTE]
    forget()
    request.getfixturevalue("no_dsl")
    assert [build(kernel) for kernel in CUTE] == built
    assert unavailable_reason(CUTE[0].source) is None
    assert len(list(empty_cache.iterdir())) == 1, "one module holds the family, for every shape"


@pytest.mark.usefixtures("no_dsl", "empty_cache")
def test_without_dsl_and_cache_the_message_holds_the_pip_line():
    reason = unavailable_reason(CUTE[0].source)
    assert reason is not None and reason.endswith("install it with: pip install 'cornerturn[cute]'")
    with pytest.raises(MissingExtraError) as caught:
        build(CUTE[0])
    assert str(caught.value) == reason


@needs_dsl
def test_what_another_version_left_is_compiled_anew(empty_cache: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(cute_dsl, "version", lambda name: "0.1")
    assert compile_source(SOURCE).compiler == "cute dsl 0.1"
    forget()
    monkeypatch.undo()
    monkeypatch.setenv("CORNERTURN_CACHE", str(empty_cache))
    assert compile_source(SOURCE).compiler == cute_dsl.cute_version() != "cute dsl 0.1"
    assert len(list(empty_cache.iterdir())) == 1


def test_asking_for_the_version_imports_nothing():
    code = (
        "import sys; from cornerturn.toolchain import unavailable_reason; "
        "from cornerturn.kernels.cute_family import CUTE; "
        "unavailable_reason(CUTE[0].source); print('cutlass' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "False"
