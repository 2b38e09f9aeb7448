"""The measurement plan: which kernels at which size, and what is kept of each run."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, fields
from functools import partial
from typing import Literal, NamedTuple

from cornerturn.emulator import Access
from cornerturn.errors import CornerturnError, DeviceError, MissingExtraError, UsageError
from cornerturn.gpu import Device, Timing
from cornerturn.kernels.controls import COPY
from cornerturn.kernels.kernel import Kernel, View
from cornerturn.lab.matrices import Matrix
from cornerturn.lab.run import Run, TimingPlan, run_emulated, run_on_gpu, time_library_copy

Status = Literal["valid", "wrong", "failed", "refused", "not installed", "not materialised"]

_PLACES = ("global load", "global store", "shared load", "shared store")

Step = Callable[[str, float], None]
"""Called as ``step(kernel, done)`` while work is under way: its name and how many kernels are done."""


class Traffic(NamedTuple):
    """The loads or the stores of one memory space: how many passes they took and how few would have done.

    Attributes:
        place: ``global load``, ``global store``, ``shared load`` or ``shared store``.
        requests: warp-level memory instructions.
        found, ideal: 32-byte sectors of global memory, wavefronts of shared memory.
    """

    place: str
    requests: int
    found: int
    ideal: int


@dataclass(frozen=True)
class Counters:
    """Exact memory counts of one emulated launch, summed over the loads and stores of each space.

    Sectors are 32 bytes. An ideal is what the same active lanes would need if their bytes lay packed.
    """

    global_load_requests: int = 0
    global_load_sectors: int = 0
    global_load_sectors_ideal: int = 0
    global_store_requests: int = 0
    global_store_sectors: int = 0
    global_store_sectors_ideal: int = 0
    shared_load_requests: int = 0
    shared_load_wavefronts: int = 0
    shared_load_wavefronts_ideal: int = 0
    shared_store_requests: int = 0
    shared_store_wavefronts: int = 0
    shared_store_wavefronts_ideal: int = 0

    def by_place(self) -> tuple[Traffic, ...]:
        """The same numbers, place by place; twelve fields are four places of three."""
        numbers = [getattr(self, field.name) for field in fields(self)]
        return tuple(Traffic(place, *numbers[3 * i : 3 * i + 3]) for i, place in enumerate(_PLACES))


def count(accesses: Iterable[Access]) -> Counters:
    """Sum accesses by space and kind; atomics and other spaces are left out."""
    sums = dict.fromkeys((field.name for field in fields(Counters)), 0)
    for access in accesses:
        place = f"{access.space}_{access.kind}"
        if f"{place}_requests" not in sums:
            continue
        sums[f"{place}_requests"] += access.requests
        if access.space == "global":
            sums[f"{place}_sectors"] += access.sectors
            sums[f"{place}_sectors_ideal"] += access.sectors_ideal
        else:
            sums[f"{place}_wavefronts"] += access.wavefronts
            sums[f"{place}_wavefronts_ideal"] += access.wavefronts_ideal
    return Counters(**sums)


@dataclass(frozen=True)
class Result:
    """One row of a bench: one kernel at one size on one device.

    Attributes:
        rows, cols: of x.
        bytes: read and written by a perfect kernel, twice the size of x.
        device: ``gpu`` or ``emulator``.
        status: ``valid`` when it ran, every bit of the output is right and no hazard was found; ``wrong``
            when it ran and that does not hold; ``failed`` when it could not be run to its end; ``refused``,
            ``not installed`` (its compiler) and ``not materialised`` when it did not run.
        refused: why it did not run, else None.
        faults: why a kernel is wrong or failed, one sentence each.
        instructions: warp-level PTX instructions executed, on the emulator.
        counters: exact memory counts, on the emulator.
        timing: seconds a launch, on a GPU.
        roof_seconds: seconds of the fastest copy of as many bytes in the same run, on a GPU.
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
    def seconds(self) -> float | None:
        """Median seconds a launch, on a GPU."""
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


def bench_on_emulator(entries: Iterable[Kernel | View], x: Matrix, arch: str, step: Step) -> Iterator[Result]:
    """Run each entry on ``x`` with the emulator and yield its result, in order.

    Args:
        entries: of the catalogue.
        x: rows x cols.
        arch: architecture that the kernels are compiled for, for example ``sm_90``.
        step: told about progress.
    """
    for index, entry in enumerate(entries):

        def run(kernel: Kernel, before: int = index) -> Run:
            return run_emulated(kernel, x, arch, lambda done, blocks: step(kernel.name, before + done / blocks))

        step(entry.name, index)
        yield _result(entry, x, "emulator", run)


def bench_on_gpu(
    entries: Iterable[Kernel | View], x: Matrix, device: Device, plan: TimingPlan, step: Step
) -> Iterator[Result]:
    """Measure the copy roof at x's size, then run and time each entry and yield its result, in order.

    Args:
        entries: of the catalogue.
        x: rows x cols.
        device: from `cornerturn.gpu.open_device`.
        plan: how each launch is timed, the roof's included.
        step: told about progress.
    """
    step("copy roof", 0)
    copy, roof, no_roof = None, None, None
    try:
        copy = run_on_gpu(COPY, x, device, plan)
        roof = min(timing.median for timing in (copy.timing, time_library_copy(x, device, plan)) if timing)
    except DeviceError as error:
        no_roof = DeviceError(f"the copy roof could not be measured: {error}")

    def run(kernel: Kernel) -> Run:
        if no_roof:
            raise no_roof
        return copy if copy and kernel is COPY else run_on_gpu(kernel, x, device, plan)

    for index, entry in enumerate(entries):
        step(entry.name, index)
        yield _result(entry, x, "gpu", run, roof)


def _result(
    entry: Kernel | View,
    x: Matrix,
    device: Literal["gpu", "emulator"],
    run: Callable[[Kernel], Run],
    roof_seconds: float | None = None,
) -> Result:
    rows, cols = x.shape
    result = partial(Result, entry.name, entry.family, rows, cols, 2 * x.nbytes, device)
    if isinstance(entry, View):
        return result("not materialised", refused="a view moves nothing")
    if rule := entry.refuses(rows, cols):
        return result("refused", refused=rule)
    try:
        done = run(entry)
    except MissingExtraError as error:
        return result("not installed", refused=str(error))
    except UsageError as error:  # an architecture that the kernel's compiler does not know
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
        roof_seconds=roof_seconds,
    )
