"""The measurement: which kernels run at which size, and what is kept of each run."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import lru_cache, partial
from typing import Literal, NamedTuple

import numpy as np

from cornerturn.errors import CornerturnError, DeviceError, MissingExtraError, UsageError
from cornerturn.gpu import Device, Timing
from cornerturn.kernels.controls import COPY
from cornerturn.kernels.kernel import Kernel, View
from cornerturn.lab.counts import Counters, count
from cornerturn.lab.matrices import ELEMENT_BYTES, Matrix, distinct, require_memory
from cornerturn.lab.run import Run, TimingPlan, run_emulated, run_on_gpu, size_rule, time_library_copy
from cornerturn.showing import Shown
from cornerturn.wording import counted

Status = Literal["valid", "wrong", "failed", "refused", "not installed", "not materialised"]

Given = Matrix | tuple[int, int]
"""What kernels run on: a matrix, or the shape of a test matrix, which each kernel gets in its own element size."""

Advance = Callable[[str, float], None]
"""Called as ``step(kernel, done)`` while work is under way: its name and how many kernels are done."""


@dataclass(frozen=True)
class Result:
    """One row of a bench: one kernel at one size on one device.

    Attributes:
        rows, cols: of x.
        bytes: read and written by a perfect kernel, twice the size of x.
        device: ``gpu`` or ``emulator``.
        status: ``valid`` when it ran, every bit of the output is right and no hazard was found; ``wrong``
            when it ran and that is not so; ``failed`` when it could not be run to its end; ``refused``,
            ``not installed`` (its compiler) and ``not materialised`` when it did not run.
        refused: why it did not run, else None.
        faults: why a kernel is wrong or failed, a sentence per fault.
        instructions: warp-level PTX instructions executed, on the emulator.
        counters: exact memory counts, on the emulator.
        timing: seconds per launch, on a GPU.
        roof_seconds: seconds of the fastest copy of the same number of bytes in the same run, on a GPU.
    """

    kernel: str
    family: str
    rows: int
    cols: int
    bytes: int
    device: Literal["gpu", "emulator"]
    status: Status
    refused: str | None = None
    faults: tuple[str, ...] = ()
    instructions: int | None = None
    counters: Counters | None = None
    timing: Timing | None = None
    roof_seconds: float | None = None

    @property
    def element_bytes(self) -> int:
        """Size of an element of x."""
        return self.bytes // (2 * self.rows * self.cols)

    @property
    def seconds(self) -> float | None:
        """Median seconds per launch, on a GPU."""
        return self.timing.median if self.timing else None

    @property
    def gbps(self) -> float | None:
        """Bytes read and written per second, in 1e9 bytes/s."""
        return self.bytes / self.seconds / 1e9 if self.seconds else None

    @property
    def roof_share(self) -> float | None:
        """Speed as a share of the measured copy roof."""
        return self.roof_seconds / self.seconds if self.seconds and self.roof_seconds else None

    def to_json(self) -> dict[str, object]:
        """The result with the keys of ``bench --json``, in their order."""
        return {
            "kernel": self.kernel,
            "family": self.family,
            "rows": self.rows,
            "cols": self.cols,
            "bytes": self.bytes,
            "device": self.device,
            "valid": self.status == "valid",
            "refused": self.refused,
            "seconds": self.seconds,
            "gbps": self.gbps,
            "roof_share": self.roof_share,
            "instructions": self.instructions,
            "counters": asdict(self.counters) if self.counters else None,
        }


@dataclass(frozen=True)
class Bench(Shown):
    """What a bench found on one device.

    Attributes:
        results: kernel by kernel, size by size.
        record: the device, as JSON.
        title: the device in a few words, with what decides the numbers.
    """

    results: tuple[Result, ...]
    record: Mapping[str, object]
    title: str

    def __repr__(self) -> str:
        valid = sum(result.status == "valid" for result in self.results)
        return f"<Bench, {self.title}: {valid} of {counted(len(self.results), 'run')} valid>"

    def __iter__(self) -> Iterator[Result]:
        return iter(self.results)

    @property
    def passed(self) -> bool:
        """Whether no kernel was wrong or failed."""
        return not any(result.status in ("wrong", "failed") for result in self.results)

    def to_json(self) -> dict[str, object]:
        """The report of ``bench --json``."""
        return {"device": dict(self.record), "results": [result.to_json() for result in self.results]}


def bench_on_emulator(entries: Iterable[Kernel | View], x: Given, arch: str, step: Advance) -> Iterator[Result]:
    """Run each entry on ``x`` with the emulator and yield its result, in order.

    Args:
        entries: of the catalogue.
        x: rows x cols; of a matrix, kernels of another element size refuse the elements.
        arch: architecture that the kernels are compiled for, for example ``sm_90``.
        step: told which kernel is at work, and how many are done.
    """
    matrix = _matrices(x)
    for index, entry in enumerate(entries):

        def run(kernel: Kernel, before: int = index) -> Run:
            words = matrix(kernel.element_bytes)
            return run_emulated(kernel, words, arch, lambda done, blocks: step(kernel.name, before + done / blocks))

        step(entry.name, index)
        yield result_of(entry, x, "emulator", run)


def bench_on_gpu(
    entries: Iterable[Kernel | View], x: Given, device: Device, plan: TimingPlan, step: Advance
) -> Iterator[Result]:
    """Run and time each entry and yield its result, in order. The roof is measured once per element size.

    Args:
        entries: of the catalogue.
        x: rows x cols; of a matrix, kernels of another element size refuse the elements.
        device: from `cornerturn.gpu.open_device`.
        plan: how each launch is timed, the roof's included.
        step: told which kernel is at work, and how many are done.
    """
    matrix = _matrices(x, device)
    roofs: dict[int, _Roof | DeviceError] = {}

    def roof(element_bytes: int) -> _Roof:
        if element_bytes not in roofs:
            step("copy roof", index)
            try:
                roofs[element_bytes] = _measure_roof(matrix(element_bytes), device, plan)
            except DeviceError as error:
                roofs[element_bytes] = DeviceError(f"the copy roof could not be measured: {error}")
        found = roofs[element_bytes]
        if isinstance(found, DeviceError):
            raise found
        return found

    def run(kernel: Kernel) -> Run:
        copy = roof(kernel.element_bytes).copy
        return copy if kernel is COPY and copy else run_on_gpu(kernel, matrix(kernel.element_bytes), device, plan)

    for index, entry in enumerate(entries):
        step(entry.name, index)
        result = result_of(entry, x, "gpu", run)
        yield replace(result, roof_seconds=roof(result.element_bytes).seconds) if result.timing else result


class _Roof(NamedTuple):
    """The fastest copy of a matrix: its seconds, and the copy control's run, if it ran on the matrix itself."""

    seconds: float
    copy: Run | None


