import pytest

from cornerturn.cli import bench_commands
from cornerturn.errors import DeviceError
from cornerturn.lab import environment
from cornerturn.measure import contest


@pytest.fixture
def no_gpu(monkeypatch):
    """The answers of a machine without a GPU, also on one that has it."""

    def refuse():
        raise DeviceError("no GPU in tests")

    for module in (bench_commands, contest, environment):
        monkeypatch.setattr(module, "open_device", refuse)
    monkeypatch.setattr(environment, "why_no_gpu", lambda: "no GPU in tests")
