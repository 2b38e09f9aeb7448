"""``cornerturn list``, ``bench`` and ``info``."""

from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path

import click

from cornerturn.cli.options import DEFAULT_SIZE, DEVICE, FILE_PATH, PLOT, json_option, sizes_option
from cornerturn.cli.shell import or_else, progress_bar, say, show, write_json
from cornerturn.cli.tune_commands import tuned_fact
from cornerturn.errors import UsageError
from cornerturn.files import check_outputs, replacing
from cornerturn.gpu import Device, open_device, unavailable_reason
from cornerturn.kernels.catalogue import CATALOGUE, find, in_family
from cornerturn.kernels.kernel import Kernel, View
from cornerturn.lab import environment
from cornerturn.lab.bench import Result, bench_on_emulator, bench_on_gpu
from cornerturn.lab.counters import CounterComparison, compare_counters
from cornerturn.lab.matrices import ELEMENT_BYTES, Shape, require_memory
from cornerturn.lab.run import TimingPlan
from cornerturn.lab.user.npy import npy_size, read_matrix
from cornerturn.lab.views import plots, tables
from cornerturn.lab.views.counters import counters_view
from cornerturn.toolchain import DEFAULT_ARCH
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
    plan = TimingPlan(repeat, warmup, cold)
    plot_format = plots.file_format(plot_path) if plot_path else ""
    if no_gpu:
        say(f"using the emulator: counts are exact, times are not measured; no GPU: {no_gpu}")
    results: list[Result] = []
    with progress_bar(len(entries) * len(shapes)) as advance:
        for shape in shapes:
            x = read_matrix(source) if source else shape
            step = partial(advance, len(results))
            if device:
                results += bench_on_gpu(entries, x, device, plan, step)
            else:
                results += bench_on_emulator(entries, x, DEFAULT_ARCH, step)
    ran = {result.kernel for result in results if result.status in ("valid", "wrong")}
    kernels = [entry for entry in entries if isinstance(entry, Kernel) and entry.name in ran]
    compilers = environment.compilers(kernels, device)
    try:
        if json_path:
            facts = environment.device_record(device, compilers)
            write_json(json_path, {"device": facts, "results": [row.to_json() for row in results]})
        if plot_path:
            with replacing(plot_path) as file:
                plots.draw(results, file, plot_format)
    finally:  # a full disk costs the file, not what was measured
        show(tables.bench_tables(results, environment.device_title(device, cold, compilers)))
    if any(result.status in ("wrong", "failed") for result in results):
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


def select(names: Sequence[str], families: Sequence[str]) -> list[Kernel | View]:
    """The entries asked for, in the catalogue's order; all of them if none is."""
    asked = [find(name) for name in names] + [entry for family in families for entry in in_family(family)]
    return [entry for entry in CATALOGUE if entry in asked] if asked else list(CATALOGUE)


def choose_device(where: str) -> tuple[Device | None, str | None]:
    """The GPU to measure on, or None for the emulator; and why there is no GPU, unless the emulator was asked for."""
    if where == "emulator":
        return None, None
    if where == "auto" and (reason := unavailable_reason()):
        return None, reason
    with or_else("choose --device emulator, which counts and does not time"):
        device = open_device()
    return device, None
