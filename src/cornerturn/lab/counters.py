"""The emulator's counts and those of the hardware, which Nsight Compute reads while a GPU runs the same kernels.

Metric names: Nsight Compute documentation (https://docs.nvidia.com/nsight-compute), metrics reference. The
``memory_*`` metrics are source counters: they count what the instructions ask for, which is what the emulator counts.
"""

import csv
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cornerturn.emulator import Access
from cornerturn.errors import DeviceError
from cornerturn.kernels.catalogue import find
from cornerturn.kernels.kernel import Kernel
from cornerturn.lab.matrices import Shape, distinct
from cornerturn.lab.run import run_emulated, run_on_gpu
from cornerturn.toolchain import DEFAULT_ARCH


@dataclass(frozen=True)
class Counter:
    """A number that both count.

    Attributes:
        name: as tables show it.
        metric: of Nsight Compute.
        emulated: the same from the emulator's accesses.
    """

    name: str
    metric: str
    emulated: Callable[[Sequence[Access]], int]


def _sum(attribute: str, space: str, kind: str = "") -> Callable[[Sequence[Access]], int]:
    kinds = (kind,) if kind else ("load", "store")
    return lambda accesses: sum(
        getattr(access, attribute) for access in accesses if access.space == space and access.kind in kinds
    )


def _plain_shared_stores(accesses: Sequence[Access]) -> int:
    """Without asynchronous copies, which the hardware does not count as shared stores."""
    return _sum("requests", "shared", "store")([access for access in accesses if "cp.async" not in access.instruction])


COUNTERS: tuple[Counter, ...] = (
    Counter(
        "global load requests",
        "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
        _sum("requests", "global", "load"),
    ),
    Counter(
        "global store requests",
        "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
        _sum("requests", "global", "store"),
    ),
    Counter(
        "global load sectors",
        "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
        _sum("sectors", "global", "load"),
    ),
    Counter(
        "global store sectors",
        "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
        _sum("sectors", "global", "store"),
    ),
    Counter("global sectors", "memory_l2_theoretical_sectors_global", _sum("sectors", "global")),
    Counter("global sectors, ideal", "memory_l2_theoretical_sectors_global_ideal", _sum("sectors_ideal", "global")),
    Counter("global lines", "memory_l1_tag_requests_global", _sum("lines", "global")),
    Counter(
        "shared load requests",
        "smsp__sass_inst_executed_op_shared_ld.sum",
        _sum("requests", "shared", "load"),
    ),
    Counter("shared store requests", "smsp__sass_inst_executed_op_shared_st.sum", _plain_shared_stores),
    Counter("shared wavefronts", "memory_l1_wavefronts_shared", _sum("wavefronts", "shared")),
    Counter("shared wavefronts, ideal", "memory_l1_wavefronts_shared_ideal", _sum("wavefronts_ideal", "shared")),
)
"""All that is compared. Shared store requests omit asynchronous copies on both sides."""


@dataclass(frozen=True)
class CounterComparison:
    """One kernel at one size.

    Attributes:
        rows, cols: of x.
        emulated, measured: numbers by `Counter.name`.
    """

    kernel: str
    rows: int
    cols: int
    emulated: Mapping[str, int]
    measured: Mapping[str, int]

    @property
    def differences(self) -> dict[str, int]:
        """Measured less emulated, where that is not zero."""
        apart = {name: self.measured[name] - number for name, number in self.emulated.items()}
        return {name: difference for name, difference in apart.items() if difference}


def emulated_counters(accesses: Sequence[Access]) -> dict[str, int]:
    """The emulator's numbers for each of `COUNTERS`, by name."""
    return {counter.name: counter.emulated(accesses) for counter in COUNTERS}


