"""transpose() on a GPU against other libraries and against the copy roof: one process, one run, every result checked.

For each case the launches of every engine are captured in a CUDA graph. The graphs are then replayed in turn, round
after round, so that whatever else the machine does meets all of them alike; an engine's time is the median of its
rounds. Launches go through as many arrays as it takes to move 2 GiB between two uses of one, so that nothing is found
in L2. Before the last round all outputs are filled with bits that are wrong everywhere, and what that round leaves
behind is compared with what NumPy made on the host.
"""

import math
import platform
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from functools import cache, partial
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

from cornerturn import __version__
from cornerturn.gpu import Buffer, Device, Replay
from cornerturn.gpu.driver import check
from cornerturn.kernels.production.rows import rows
from cornerturn.measure.bits import Bits
from cornerturn.measure.cases import Case, distinct
from cornerturn.measure.compare import OURS, ROOF, Comparison
from cornerturn.measure.peers_gpu import Bytes, Dispatch, Enqueue, GpuPrepare, Library, Place, Stage, first_line, ours
from cornerturn.op.gpu.engine import launcher

ROUNDS = 9
ROTATION_BYTES = 1 << 31
MAX_PLACES = 1024
MIN_LAUNCHES = 8  # of one sample
CHAIN_SECONDS = 20e-3  # of work that the host starts call by call: what the host adds is less than a hundredth
MEMORY_SHARE = 0.25  # of the free memory, for all places; libraries need some too


def compare_on_gpu(device: Device, case: Case, dtype: str, peers: Mapping[str, GpuPrepare]) -> list[Comparison]:
    """Measure the copy roof, this package and the peers at one case.

    Args:
        device: where.
        case: from `cornerturn.measure.cases`.
        dtype: name of it.
        peers: what prepares each library's work, by its name.

    Returns:
        What each did: the roof, this package, and the peers in their order. A peer that raises an error has failed; the
        others are measured all the same.

    Raises:
        DeviceError: the arrays do not fit.
    """
    with device.current(), laid_out(device, case, dtype) as (stage, source, expected):
        copies = [_Entry(prepare, source) for prepare in COPIES]
        others = {name: _Entry(prepare, expected) for name, prepare in {OURS: ours, **peers}.items()}
        measure(stage, [*copies, *others.values()], _bits(device))
    result = partial(Comparison, case, dtype, bytes=2 * stage.x.nbytes)
    fastest = min(copies, key=lambda copy: copy.seconds or math.inf)
    named = {ROOF: fastest, **others}
    return [entry.outcome(partial(result, engine=name), fastest.seconds) for name, entry in named.items()]


_bits = cache(Bits)


@contextmanager
def laid_out(device: Device, case: Case, dtype: str) -> Iterator[tuple[Stage, Buffer, Buffer]]:
    """Hold a case on the device: its stage, the bits of the input, and those of the output as NumPy makes them."""
    x = distinct(case.shape, dtype)
    whole = 16 * math.ceil(x.nbytes / 16)  # the copy kernel moves units of 16 bytes
    fitting = int(device.free_bytes() * MEMORY_SHARE) // (2 * whole)
    count = max(1, min(math.ceil(ROTATION_BYTES / (2 * whole)), MAX_PLACES, fitting))
    with ExitStack() as stack:
        inputs, outputs = ([stack.enter_context(device.allocate(whole)) for _ in range(count)] for _ in range(2))
        inputs[0].fill(0)
        inputs[0].upload(x)
        for other in inputs[1:]:
            other.copy_from(inputs[0])
        expected = stack.enter_context(device.upload(x.transpose(case.axes)))
        pairs = zip(inputs, outputs, strict=True)
        places = tuple(Place(Bytes(source, x.nbytes), Bytes(target, x.nbytes)) for source, target in pairs)
        yield Stage(device, case, dtype, x, places), inputs[0], expected


def _copy_kernel(stage: Stage) -> Enqueue:
    """Copy x as it lies in memory, by a kernel that moves 16 bytes a thread."""
    units = math.ceil(stage.x.nbytes / 16)
    launch = launcher(rows(16, [(units, 16, 16)]), stage.device.facts.arch)
    return lambda place, stream: launch(stage.places[place].x.address, stage.places[place].y.address, stream)


def _driver_copy(stage: Stage) -> Enqueue:
    """The same by the driver."""
    from cuda.bindings import driver

    def enqueue(place: int, stream: int) -> None:
        x, y = stage.places[place].x, stage.places[place].y
        check(driver.cuMemcpyDtoDAsync(y.address, x.address, x.nbytes, stream))

    return enqueue


