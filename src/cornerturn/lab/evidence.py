"""The numbers that lessons rest on: counts from the emulator, times from a GPU, each taken once, on demand."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from cornerturn.emulator import Emulation
from cornerturn.errors import CornerturnError
from cornerturn.gpu import Device
from cornerturn.kernels.catalogue import find
from cornerturn.kernels.kernel import Kernel
from cornerturn.lab.counts import Counters, Traffic, count
from cornerturn.lab.matrices import distinct
from cornerturn.lab.run import Run, TimingPlan, run_emulated, run_on_gpu
from cornerturn.ptx import parse
from cornerturn.toolchain import build
from cornerturn.toolchain.sass import find_nvdisasm, sass_length

EQUAL = 0.1
"""Times that differ by less than this share count as equal: about what one run can tell from another."""


@dataclass(frozen=True)
class Fact:
    """One piece of evidence.

    Attributes:
        text: a sentence with its numbers.
        holds: whether it supports the lesson's claim.
        timed: whether it rests on times, which need a GPU, or on counts.
    """

    text: str
    holds: bool
    timed: bool = False


class EvidenceError(CornerturnError):
    """Evidence that cannot be computed: a kernel that should be right is not."""


class Numbers:
    """Counts and times of the kernels of the catalogue at one size.

    Args:
        rows, cols: of x.
        device: for times; without it there are none.
        plan: how a launch is timed.
        told: called with the name of the kernel at work.
    """

    def __init__(
        self,
        rows: int,
        cols: int,
        device: Device | None = None,
        plan: TimingPlan | None = None,
        told: Callable[[str], None] = lambda kernel: None,
    ) -> None:
        self.rows, self.cols = rows, cols
        self.device = device
        self.plan = plan or TimingPlan()
        self.told = told
        self.emulation = cache(self._emulation)
        self.seconds = cache(self._seconds)

    def counters(self, name: str) -> Counters:
        """A kernel's counts, summed by memory space and kind."""
        return count(self.emulation(name).accesses)

    def traffic(self, name: str, place: str) -> Traffic:
        """A kernel's traffic in one place, for example ``shared load``."""
        return next(traffic for traffic in self.counters(name).by_place() if traffic.place == place)

    def passes(self, name: str, place: str) -> float:
        """Sectors of global memory, or wavefronts of shared memory, per request; 0 where there are no requests."""
        traffic = self.traffic(name, place)
        return traffic.found / traffic.requests if traffic.requests else 0.0

    def lines(self, name: str) -> int:
        """128-byte lines of global memory touched, summed over the requests."""
        return sum(access.lines for access in self.emulation(name).accesses)

    def widths(self, name: str, space: str, kind: str) -> set[int]:
        """Bytes per lane of a kernel's accesses to one place."""
        accesses = self.emulation(name).accesses
        return {access.width for access in accesses if (access.space, access.kind) == (space, kind)}

    def divisions(self, name: str) -> int:
        """Integer divisions and remainders in the kernel's PTX."""
        image = build(_kernel(name))
        return sum(each.opcode in ("div", "rem") for each in parse(image.ptx, image.symbol).instructions)

    def machine_instructions(self, name: str) -> int | None:
        """Instructions of the kernel's machine code; None without a disassembler."""
        return sass_length(build(_kernel(name))) if find_nvdisasm() else None

    def run(self, kernel: Kernel, rows: int, cols: int) -> Run:
        """Emulate any kernel at any size."""
        self.told(kernel.name)
        return run_emulated(kernel, distinct(rows, cols, kernel.element_bytes))

    def _emulation(self, name: str) -> Emulation:
        run = self.run(_kernel(name), self.rows, self.cols)
        if not run.valid or run.emulation is None:
            raise EvidenceError(f"{name} is wrong at {self.rows}x{self.cols}: {run.faults[0]}")
        return run.emulation

    def _seconds(self, name: str, rows: int = 0, cols: int = 0) -> float | None:
        """Median seconds per launch, at another size if one is given; None without a GPU."""
        if self.device is None:
            return None
        self.told(name)
        kernel = _kernel(name)
        x = distinct(rows or self.rows, cols or self.cols, kernel.element_bytes)
        timing = run_on_gpu(kernel, x, self.device, self.plan).timing
        return timing.median if timing else None


def _kernel(name: str) -> Kernel:
    entry = find(name)
    assert isinstance(entry, Kernel)
    return entry
