"""Tests that run without nvcc: the errors that name a missing or broken one."""

from pathlib import Path

import pytest

from cornerturn.errors import MissingExtraError
from cornerturn.toolchain import nvcc


def test_a_missing_nvcc_is_named_with_what_brings_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(MissingExtraError, match="nvcc, which is not on PATH; install the CUDA Toolkit"):
        nvcc.nvcc_version()


def test_an_nvcc_that_cannot_be_run_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    program = tmp_path / "nvcc"
    program.write_bytes(b"\x7fELF garbage")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingExtraError, match="nvcc cannot be run: Exec format error"):
        nvcc.nvcc_version()
