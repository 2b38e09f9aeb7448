"""``cornerturn tune``: measure which tiles are fastest on the user's own GPU."""

from collections.abc import Sequence
from pathlib import Path

import click
from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from cornerturn.cli.options import json_option
from cornerturn.cli.shell import or_else, say, show, write_json
from cornerturn.errors import UsageError
from cornerturn.files import check_outputs
from cornerturn.gpu import DeviceFacts, facts_of, open_device
from cornerturn.kernels.kernel import ELEMENT_SIZES
from cornerturn.lab.environment import device_record
from cornerturn.measure.tune import Choice, decisions
from cornerturn.measure.tune_bench import tune_device, untune
from cornerturn.op.gpu.tuned import tiles_path, tuned_elements
from cornerturn.progress import progress_bar
from cornerturn.toolchain import Cache, cache_folder


@click.command()
@click.option(
    "--element",
    "elements",
    multiple=True,
    type=click.Choice([str(element) for element in ELEMENT_SIZES]),
    help="Tune only for elements of this many bytes; may be given several times.",
)
@json_option()
@click.option("--forget", is_flag=True, help="Remove what was tuned for this GPU.")
def tune(elements: tuple[str, ...], json_path: Path | None, forget: bool) -> None:
    """Measure on this GPU which tiles transpose() should take.

    Without it, transpose() takes what is fastest on an H200. What is found is kept in the cache and used afterwards.
    An interrupted run keeps what it has found for whole element sizes.
    """
    if forget and (elements or json_path):
        raise UsageError("--forget excludes --element and --json: it removes all that was tuned for this GPU")
    check_outputs({"--json": json_path})
    with or_else("tune needs an NVIDIA GPU with its driver; transpose() works without being tuned"):
        device = open_device()
    if forget:
        say(f"{device.facts.name}: {'what was tuned is removed' if untune(device.facts) else 'nothing was tuned'}")
        return
    cache = Cache(cache_folder())
    if not cache.info().writable:
        raise UsageError(f"the cache {cache.folder} is not writable: set CORNERTURN_CACHE to a folder that is")
    sizes = sorted({int(element) for element in elements}) or list(ELEMENT_SIZES)
    choices: list[Choice] = []
    try:
        with progress_bar(len(decisions(sizes))) as advance:
            for found in tune_device(device, sizes, advance):
                choices += found
        if json_path:
            results = [choice.to_json() for choice in choices]
            write_json(json_path, {"device": device_record(device), "results": results})
    finally:  # an interrupt or a full disk costs what comes after it, not what was measured
        if choices:
            show(tune_table(choices, device.facts))
            say(f"kept in {tiles_path(device.facts)}")


def tuned_fact(ordinal: int = 0) -> str:
    """Whether a device is tuned, for ``cornerturn info``."""
    tuned = tuned_elements(facts_of(ordinal))
    if not tuned:
        return "those of an H200; cornerturn tune measures the best ones here"
    return f"tuned for elements of {', '.join(map(str, tuned))} bytes"


def tune_table(choices: Sequence[Choice], device: DeviceFacts) -> RenderableType:
    """What was found, a row per decision."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    table.add_column("bytes", justify="right")
    for heading in ("problems", "default", "chosen"):
        table.add_column(heading)
    for heading in ("GB/s", "of the\ncopy", "gain"):
        table.add_column(heading, justify="right", no_wrap=True)
    for choice in choices:
        chosen = Text("default", "dim") if choice.chosen == choice.default else Text(choice.chosen, "green")
        table.add_row(
            str(choice.element),
            choice.kind,
            choice.default,
            chosen,
            f"{choice.gbps:,.0f}",
            f"{choice.roof_share:.0%}",
            _gain(choice),
        )
    title = Text(f"tiles for {device.title}, {device.multiprocessors} multiprocessors", "bold")
    legend = "tiles: rows x columns x rows that a thread turns at once; GB/s and the copy's share: of what was chosen"
    return Group(title, Text(), table, Text(), Text(legend, "dim"))


def _gain(choice: Choice) -> Text:
    if choice.chosen == choice.default:
        return Text("-", "dim")
    return Text("new" if choice.gain is None else f"{choice.gain:+.1%}", "green")
