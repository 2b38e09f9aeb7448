import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from cornerturn.errors import CompileError
from cornerturn.kernels.catalogue import find
from cornerturn.kernels.kernel import CudaSource
from cornerturn.toolchain import build, compilation, compile_source

SOURCE = CudaSource("tiny.cu", "template <int N> __global__ void tiny(int* x) { *x = N; }", ("tiny<1>",))


@pytest.fixture
def compilations(empty_cache: Path, monkeypatch: pytest.MonkeyPatch) -> list[CudaSource]:
    """The sources that were really compiled, in order."""
    compiled = []

    def compile_and_note(source: CudaSource, arch: str):
        compiled.append(source)
        return compile_with_nvrtc(source, arch)

    compile_with_nvrtc = compilation.compile_with_nvrtc
    monkeypatch.setattr(compilation, "compile_with_nvrtc", compile_and_note)
    return compiled


def forget() -> None:
    """Let the next compilation find the disk cache only, as in a new process."""
    compilation._compile_once.cache_clear()


def test_kernels_of_one_source_share_one_compilation(compilations: list[CudaSource]):
    naive, tiled = build(find("naive")), build(find("tiled_16"))
    assert compilations == [find("naive").source]
    assert naive.ptx is tiled.ptx
    assert naive.symbol != tiled.symbol


def test_a_later_process_takes_the_module_from_disk(compilations: list[CudaSource]):
    first = compile_source(SOURCE)
    forget()
    assert compile_source(SOURCE) == first
    assert compilations == [SOURCE]


def test_a_damaged_entry_is_compiled_again_and_replaced(compilations: list[CudaSource], empty_cache: Path):
    first = compile_source(SOURCE)
    (entry,) = empty_cache.iterdir()
    intact = entry.read_bytes()
    entry.write_bytes(intact[: len(intact) // 2])
    forget()
    assert compile_source(SOURCE) == first
    assert entry.read_bytes() == intact
    assert len(compilations) == 2


@pytest.mark.parametrize(
    "other",
    [
        replace(SOURCE, text=SOURCE.text + "\n"),
        replace(SOURCE, file="other.cu"),
        replace(SOURCE, entries=("tiny<1>", "tiny<2>")),
    ],
)
def test_whatever_decides_the_code_is_part_of_the_key(other: CudaSource, compilations: list[CudaSource]):
    compile_source(SOURCE)
    compile_source(other)
    compile_source(SOURCE, "sm_80")
    assert compilations == [SOURCE, other, SOURCE]


def test_a_cache_that_cannot_be_written_does_not_stop_the_work(
    compilations: list[CudaSource], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("CORNERTURN_CACHE", str(tmp_path / "file"))
    assert compile_source(SOURCE) is compile_source(SOURCE), "remembered in memory all the same"
    assert compilations == [SOURCE]


def test_an_error_is_not_cached(compilations: list[CudaSource], empty_cache: Path):
    wrong = replace(SOURCE, text="nonsense")
    for _ in range(2):
        with pytest.raises(CompileError):
            compile_source(wrong)
    assert len(compilations) == 2
    assert not empty_cache.exists()


def test_processes_that_compile_the_same_source_at_once_agree(empty_cache: Path):
    script = (
        "from cornerturn.kernels.catalogue import find\n"
        "from cornerturn.toolchain import build\n"
        "import hashlib; print(hashlib.sha256(repr(build(find('naive'))).encode()).hexdigest())"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    processes = [
        subprocess.Popen([sys.executable, "-c", script], env=environment, stdout=subprocess.PIPE) for _ in range(3)
    ]
    outputs = {process.communicate(timeout=60)[0] for process in processes}
    assert len(outputs) == 1
    assert [process.returncode for process in processes] == [0] * 3
    assert len(list(empty_cache.iterdir())) == 1
