"""The ``cornerturn`` command: reads what is asked, calls the laboratory, shows what it found.

Exit status: 0 all well, 1 a kernel gave a wrong result, 2 bad usage, 130 interrupted.
An error is one line on stderr.
"""

import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import click
from rich.console import Console, RenderableType
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

from cornerturn import __version__
from cornerturn.errors import CornerturnError, EmulatorError, UsageError
from cornerturn.gpu import Device, open_device, unavailable_reason
from cornerturn.kernels.catalogue import CATALOGUE, find, in_family
from cornerturn.kernels.kernel import Kernel, View
from cornerturn.lab import environment, plots, tables
from cornerturn.lab.bench import Result, bench_on_emulator, bench_on_gpu
from cornerturn.lab.files import npy_shape, read_matrix, replacing
from cornerturn.lab.matrices import distinct, require_memory
from cornerturn.lab.run import TimingPlan
from cornerturn.toolchain import DEFAULT_ARCH

_DEFAULT_SIZE = (1024, 1024)
_PIPED_WIDTH = 120
_INTERRUPTED, _BROKEN_PIPE = 130, 141  # what a shell reports for a program that SIGINT or SIGPIPE ended

Shape = tuple[int, int]


class _CommandLine(click.Group):
    """A click group that turns every error into one line on stderr and an exit status."""

    def main(self, args: Sequence[str] | None = None, prog_name: str | None = None, *_: Any, **__: Any) -> NoReturn:
        try:
            given = sys.argv[1:] if args is None else list(args)
            with self.make_context(prog_name or "cornerturn", given) as context:
                self.invoke(context)
            sys.stdout.flush()
        except click.exceptions.Exit as done:
            sys.exit(done.exit_code)
        except click.ClickException as error:
            _fail(error.format_message(), 2)
        except EmulatorError as error:
            _fail(str(error), 1)
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # or Python's own flush at exit would complain
            sys.exit(_BROKEN_PIPE)
        except (CornerturnError, OSError) as error:
            _fail(str(error), 2)
        except MemoryError as error:
            _fail(f"not enough memory: {error}: choose a smaller size", 2)
        except (KeyboardInterrupt, click.Abort):
            _fail("interrupted", _INTERRUPTED)
        sys.exit(0)


def _parse_sizes(_: click.Context, __: click.Parameter, texts: Sequence[str]) -> list[Shape]:
    """``1024x1024`` -> ``(1024, 1024)``, each size once."""
    sizes = []
    for text in texts:
        match = re.fullmatch(r"([0-9]{1,18})x([0-9]{1,18})", text)
        rows, cols = (int(extent) for extent in match.groups()) if match else (0, 0)
        if rows < 1 or cols < 1:
            raise click.BadParameter(f"{text!r} is not ROWSxCOLS, two positive integers such as 1024x1024")
        sizes.append((rows, cols))
    return list(dict.fromkeys(sizes))


def _show(table: RenderableType) -> None:
    """Print to stdout: in colour and as wide as the terminal on one, plain and of a fixed width elsewhere."""
    fixed = not sys.stdout.isatty() and "COLUMNS" not in os.environ
    console = Console(width=_PIPED_WIDTH if fixed else None, highlight=False)
    with console.capture() as shown:
        console.print(table)
    for line in shown.get().splitlines():
        click.echo(line.rstrip(), color=console.is_terminal)


def _say(line: str) -> None:
    click.echo(line, err=True)


def _fail(message: str, status: int) -> NoReturn:
    _say("error: " + " ".join(message.split()))
    sys.exit(status)


