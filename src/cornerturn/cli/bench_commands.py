"""``cornerturn list``, ``bench`` and ``info``."""

from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path

import click

from cornerturn import lab
from cornerturn.cli.options import DEFAULT_SIZE, DEVICE, FILE_PATH, PLOT, json_option, sizes_option
from cornerturn.cli.shell import or_else, say, show, write_json
from cornerturn.cli.tune_commands import tuned_fact
from cornerturn.errors import UsageError
from cornerturn.files import check_outputs, replacing
from cornerturn.gpu import open_device, unavailable_reason
from cornerturn.kernels.catalogue import CATALOGUE
from cornerturn.kernels.kernel import Kernel, View
from cornerturn.lab import environment
from cornerturn.lab.by_name import select
from cornerturn.lab.counters import CounterComparison, compare_counters
from cornerturn.lab.environment import choose_device
from cornerturn.lab.matrices import ELEMENT_BYTES, Shape, require_memory
from cornerturn.lab.run import TimingPlan
from cornerturn.lab.user.npy import npy_size, read_matrix
from cornerturn.lab.views import plots, tables
from cornerturn.lab.views.counters import counters_view
from cornerturn.progress import progress_bar
from cornerturn.toolchain import unavailable_reason as why_unavailable


@click.command("list")
def list_kernels() -> None:
    """Show the catalogue: every kernel and its lesson."""
    show(tables.catalogue_table(CATALOGUE))


@click.command()
@click.argument("names", metavar="[KERNEL]...", nargs=-1)
@click.option("--family", "families", multiple=True, help="Run a whole family; may be given several times.")
@sizes_option("Size of x, default 1024x1024; may be given several times.")
@click.option("--input", "source", type=FILE_PATH, metavar="FILE.npy", help="Run on your own matrix.")
@DEVICE
@click.option("--repeat", type=click.IntRange(min=1), default=1000, show_default=True, help="Launches timed on a GPU.")
@click.option("--warmup", type=click.IntRange(min=1), default=10, show_default=True, help="Launches before them.")
@click.option("--cold", is_flag=True, help="Flush a GPU's L2 cache before each launch.")
@json_option()
@PLOT
@click.option(
    "--counters", is_flag=True, help="Compare the emulator's counts with those of a GPU, read by Nsight Compute."
)
def bench(
    names: tuple[str, ...],
    families: tuple[str, ...],
    sizes: list[Shape],
    source: Path | None,
    where: str,
    repeat: int,
    warmup: int,
    cold: bool,
    json_path: Path | None,
    plot_path: Path | None,
    counters: bool,
) -> None:
    """Run kernels, check every bit, show times or counts.

    A GPU gives times; without one, the emulator gives exact memory counts. Without KERNEL and --family, the
    whole catalogue runs.
    """
    if source and sizes:
        raise UsageError("--size and --input exclude each other: an input has its own size")
    check_outputs({"--json": json_path, "--plot": plot_path}, {"--input": source})
    entries = select(names, families)
    if counters:
        if source or cold or plot_path or where == "emulator":
            raise UsageError(
                "--counters needs a GPU, and excludes --input, --cold and --plot: it counts, and times nothing"
            )
        _compare_counters(entries, sizes or [DEFAULT_SIZE], json_path)
        return
    shapes = sizes or [DEFAULT_SIZE]
    # Kernels whose elements are larger than those of others may refuse a size that the others take.
    smallest = min((entry.element_bytes for entry in entries if isinstance(entry, Kernel)), default=ELEMENT_BYTES)
    if source:
        rows, cols, smallest = npy_size(source)
        shapes = [(rows, cols)]
    device, no_gpu = choose_device(where)
    for shape in shapes:
        require_memory(*shape, device.free_bytes() if device else None, smallest)
    plot_format = plots.file_format(plot_path) if plot_path else ""
    if no_gpu:
        say(f"using the emulator: counts are exact, times are not measured; no GPU: {no_gpu}")
    found = lab.bench(
        *(entry.name for entry in entries),
        size=shapes,
        x=read_matrix(source) if source else None,
        device=device or "emulator",
        plan=TimingPlan(repeat, warmup, cold),
    )
    try:
        if json_path:
            write_json(json_path, found.to_json())
        if plot_path:
            with replacing(plot_path) as file:
                plots.draw(found.results, file, plot_format)
    finally:  # a full disk costs the file, not what was measured
        show(found)
    if not found.passed:
        raise click.exceptions.Exit(1)


def _compare_counters(entries: Sequence[Kernel | View], shapes: Sequence[Shape], json_path: Path | None) -> None:
    with or_else("--counters needs an NVIDIA GPU with its driver; without it, bench counts on the emulator alone"):
        device = open_device()
    for shape in shapes:
        require_memory(*shape, device.free_bytes())
    compared: list[CounterComparison] = []
    for shape in shapes:
        kernels = [entry for entry in entries if isinstance(entry, Kernel) and not entry.refuses(*shape)]
        kernels = [kernel for kernel in kernels if why_unavailable(kernel.source, device.facts.arch) is None]
        if not kernels:
            raise UsageError("none of these kernels runs here at {}x{}".format(*shape))
        with progress_bar(len(kernels)) as advance:
            compared += compare_counters(kernels, shape, device.facts.arch, partial(advance, 0))
        show(counters_view(compared[-len(kernels) :], environment.device_title(device, cold=False)))
    if json_path:
        results = [asdict(found) for found in compared]
        write_json(json_path, {"device": environment.device_record(device), "results": results})
    if any(found.differences for found in compared):
        raise click.exceptions.Exit(1)


@click.command()
def info() -> None:
    """Show device, compiler, versions and cache."""
    facts = environment.describe()
    if unavailable_reason() is None:
        facts.insert(2, ("tiles", tuned_fact()))  # after the GPU
    show(tables.pairs_table(facts))
