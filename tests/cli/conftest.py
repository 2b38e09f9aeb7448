import pytest

from cornerturn.cli import bench_commands, use_commands
from cornerturn.errors import DeviceError


@pytest.fixture
def no_gpu(monkeypatch):
    """The answers of a machine without a GPU, also on one that has it."""

    def refuse():
        raise DeviceError("no GPU in tests")

    monkeypatch.setattr(bench_commands, "open_device", refuse)
    monkeypatch.setattr(use_commands, "open_device", refuse)
    monkeypatch.setattr(bench_commands, "unavailable_reason", lambda: "no GPU in tests")
