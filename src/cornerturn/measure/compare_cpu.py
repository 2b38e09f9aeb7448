"""The comparison on a CPU: calls that are timed by the host, into one output that all of them share."""

import os
import platform
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from time import perf_counter

import numpy as np

from cornerturn.measure.cases import Case, distinct_elements
from cornerturn.measure.compare import OURS, Measurement, compare, explained
from cornerturn.measure.peers_cpu import Call, Prepare, copies, ours
from cornerturn.op.strided_view import AnyArray, empty_c_order
from cornerturn.op.transpose import explain_plan

SAMPLE_SECONDS = 1e-3  # a shorter call is repeated within its sample until it takes as long


def compare_on_cpu(case: Case, dtype: str, peers: Mapping[str, Prepare], explain: bool = False) -> list[Measurement]:
    """Measure the copy roof, this package and the peers at one case.

    Args:
        case: from `cornerturn.measure.cases`.
        dtype: NumPy's name of it.
        peers: what prepares each library's calls, by its name.
        explain: name the kernel that this package chose.

    Returns:
        What each did: the roof, this package, and the peers in their order.
    """
    array = distinct_elements(case.whole, dtype)
    x = array[case.slices]
    turned, copied = np.ascontiguousarray(x.transpose(case.axes)), array.reshape(-1)[: x.size]
    out = empty_c_order(turned.shape, turned.dtype)

    def prepare(of_library: Prepare) -> "_Calls | str":
        call = of_library(case, array, out)
        return call if isinstance(call, str) else _Calls(call, turned, out)

    with ThreadPoolExecutor(_cores()) as pool:
        roofs = [partial(_Calls, call, copied, out) for call in copies(array, out, pool, _cores())]
        engines = {name: partial(prepare, of_library) for name, of_library in {OURS: ours, **peers}.items()}
        results = compare(case, dtype, x.nbytes, roofs, engines)
    return explained(results, lambda: explain_plan(x, case.axes).kernel) if explain else results


class _Calls:
    """Calls of a library, repeated in a sample until they fill `SAMPLE_SECONDS`.

    Args:
        call: runs once, whole.
        expected: the elements that it shall leave in ``out`` or return, C-contiguous.
        out: C-contiguous, of the same number of bytes.
    """

    def __init__(self, call: Call, expected: AnyArray, out: AnyArray) -> None:
        self._call, self._expected, self._out = call, expected, out
        self._repeat, self._returned = 1, None
        self.sample()  # warms up
        self._repeat = max(1, round(SAMPLE_SECONDS / self.sample()))

    def sample(self) -> float:
        """Seconds of one call."""
        begin = perf_counter()
        for _ in range(self._repeat):
            self._returned = self._call()
        return (perf_counter() - begin) / self._repeat

    def spoil(self) -> None:
        """Invert every bit of the output."""
        np.invert(_bytes(self._expected), out=_bytes(self._out))

    def is_right(self) -> bool:
        """Return whether the output, or what was returned, has the expected bits."""
        result = self._out if self._returned is None else np.asarray(self._returned)
        return np.array_equal(_bytes(result), _bytes(self._expected))


def _bytes(x: AnyArray) -> AnyArray:
    return np.ascontiguousarray(x).reshape(-1).view(np.uint8)


def cpu_record(versions: Mapping[str, str]) -> dict[str, object]:
    """The machine as JSON, with the versions of what was compared."""
    return {
        "kind": "cpu",
        "name": _processor(),
        "cores": _cores(),
        "python": platform.python_version(),
        "versions": dict(versions),
    }


def cpu_title() -> str:
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