def _measure_roof(x: Matrix, device: Device, plan: TimingPlan) -> _Roof:
    own = x.itemsize == COPY.element_bytes
    copy = run_on_gpu(COPY, x if own else _as_copied(x), device, plan)
    timings = (copy.timing, time_library_copy(x, device, plan))
    return _Roof(min(timing.median for timing in timings if timing), copy if own else None)


def _as_copied(x: Matrix) -> Matrix:
    """The bytes of ``x`` as one row of the copy control's elements; bytes left over are padded to one more."""
    flat = x.reshape(-1).view(np.uint8)
    return np.pad(flat, (0, -flat.size % COPY.element_bytes)).view(np.uint32).reshape(1, -1)


def _matrices(x: Given, device: Device | None = None) -> Callable[[int], Matrix]:
    """``matrix(element_bytes)``: what a kernel of that element size runs on; the last one is kept."""
    if not isinstance(x, tuple):
        return lambda element_bytes: x

    @lru_cache(maxsize=1)
    def matrix(element_bytes: int) -> Matrix:
        require_memory(*x, device.free_bytes() if device else None, element_bytes)
        return distinct(*x, element_bytes)

    return matrix


def result_of(
    entry: Kernel | View, x: Given, device: Literal["gpu", "emulator"], run: Callable[[Kernel], Run]
) -> Result:
    """Return the result of ``run(entry)``, or of not running it: a view, or a kernel that refuses x.

    Args:
        entry: of the catalogue.
        x: rows x cols, or the matrix.
        device: where it runs.
        run: its errors become the result's status.
    """
    rows, cols = x if isinstance(x, tuple) else x.shape
    own_bytes = entry.element_bytes if isinstance(entry, Kernel) else ELEMENT_BYTES
    element_bytes = own_bytes if isinstance(x, tuple) else x.itemsize
    result = partial(Result, entry.name, entry.family, rows, cols, 2 * rows * cols * element_bytes, device)
    if isinstance(entry, View):
        return result("not materialised", refused="a view moves nothing")
    if rule := _rule(entry, x, rows, cols):
        return result("refused", refused=rule)
    try:
        done = run(entry)
    except MissingExtraError as error:
        return result("not installed", refused=str(error))
    except UsageError as error:  # too little memory, or an architecture that the kernel's compiler does not know
        return result("refused", refused=str(error))
    except CornerturnError as error:
        return result("failed", faults=(str(error),))
    emulation = done.emulation
    return result(
        "valid" if done.valid else "wrong",
        faults=done.faults,
        instructions=emulation.warp_instructions if emulation else None,
        counters=count(emulation.accesses) if emulation else None,
        timing=done.timing,
    )


def _rule(kernel: Kernel, x: Given, rows: int, cols: int) -> str | None:
    """The rule that x breaks: by its elements, or by its shape."""
    return (None if isinstance(x, tuple) else size_rule(kernel, x)) or kernel.refuses(rows, cols)
