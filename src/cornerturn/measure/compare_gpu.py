"""The comparison on a GPU: launches in CUDA graphs, on more memory than L2 holds.

The launches of every engine are captured in a graph, and a sample is a replay. Launches go through enough places to
move 2 GiB between two uses of one, so that nothing is found in L2. All places are checked, on the device.
"""

import math
import platform
import re
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

from cornerturn.gpu import Device, Replay
from cornerturn.gpu.driver import check
from cornerturn.kernels.controls import COPY, COPY_SOURCE
from cornerturn.kernels.production.device_code import Production
from cornerturn.measure.cases import Case
from cornerturn.measure.compare import OURS, Measurement, compare, explained
from cornerturn.measure.pattern import Outputs
from cornerturn.measure.peers_gpu import Dispatch, Enqueue, Prepare, ours
from cornerturn.measure.stage import Pools, Stage, moved_by
from cornerturn.op.gpu.engine import launcher, prepared
from cornerturn.op.strided_view import StridedView

MIN_LAUNCHES = 8  # of one sample
CHAIN_SECONDS = 20e-3  # of work that the host starts call by call: what the host adds is less than a hundredth


def compare_on_gpu(
    pools: Pools, case: Case, dtype: str, peers: Mapping[str, Prepare], explain: bool = False
) -> list[Measurement]:
    """Measure the copy roof, this package and the peers at one case.

    Args:
        pools: memory of the device.
        case: from `cornerturn.measure.cases`.
        dtype: name of it.
        peers: what prepares each library's work, by its name.
        explain: name the kernel that this package chose.

    Returns:
        What each did: the roof, this package, and the peers in their order.

    Raises:
        DeviceError: the arrays do not fit.
    """
    with pools.device.current():
        stage = pools.stage(case, dtype)
        copies = [partial(_prepare, stage, copy, stage.copied) for copy in COPIES]
        libraries = {OURS: ours, **peers}
        engines = {name: partial(_prepare, stage, library, stage.expected) for name, library in libraries.items()}
        results = compare(case, dtype, stage.nbytes, copies, engines)
        return explained(results, lambda: planned_kernel(stage)) if explain else results


def planned_kernel(stage: Stage) -> str:
    """The kernel that this package's plan chooses at a case."""
    place = stage.places[0]
    x, y = moved_by(stage.x.permuted(stage.case.axes), place.array.address), moved_by(stage.y, place.y.address)
    return prepared(x, y, stage.device.facts.ordinal)[0].name


def _prepare(stage: Stage, library: Prepare, expected: StridedView) -> "_Replayed | _Chained | str":
    work = library(stage)
    if isinstance(work, str):
        return work
    return _Chained(stage, work, expected) if isinstance(work, Dispatch) else _Replayed(stage, work, expected)


def _copy_kernel(stage: Stage) -> Enqueue:
    """Copy the array as it lies in memory, by a kernel that moves 16 bytes per thread."""
    units = math.ceil(stage.nbytes / 16)
    launch = launcher(Production(COPY_SOURCE, COPY.launch(units, 4)), stage.device.facts.arch)
    return lambda place, stream: launch(stage.places[place].array.address, stage.places[place].y.address, stream)


def _driver_copy(stage: Stage) -> Enqueue:
    """The same by the driver."""
    from cuda.bindings import driver

    def enqueue(place: int, stream: int) -> None:
        array, y = stage.places[place].array, stage.places[place].y
        check(driver.cuMemcpyDtoDAsync(y.address, array.address, y.nbytes, stream))

    return enqueue


COPIES: Sequence[Prepare] = (_copy_kernel, _driver_copy)
"""The ways to copy, of which the fastest is the roof."""


class _Replayed:
    """Work on streams, in a graph that goes through all places, several times if they are few."""

    def __init__(self, stage: Stage, enqueue: Enqueue, expected: StridedView) -> None:
        count = len(stage.places)
        self._pattern = stage.pattern
        self._outputs = stage.outputs(expected)
        turn = 0

        def put(stream: Any) -> None:
            nonlocal turn
            enqueue(turn % count, int(stream.handle))
            turn += 1

        enqueue(0, int(stage.device.stream.handle))  # compiles and loads, which no graph can hold
        stage.device.stream.sync()
        self._replay = Replay(stage.device, put, count * math.ceil(MIN_LAUNCHES / count))
        self.sample()  # warms up

    def sample(self) -> float:
        """Seconds of one transpose."""
        return self._replay.run()[0]

    def spoil(self) -> None:
        """Fill all outputs with wrong bits."""
        self._pattern.spoil(self._outputs)

    def is_right(self) -> bool:
        """Return whether all places hold what they shall."""
        return self._pattern.found_in(self._outputs)


class _Chained:
    """Calls started one after the other by the host, which waits at the end and divides by their number."""

    def __init__(self, stage: Stage, work: Dispatch, expected: StridedView) -> None:
        self._pattern, self._expected = stage.pattern, expected
        self._work, self._places = work, len(stage.places)
        self._repeat, self._last = 1, None
        self.sample()  # warms up
        self._repeat = max(1, math.ceil(CHAIN_SECONDS / self.sample()))

    def sample(self) -> float:
        """Seconds of one transpose."""
        begin = perf_counter()
        for turn in range(self._repeat):
            self._last = self._work.call(turn % self._places)
        self._work.wait(self._last)
        return (perf_counter() - begin) / self._repeat

    def spoil(self) -> None:
        """Nothing to do: every call makes a new output."""

    def is_right(self) -> bool:
        """Return whether the last result is that of the first place, which all others repeat."""
        return self._pattern.found_in(Outputs(self._work.address(self._last), self._expected))


def gpu_record(device: Device, versions: Mapping[str, str]) -> dict[str, object]:
    """The device as JSON, with the versions of what was compared."""
    return {
        **device.facts.record,
        "driver": _driver_version(),
        "python": platform.python_version(),
        "versions": dict(versions),
    }


def _driver_version() -> str | None:
    """The driver's own version, which CUDA does not tell; None where Linux does not either."""
    try:
        text = Path("/proc/driver/nvidia/version").read_text(encoding="utf-8")
    except OSError:
        return None
    found = re.search(r"\b\d{3}\.\d+(?:\.\d+)?\b", text)
    return found[0] if found else None