@click.group(cls=_CommandLine, invoke_without_command=True, context_settings={"max_content_width": 100})
@click.version_option(__version__, message="cornerturn %(version)s")
@click.pass_context
def main(context: click.Context) -> None:
    """The matrix transpose as a laboratory of GPU memory access.

    Exit status: 0 all well, 1 a kernel gave a wrong result, 2 bad usage.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@main.command("list")
def list_kernels() -> None:
    """Show the catalogue: every kernel and its lesson."""
    _show(tables.catalogue_table(CATALOGUE))


@main.command()
@click.argument("names", metavar="[KERNEL]...", nargs=-1)
@click.option("--family", "families", multiple=True, help="Run a whole family; may be given several times.")
@click.option(
    "--size",
    "sizes",
    multiple=True,
    metavar="ROWSxCOLS",
    callback=_parse_sizes,
    help="Size of x, default 1024x1024; may be given several times.",
)
@click.option("--input", "source", type=click.Path(path_type=Path), metavar="FILE.npy", help="Run on your own matrix.")
@click.option("--device", "where", type=click.Choice(["auto", "gpu", "emulator"]), default="auto", show_default=True)
@click.option("--repeat", type=click.IntRange(min=1), default=1000, show_default=True, help="Launches timed on a GPU.")
@click.option("--warmup", type=click.IntRange(min=1), default=10, show_default=True, help="Launches before them.")
@click.option("--cold", is_flag=True, help="Flush a GPU's L2 cache before each launch.")
@click.option("--json", "json_path", type=click.Path(path_type=Path), metavar="FILE", help="Write the results as JSON.")
@click.option("--plot", "plot_path", type=click.Path(path_type=Path), metavar="FILE", help="Draw the results.")
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
) -> None:
    """Run kernels, check every bit, show times or counts.

    A GPU gives times; without one, the emulator gives exact memory counts. Without KERNEL and --family, the
    whole catalogue runs.
    """
    if source and sizes:
        raise UsageError("--size and --input exclude each other: an input has its own size")
    entries = _select(names, families)
    shapes = [npy_shape(source)] if source else sizes or [_DEFAULT_SIZE]
    device, no_gpu = _choose_device(where)
    for shape in shapes:
        require_memory(*shape, device.free_bytes() if device else None)
    plan = TimingPlan(repeat, warmup, cold)
    with ExitStack() as files:
        json_file = files.enter_context(replacing(json_path)) if json_path else None
        plot_file = files.enter_context(replacing(plot_path)) if plot_path else None
        plot_format = plots.file_format(plot_path) if plot_path else ""
        if no_gpu:
            _say(f"using the emulator: counts are exact, times are not measured; no GPU: {no_gpu}")
        results: list[Result] = []
        with _progress_bar(len(entries) * len(shapes)) as show:
            for shape in shapes:
                x = read_matrix(source) if source else distinct(*shape)
                step = partial(show, len(results))
                if device:
                    results += bench_on_gpu(entries, x, device, plan, step)
                else:
                    results += bench_on_emulator(entries, x, DEFAULT_ARCH, step)
                del x  # before the next one is made
        if json_file:
            report = {
                "device": environment.device_record(device),
                "results": [row.to_json() for row in results],
            }
            json_file.write(json.dumps(report, indent=1).encode() + b"\n")
        if plot_file:
            plots.draw(results, plot_file, plot_format)
    _show(tables.bench_tables(results, environment.device_title(device, cold)))
    if any(result.status == "wrong" for result in results):
        raise click.exceptions.Exit(1)


@main.command()
def info() -> None:
    """Show device, compiler, versions and cache."""
    _show(tables.facts_table(environment.facts()))


def _select(names: Sequence[str], families: Sequence[str]) -> list[Kernel | View]:
    """The entries asked for, in the catalogue's order; all of them when none is."""
    asked = [find(name) for name in names] + [entry for family in families for entry in in_family(family)]
    return [entry for entry in CATALOGUE if entry in asked] if asked else list(CATALOGUE)


def _choose_device(where: str) -> tuple[Device | None, str | None]:
    """The GPU to measure on, or None for the emulator, and why the emulator if that was not asked for."""
    if where == "emulator":
        return None, None
    if where == "auto" and (reason := unavailable_reason()):
        return None, reason
    return open_device(), None


@contextmanager
def _progress_bar(kernels: int) -> Iterator[Callable[[int, str, float], None]]:
    """A bar on stderr, on a terminal only, that disappears when the work is done.

    It yields ``show(before, kernel, done)``: how many kernels were done before this matrix, which one is at
    work, and how many are done since.
    """
    console = Console(stderr=True)
    columns = (BarColumn(), TaskProgressColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("", total=kernels)

        def show(before: int, kernel: str, done: float) -> None:
            progress.update(task, completed=before + done, description=kernel)

        yield show
