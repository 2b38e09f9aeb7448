"""The seconds that a box takes on a device, from its counts and the device's `Rates`."""

from dataclasses import dataclass

from cornerturn.kernels.production.axes import SECTOR
from cornerturn.kernels.production.profile import Rates
from cornerturn.op.gpu.counts import Counts

SHORT_RUN = 2 * SECTOR
"""Bytes of what DRAM moves at once: shorter runs share it with others."""
FEW_WARPS, FEW_BLOCKS, FEW_UNITS = 12, 4, 6
"""Warps and blocks of a multiprocessor that hide what one waits for; and units per thread that do not show."""


@dataclass(frozen=True)
class Cost:
    """What bounds a box, each in seconds for the whole move.

    Attributes:
        memory: sectors of x and y at the rate of a copy.
        issue: instructions at the rate at which multiprocessors issue them.
        wavefronts: of global and shared memory, at one per cycle.
        waiting: for memory, one step after the other.
        seconds: what they come to together, with the launch.
    """

    memory: float
    issue: float
    wavefronts: float
    waiting: float
    seconds: float

    @property
    def bound(self) -> str:
        """Which of the four is the largest."""
        return max(("memory", "issue", "wavefronts", "waiting"), key=lambda name: float(getattr(self, name)))


def copy_seconds(nbytes: int, rates: Rates) -> float:
    """Return the time of copying so many bytes."""
    return rates.launch + rates.fill + 2 * nbytes / rates.copy


def cost_of(counts: Counts, nbytes: int, along_x: bool, numbered: int, direct: bool, rates: Rates) -> Cost:
    """Return what a box costs.

    Args:
        counts: of the box.
        nbytes: bytes of the array.
        along_x: blocks are numbered as x lies in memory.
        numbered: axes along which blocks are numbered.
        direct: units of y are gathered from x itself.
        rates: of the device.
    """
    short = 1 + rates.short_run * min(1.0, SHORT_RUN / counts.x_run)
    memory = (rates.fill + 2 * nbytes / rates.copy) * (
        short
        + (counts.gaps - 1) / 2
        + rates.x_sector * (counts.x_sectors - 1)
        + rates.y_sector * (counts.y_sectors - 1)
        + rates.stored_sector * (counts.stored_sectors - 1)
        + rates.uncovered * (counts.covered - 1)
        + rates.one_sector_read * (SECTOR / max(counts.x_run, SECTOR)) ** 2
        + rates.one_sector_write * (SECTOR / max(counts.y_run, SECTOR)) ** 2
        + rates.scattered_write * along_x * min(1.0, SHORT_RUN / counts.y_run)
    )
    memory *= 1 + rates.few_warps * max(0, FEW_WARPS - counts.warps * counts.resident)
    if not direct:
        memory *= 1 + rates.few_blocks * max(0.0, 1 - counts.blocks / (rates.multiprocessors * FEW_BLOCKS))
    memory *= 1 + rates.many_units * max(0, counts.units - FEW_UNITS)
    busy = min(counts.blocks, rates.multiprocessors)
    cycles = counts.blocks / busy / rates.clock
    instructions = counts.warps * (rates.prologue + rates.per_axis * numbered + rates.place * counts.setup)
    instructions += counts.permutes + rates.access * counts.accesses + rates.read_window * counts.read_windows
    issue = rates.issue * instructions / 4 * cycles
    wavefronts = counts.wavefronts * cycles * (rates.scattered_read if direct else 1)
    waits = (rates.direct_wait if direct else rates.read_wait) * counts.read_waits
    waits += rates.gather_wait * counts.gather_waits
    waiting = waits * max(1.0, counts.blocks / (rates.multiprocessors * counts.resident))
    norm = rates.overlap
    together = sum(part**norm for part in (memory, issue, wavefronts, waiting)) ** (1 / norm)
    return Cost(memory, issue, wavefronts, waiting, rates.launch + together)