def compare_counters(
    kernels: Sequence[Kernel],
    shape: Shape,
    arch: str = DEFAULT_ARCH,
    step: Callable[[str, float], None] = lambda kernel, done: None,
) -> list[CounterComparison]:
    """Run each kernel once on the GPU, under Nsight Compute, and once on the emulator.

    Args:
        kernels: of the catalogue, all accepting ``shape``.
        shape: of x, rows and cols.
        arch: architecture of the GPU.
        step: told which kernel is at work and how many are done.

    Raises:
        DeviceError: Nsight Compute is not found, or may not read the counters.
    """
    step("Nsight Compute", 0)
    measured = measure([kernel.name for kernel in kernels], shape)
    comparisons = []
    for number, (kernel, hardware) in enumerate(zip(kernels, measured, strict=True)):

        def progress(done: int, blocks: int, name: str = kernel.name, before: int = number) -> None:
            step(name, before + done / blocks)

        emulation = run_emulated(kernel, distinct(*shape, kernel.element_bytes), arch, progress).emulation
        assert emulation is not None
        comparisons.append(CounterComparison(kernel.name, *shape, emulated_counters(emulation.accesses), hardware))
    return comparisons


def measure(names: Sequence[str], shape: Shape) -> list[dict[str, int]]:
    """What the hardware counts for one launch of each kernel, in a process of its own under Nsight Compute.

    Args:
        names: of kernels of the catalogue.
        shape: of x, rows and cols.

    Raises: as `compare_counters`.
    """
    code = "from cornerturn.lab.counters import launch_once; launch_once(*__import__('sys').argv[1:])"
    return read_counters([sys.executable, "-c", code, "{}x{}".format(*shape), *names], launches=len(names))


def launch_once(size: str, *names: str) -> None:
    """Launch each kernel of the catalogue once on the first GPU: what `measure` profiles."""
    from cornerturn.gpu import open_device

    rows, cols = map(int, size.split("x"))
    device = open_device()
    for name in names:
        kernel = find(name)
        assert isinstance(kernel, Kernel)
        run_on_gpu(kernel, distinct(rows, cols, kernel.element_bytes), device)


def read_counters(command: Sequence[str], launches: int) -> list[dict[str, int]]:
    """Run ``command`` under Nsight Compute: `COUNTERS` by name for each of the ``launches`` kernels it must launch.

    Raises:
        DeviceError: Nsight Compute is not found or may not read the counters, or the command fails.
    """
    ncu = find_ncu()
    if ncu is None:
        raise DeviceError(
            "hardware counters are read with Nsight Compute, whose program ncu is not on PATH; install it, or the "
            "CUDA Toolkit, which holds it"
        )
    metrics = ",".join(counter.metric for counter in COUNTERS)
    # Clocks are not locked: counts do not depend on them, and locking needs privileges.
    options = ["--clock-control", "none", "--csv", "--page", "raw", "--metrics", metrics]
    done = subprocess.run([ncu, *options, *command], capture_output=True, text=True, check=False)
    table = parse_table(done.stdout.splitlines())
    if done.returncode or len(table) != launches:
        raise DeviceError(f"Nsight Compute counted {len(table)} of {launches} launches: {_complaint(done)}")
    return table


def find_ncu() -> str | None:
    """Path of Nsight Compute: from PATH, else from the CUDA Toolkit's usual place; None without one."""
    usual = Path("/usr/local/cuda/bin/ncu")
    return shutil.which("ncu") or (str(usual) if usual.exists() else None)


def parse_table(lines: Iterable[str]) -> list[dict[str, int]]:
    """The counters of each launch in what ``ncu --csv --page raw`` prints; other lines are ignored.

    Example:
        >>> heading = ",".join(f'"{name}"' for name in ("ID", *(counter.metric for counter in COUNTERS)))
        >>> units, numbers = '""' + ',"sector"' * len(COUNTERS), '"0"' + ',"1,024"' * len(COUNTERS)
        >>> parse_table(["==PROF== Connected", heading, units, numbers])[0]["global lines"]
        1024
    """
    rows = csv.DictReader(line for line in lines if line.startswith('"'))
    return [
        {counter.name: int(float(row[counter.metric].replace(",", ""))) for counter in COUNTERS}
        for row in rows
        if row["ID"]  # the row below the heading holds the units
    ]


def _complaint(done: "subprocess.CompletedProcess[str]") -> str:
    """The line of its output that says why it failed."""
    lines = [line.strip() for line in (done.stdout + "\n" + done.stderr).splitlines() if line.strip()]
    errors = [line for line in lines if "==ERROR==" in line or "Error" in line]
    said = (errors or lines or ["it printed nothing"])[-1]
    if "ERR_NVGPUCTRPERM" in said:
        said += "; an administrator can allow it: https://developer.nvidia.com/ERR_NVGPUCTRPERM"
    return said
