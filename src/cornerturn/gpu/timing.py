"""The time of a launch on the device, measured by replaying CUDA graphs with events inside them.

A graph holds the launches and the events around them, so that the host, which only starts replays, stays out
of the measured time.
"""

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from cornerturn.gpu.device import Device, Function
from cornerturn.gpu.driver import check, device_errors

LAUNCHES_PER_GRAPH = 20
LOW_QUANTILE, HIGH_QUANTILE = 0.05, 0.95


@dataclass(frozen=True)
class Timing:
    """How long one launch takes, in seconds.

    Attributes:
        median, low, high: of the samples; ``low`` and ``high`` are the 5% and 95% quantiles.
        samples: how many there are.
    """

    median: float
    low: float
    high: float
    samples: int


def time_launches(
    device: Device,
    enqueue: Callable[[Any], None],
    repeat: int = 1000,
    warmup: int = 10,
    cold: bool = False,
) -> Timing:
    """Time what ``enqueue`` puts on the stream it is given: one launch of a kernel, or one copy.

    Warm, a sample is a run of launches back to back, divided by their number: L2 holds what the launch before
    left in it. Cold, L2 is flushed before each launch, outside of the measured time: a sample is one launch.

    Args:
        device: where it runs.
        enqueue: called with a stream that captures a graph; must put its work there and not wait.
        repeat: launches to measure, rounded up to whole graphs.
        warmup: launches before them, rounded up likewise.
        cold: flush L2 before each launch.

    Raises:
        DeviceError: the work cannot be captured, or fails.

    Example:
        >>> time_launches(device, lambda stream: y.copy_from(x, stream))   # doctest: +SKIP
        Timing(median=3.3e-05, low=3.2e-05, high=3.4e-05, samples=50)
    """
    # A warm run leaves enough samples for a spread: at least ten, if there are that many launches.
    launches = min(LAUNCHES_PER_GRAPH, repeat) if cold else max(1, min(LAUNCHES_PER_GRAPH, repeat // 10))
    samples = launches if cold else 1
    flush = _L2Flush(device).enqueue if cold else None
    replay = Replay(device, enqueue, launches // samples, samples, flush)
    for _ in range(math.ceil(warmup / launches)):
        replay.run()
    seconds = [sample for _ in range(math.ceil(repeat / launches)) for sample in replay.run()]
    low, median, high = (float(value) for value in np.quantile(seconds, [LOW_QUANTILE, 0.5, HIGH_QUANTILE]))
    return Timing(median, low, high, len(seconds))


class Replay:
    """Launches in a CUDA graph, with events around them: captured once, timed whenever it is replayed.

    Args:
        device: where it runs.
        enqueue: called with a stream that captures the graph; must put one launch there and not wait.
        launches: of one sample, back to back.
        samples: of one replay.
        before: called like ``enqueue`` before each sample; not timed.

    Raises:
        DeviceError: the work cannot be captured.
    """

    def __init__(
        self,
        device: Device,
        enqueue: Callable[[Any], None],
        launches: int,
        samples: int = 1,
        before: Callable[[Any], None] | None = None,
    ) -> None:
        self._device = device
        self._launches = launches
        self._kept = (enqueue, before)  # with the memory and the kernels that the graph needs
        self._events = [(device.create_event(), device.create_event()) for _ in range(samples)]

        def capture(stream: Any) -> None:
            for start, stop in self._events:
                if before is not None:
                    before(stream)
                _record(start, stream)
                for _ in range(launches):
                    enqueue(stream)
                _record(stop, stream)

        with device.current(), device_errors("timing"):
            self._graph = _capture_graph(device, capture)

    def run(self) -> list[float]:
        """Replay, wait, and return the seconds of one launch in each sample.

        Raises:
            DeviceError: the work fails.
        """
        with self._device.current(), device_errors("timing"):
            self._graph.launch(self._device.stream)
            self._device.stream.sync()
            return [(stop - start) / 1e3 / self._launches for start, stop in self._events]


def _capture_graph(device: Device, capture: Callable[[Any], None]) -> Any:
    builder = device.create_graph_builder()
    try:
        builder.begin_building()
        capture(builder.stream)
        graph = builder.end_building().complete()
    except Exception:
        with suppress(Exception):  # closing a broken capture fails too, and would hide why it broke
            builder.close()
        raise
    builder.close()
    return graph


def _record(event: Any, stream: Any) -> None:
    from cuda.bindings import driver

    # An external record becomes a node of the graph; a plain one would only mark a dependency of the capture.
    external = driver.CUevent_record_flags.CU_EVENT_RECORD_EXTERNAL
    check(driver.cuEventRecordWithFlags(event.handle, stream.handle, external))


class _L2Flush:
    """Replaces what L2 holds by reading a scratch buffer twice its size.

    Reading leaves clean lines behind. A flush that wrote would leave dirty ones, and the launch measured next
    would pay for writing them back.
    """

    THREADS = 256

    def __init__(self, device: Device) -> None:
        block_bytes = 16 * self.THREADS
        self._blocks = math.ceil(2 * device.facts.l2_bytes / block_bytes)
        self._scratch = device.allocate(self._blocks * block_bytes)
        self._scratch.fill(0)
        self._read = _reader(device)

    def enqueue(self, stream: Any) -> None:
        self._read.launch((self._blocks, 1, 1), (self.THREADS, 1, 1), [self._scratch], stream=stream)


# Each thread reads 16 bytes; volatile, so that the load stays although nobody uses its value.
_READER_PTX = """
.version 7.0
.target sm_75
.address_size 64

.visible .entry read(.param .u64 scratch)
{
    .reg .b32 %r<8>;
    .reg .b64 %rd<5>;
    ld.param.u64 %rd1, [scratch];
    cvta.to.global.u64 %rd2, %rd1;
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.u32 %r4, %r1, %r2, %r3;
    mul.wide.u32 %rd3, %r4, 16;
    add.u64 %rd4, %rd2, %rd3;
    ld.volatile.global.v4.u32 {%r4, %r5, %r6, %r7}, [%rd4];
    ret;
}
"""


@cache
def _reader(device: Device) -> Function:
    return device.load_ptx(_READER_PTX, "read")