COPIES: tuple[GpuPrepare, ...] = (_copy_kernel, _driver_copy)
"""The ways to copy, of which the fastest is the roof."""


@dataclass(slots=True)
class _Entry:
    """What is known of one engine at one case.

    Attributes:
        prepare: makes its work.
        expected: what it shall leave in its output.
        watch: measures it, unless it was refused or has failed.
        refused: why not.
        has_failed: it has raised an error.
        samples: seconds of a transpose, one a round.
        right: the last round's results are right to the bit.
    """

    prepare: GpuPrepare
    expected: Buffer
    watch: "_Replayed | _Chained | None" = None
    refused: str | None = None
    has_failed: bool = False
    samples: list[float] = field(default_factory=list)
    right: bool = False

    def attempt(self, step: Callable[[], None]) -> None:
        """Take a step; an error in it is this engine's alone."""
        try:
            step()
        except Exception as error:  # whatever a library raises
            self.watch, self.has_failed, self.refused = None, True, f"failed: {first_line(error)}"

    @property
    def seconds(self) -> float | None:
        """Median of the samples, if the result is right."""
        return median(self.samples) if self.right and self.watch else None

    def outcome(self, result: Callable[..., Comparison], roof: float | None) -> Comparison:
        """The row of a table."""
        if self.watch is None:
            return result(status="failed" if self.has_failed else "refused", refused=self.refused)
        if not self.right:
            return result(status="wrong")
        return result(status="valid", seconds=self.seconds, roof_seconds=roof)


def measure(stage: Stage, entries: Sequence[_Entry], bits: Bits) -> None:
    """Prepare all entries, time them in turn, and check what each leaves behind."""

    def prepare(entry: _Entry) -> None:
        work = entry.prepare(stage)
        if isinstance(work, str):
            entry.refused = work
            return
        entry.watch = _Chained(work, len(stage.places)) if isinstance(work, Dispatch) else _Replayed(work, stage)
        entry.watch.sample()

    def sample(entry: _Entry, is_last: bool) -> None:
        assert entry.watch is not None
        nbytes = stage.x.nbytes
        if is_last:
            for address in entry.watch.outputs():
                bits.spoil(address, entry.expected, nbytes)
        entry.samples.append(entry.watch.sample())
        if is_last:
            entry.right = bits.equal(entry.watch.results(), entry.expected, nbytes)

    for entry in entries:
        entry.attempt(partial(prepare, entry))
    for round_ in range(ROUNDS):
        for entry in entries:
            if entry.watch is not None:
                entry.attempt(partial(sample, entry, round_ == ROUNDS - 1))


class _Replayed:
    """Work on streams, in a graph that goes through all places, several times if they are few."""

    def __init__(self, enqueue: Enqueue, stage: Stage) -> None:
        self._outputs = [place.y.address for place in stage.places]
        count = len(self._outputs)
        turn = 0

        def put(stream: Any) -> None:
            nonlocal turn
            enqueue(turn % count, int(stream.handle))
            turn += 1

        enqueue(0, int(stage.device.stream.handle))  # warms up
        stage.device.stream.sync()
        self._replay = Replay(stage.device, put, count * math.ceil(MIN_LAUNCHES / count))

    def sample(self) -> float:
        """Seconds of one transpose."""
        return self._replay.run()[0]

    def outputs(self) -> list[int]:
        """Addresses that the next sample will write to."""
        return self._outputs

    results = outputs


class _Chained:
    """Calls started one after the other by the host, which waits at the end and divides by their number."""

    def __init__(self, work: Dispatch, places: int) -> None:
        self._work, self._places = work, places
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

    def outputs(self) -> list[int]:
        """None: every call makes a new output."""
        return []

    def results(self) -> list[int]:
        """Address of the last result."""
        return [self._work.address(self._last)]


def gpu_record(device: Device, libraries: Mapping[str, Library]) -> dict[str, object]:
    """The device as JSON, with the versions of what was compared."""
    return {
        "kind": "gpu",
        **asdict(device.facts),
        "driver": _driver_version(),
        "python": platform.python_version(),
        "versions": {OURS: __version__, "NumPy": np.__version__}
        | {name: library.version for name, library in libraries.items()},
    }


def gpu_title(device: Device) -> str:
    """The device in a few words, for a table's title."""
    return f"{device.facts.name} ({device.facts.arch})"


def _driver_version() -> str | None:
    """The driver's own version, which CUDA does not tell; None where Linux does not either."""
    try:
        text = Path("/proc/driver/nvidia/version").read_text(encoding="utf-8")
    except OSError:
        return None
    found = re.search(r"\b\d{3}\.\d+(?:\.\d+)?\b", text)
    return found[0] if found else None
