"""What a graph is asked to hold, on a device that is not there."""

from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from cornerturn.errors import DeviceError
from cornerturn.gpu import Replay, time_launches, timing


class Event:
    """Its time is how many launches came before it, in milliseconds."""

    at = 0.0

    def __sub__(self, other):
        return self.at - other.at


class FakeDevice:
    """Captures a list of actions, and does them at each launch of the graph."""

    def __init__(self):
        self.actions = []
        self.waits = 0
        self.stream = SimpleNamespace(sync=self._sync)

    def _sync(self):
        self.waits += 1

    @contextmanager
    def current(self):
        yield

    def create_event(self):
        return Event()

    def create_graph_builder(self):
        graph = SimpleNamespace(launch=lambda stream: [action() for action in self.actions])
        builder = SimpleNamespace(stream="captured", begin_building=lambda: None, close=lambda: None)
        builder.end_building = lambda: SimpleNamespace(complete=lambda: graph)
        return builder


@pytest.fixture
def device(monkeypatch):
    device = FakeDevice()
    device.done = []

    def record(event, stream):
        assert stream == "captured"
        device.actions.append(lambda: setattr(event, "at", float(device.done.count("launch"))))

    def flush(self, stream):
        device.actions.append(lambda: device.done.append("flush"))

    monkeypatch.setattr(timing, "_record", record)
    monkeypatch.setattr(timing._L2Flush, "__init__", lambda self, device: None)
    monkeypatch.setattr(timing._L2Flush, "enqueue", flush)
    return device


def launch_on(device):
    return lambda stream: device.actions.append(lambda: device.done.append("launch"))


def test_launches_are_captured_once_and_done_at_every_replay(device):
    replay = Replay(device, launch_on(device), launches=5)
    assert device.done == []
    for runs in (1, 2, 3):
        assert replay.run() == [1e-3]  # a launch takes a millisecond here, however many there are
        assert device.done == ["launch"] * 5 * runs
        assert device.waits == runs


def test_what_comes_before_a_sample_is_not_timed(device):
    before = lambda stream: device.actions.append(lambda: device.done.append("launch"))  # noqa: E731
    assert Replay(device, launch_on(device), launches=1, samples=3, before=before).run() == [1e-3] * 3
    assert len(device.done) == 6


@pytest.mark.parametrize(
    ("repeat", "warmup", "cold", "samples", "launches"),
    [
        (1, 0, False, 1, 1),
        (7, 3, False, 7, 10),
        (200, 10, False, 10, 220),
        (7, 3, True, 7, 14),
        (50, 10, True, 60, 80),
    ],
)
def test_launches_are_rounded_up_to_whole_graphs(device, repeat, warmup, cold, samples, launches):
    assert time_launches(device, launch_on(device), repeat, warmup, cold) == timing.Timing(1e-3, 1e-3, 1e-3, samples)
    assert device.done.count("launch") == launches
    assert device.done.count("flush") == (launches if cold else 0)


def test_what_cannot_be_captured_is_an_error(device):
    def refuse(stream):
        raise ValueError("not here")

    with pytest.raises(DeviceError, match="timing failed: not here"):
        Replay(device, refuse, launches=1)
