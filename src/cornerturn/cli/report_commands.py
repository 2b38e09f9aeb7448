"""``cornerturn report``: the laboratory as one page."""

from functools import partial
from pathlib import Path

import click

from cornerturn.cli.options import FILE_PATH, SIZE, OutputPath
from cornerturn.cli.shell import say
from cornerturn.files import check_outputs, replacing
from cornerturn.lab import report as lab_report
from cornerturn.lab.by_name import select
from cornerturn.lab.matrices import Shape, require_memory
from cornerturn.progress import progress_bar
from cornerturn.wording import counted


@click.command()
@click.option(
    "-o", "--output", type=OutputPath(".html"), default=Path("report.html"), show_default=True, metavar="FILE"
)
@click.option("--kernel", "names", multiple=True, metavar="KERNEL", help="Only this one; may be given several times.")
@SIZE
@click.option(
    "--results",
    "paths",
    type=FILE_PATH,
    multiple=True,
    metavar="FILE",
    help="Times from a GPU, as `bench --json` wrote them; may be given several times.",
)
def report(output: Path, names: tuple[str, ...], shape: Shape, paths: tuple[Path, ...]) -> None:
    """Write the whole laboratory as one HTML page.

    It needs no network. Counts come from the emulator, at one size; times come from --results.
    """
    check_outputs({"--output": output}, {f"--results {path}": path for path in paths})
    entries = select(names, ())
    require_memory(*shape)  # what is larger, for the size of its elements, is refused kernel by kernel
    measured = [each for path in paths for each in lab_report.read_measured(path)]
    with progress_bar(lab_report.steps(entries)) as advance:
        found = lab_report.contents(entries, *shape, measured, step=partial(advance, 0))
    with replacing(output) as file:
        file.write(lab_report.page(found).encode())
    say(f"{output}: {counted(len(entries), 'kernel')}, {output.stat().st_size / 1e6:.1f} MB")
    if any(each["result"]["status"] in ("wrong", "failed") for each in found["kernels"]):
        raise click.exceptions.Exit(1)
