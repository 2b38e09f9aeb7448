"""transpose() against other libraries and against the copy roof: one process, one run, every result checked.

For each case, all engines run in turn, round after round, so that whatever else the machine does meets all of them
alike; an engine's time is the median of its rounds. The first round warms up. Before the last one the output is
filled with bits that are wrong at every element, and what that round leaves behind is compared with NumPy's own result.
"""

import os
import platform
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, Literal, NamedTuple

import numpy as np

from cornerturn.measure.cases import Case, distinct
from cornerturn.measure.peers import Call, Peer, Prepare, copies, cornerturn
from cornerturn.op.strided_view import AnyArray, empty_c_order

ROUNDS = 9
SAMPLE_SECONDS = 1e-3  # a shorter call is repeated within its round until it takes as long
OURS, ROOF = "cornerturn", "copy"

Status = Literal["valid", "wrong", "refused", "failed"]


@dataclass(frozen=True, slots=True)
class Comparison:
    """What one engine did with one case.

    Attributes:
        case: shape and permutation.
        dtype: its name, NumPy's where NumPy has it.
        engine: a library, or ``copy``, the roof.
        bytes: read and written, twice the size of the array.
        status: ``refused`` if the library does not do this, ``failed`` if it tried and raised an error.
        seconds: median of a call.
        roof_seconds: of the copy of as many bytes.
        refused: why it was refused or failed, to be read after the library's name.
    """

    case: Case
    dtype: str
    engine: str
    bytes: int
    status: Status
    seconds: float | None = None
    roof_seconds: float | None = None
    refused: str | None = None

    @property
    def gbps(self) -> float | None:
        """Bytes read and written per second, in 1e9 bytes/s."""
        return self.bytes / self.seconds / 1e9 if self.seconds else None

    @property
    def roof_share(self) -> float | None:
        """Speed as a share of the copy roof's."""
        return self.roof_seconds / self.seconds if self.seconds and self.roof_seconds else None

    def to_json(self) -> dict[str, object]:
        """The result with the keys of ``compare --json``, in their order."""
        return {
            "case": self.case.name,
            "shape": list(self.case.shape),
            "axes": list(self.case.axes),
            "dtype": self.dtype,
            "bytes": self.bytes,
            "engine": self.engine,
            "seconds": self.seconds,
            "gbps": self.gbps,
            "roof_share": self.roof_share,
        }


def compare_on_cpu(case: Case, dtype: str, peers: Mapping[str, Prepare]) -> list[Comparison]:
    """Measure the copy roof, this package and the peers at one case.

    Args:
        case: from `cornerturn.measure.cases`.
        dtype: NumPy's name of it.
        peers: what prepares each library's calls, by its name.

    Returns:
        What each did: the roof, this package, and the peers in their order.
    """
    x = distinct(case.shape, dtype)
    turned = np.ascontiguousarray(x.transpose(case.axes))
    out = empty_c_order(turned.shape, turned.dtype)
    prepared = {name: prepare(case, x, out) for name, prepare in {OURS: cornerturn, **peers}.items()}
    calls = {name: call for name, call in prepared.items() if not isinstance(call, str)}
    with ThreadPoolExecutor(_cores()) as pool:
        copied = [(call, x) for call in copies(x, out, pool, _cores())]
        measured = measure([*copied, *((call, turned) for call in calls.values())], out)
    roof = min(timing.seconds for timing in measured[: len(copied)] if timing.right)
    timings = dict(zip(calls, measured[len(copied) :], strict=True))
    result = partial(Comparison, case, dtype, bytes=2 * x.nbytes)

    def outcome(name: str, call: Call | str) -> Comparison:
        if isinstance(call, str):
            return result(engine=name, status="refused", refused=call)
        if not timings[name].right:
            return result(engine=name, status="wrong")
        return result(engine=name, status="valid", seconds=timings[name].seconds, roof_seconds=roof)

    roofed = result(engine=ROOF, status="valid", seconds=roof, roof_seconds=roof)
    return [roofed, *(outcome(name, call) for name, call in prepared.items())]


class Timing(NamedTuple):
    """Median seconds of a call, and whether its last result was right to the bit."""

    seconds: float
    right: bool


def measure(calls: Sequence[tuple[Call, AnyArray]], out: AnyArray) -> list[Timing]:
    """Time calls in turn, and check what each leaves in ``out`` or returns.

    Args:
        calls: each with the elements that it shall leave there, C-contiguous.
        out: C-contiguous, of as many bytes.
    """
    repeats = [_repeats(call) for call, _ in calls]
    samples: list[list[float]] = [[] for _ in calls]
    right = [False] * len(calls)
    for round_ in range(ROUNDS):
        for index, (call, expected) in enumerate(calls):
            is_last = round_ == ROUNDS - 1
            if is_last:
                np.invert(_bytes(expected), out=_bytes(out))
            seconds, returned = _sample(call, repeats[index])
            samples[index].append(seconds)
            if is_last:
                result = out if returned is None else np.asarray(returned)
                right[index] = np.array_equal(_bytes(result), _bytes(expected))
    return [Timing(median(of_call), is_right) for of_call, is_right in zip(samples, right, strict=True)]


def _repeats(call: Call) -> int:
    """Warm up, and return how often to call within one sample."""
    call()
    seconds, _ = _sample(call, 1)
    return max(1, round(SAMPLE_SECONDS / seconds))


def _sample(call: Call, repeat: int) -> tuple[float, Any]:
    """Return the seconds of one call, and what the last one returned."""
    begin = perf_counter()
    for _ in range(repeat):
        returned = call()
    return (perf_counter() - begin) / repeat, returned


def _bytes(x: AnyArray) -> AnyArray:
    return np.ascontiguousarray(x).reshape(-1).view(np.uint8)


def device_record(peers: Sequence[Peer]) -> dict[str, object]:
    """The machine as JSON, with the versions of what was compared."""
    return {
        "kind": "cpu",
        "name": _processor(),
        "cores": _cores(),
        "python": platform.python_version(),
        "versions": {peer.name: peer.version for peer in peers},
    }


def device_title() -> str:
    """The machine in a few words, for a table's title."""
    return f"{_processor()}, {_cores()} cores"


def _processor() -> str:
    """The processor's name, which Linux knows better than Python does."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())


def _cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
