"""What the emulator's tables say of each instruction, asked of a GPU: every bit of every row."""

import random
import shutil
import subprocess
from contextlib import ExitStack
from pathlib import Path

import pytest

from cornerturn.gpu import Device

from ..emulator.harness import (
    HEADER,
    WARP,
    Array,
    Launcher,
    disagreements,
    instruction_entry,
    run_instruction,
)
from ..emulator.tables.every import CASES
from ..emulator.tables.exact import EDGES, EXACT, expected
from ..emulator.tables.notation import Case


@pytest.fixture(scope="module")
def on_device(device: Device) -> Launcher:
    def launch(ptx: str, output: Array, inputs: list[Array]) -> None:
        with ExitStack() as stack:
            buffers = [stack.enter_context(device.upload(array)) for array in (output, *inputs)]
            device.load_ptx(ptx, "kernel").launch((1, 1, 1), (WARP, 1, 1), buffers)
            output[:] = buffers[0].download(output.shape, output.dtype)

    return launch


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.lines)
def test_a_gpu_agrees_with_the_table(case: Case, on_device: Launcher):
    found = disagreements(case, on_device)
    assert not found, "\n".join(found)


def _rows() -> list[tuple[int, ...]]:
    """A warp of rows of four words, each at the edge of a type or random."""
    words = random.Random(32)
    edges = [*EDGES, *(2**64 - edge for edge in EDGES)]
    return [tuple(words.choice((words.choice(edges), words.getrandbits(64))) for _ in range(4)) for _ in range(WARP)]


@pytest.mark.parametrize("line", EXACT)
def test_a_gpu_agrees_with_python_integers(line: str, on_device: Launcher):
    signature, _ = EXACT[line]
    rows = _rows()
    found = run_instruction(signature, line, rows, on_device)
    wrong = [
        f"{line} ({signature}; {', '.join(map(hex, row))}): expected {said:#x}, found {bits:#x}"
        for row, said, bits in zip(rows, expected(line, rows), found, strict=True)
        if said != bits
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.skipif(shutil.which("ptxas") is None, reason="needs ptxas on PATH: install the CUDA Toolkit")
def test_the_assembler_takes_every_kernel(tmp_path: Path):
    lines = [(case.signature, case.lines) for case in CASES] + [(EXACT[line][0], line) for line in EXACT]
    kernels = [instruction_entry(f"kernel_{n}", *each) for n, each in enumerate(lines)]
    source, cubin = tmp_path / "every.ptx", tmp_path / "every.cubin"
    source.write_text(HEADER + "".join(kernels), encoding="utf-8")
    done = subprocess.run(["ptxas", "-arch=sm_90", source, "-o", cubin], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
