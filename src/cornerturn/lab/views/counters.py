"""Emulator and hardware side by side, for a terminal."""

from collections.abc import Sequence

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from cornerturn.lab.counters import CounterComparison
from cornerturn.lab.views.tables import FoldedName
from cornerturn.wording import counted

_COLUMNS = (
    "global load requests",
    "global load sectors",
    "global store requests",
    "global store sectors",
    "global lines",
    "shared load requests",
    "shared store requests",
    "shared wavefronts",
)


def counters_view(compared: Sequence[CounterComparison], where: str) -> RenderableType:
    """One table for kernels at one size: what the emulator counts, what the GPU counts, and the difference."""
    rows, cols = compared[0].rows, compared[0].cols
    table = Table(box=box.SIMPLE_HEAD, padding=0, pad_edge=False, show_edge=False)
    table.add_column("kernel", overflow="fold", vertical="bottom", min_width=FoldedName.WIDTH)
    for name in _COLUMNS:
        table.add_column("\n".join(name.split(" ")), justify="right", vertical="bottom", no_wrap=True)
    for found in compared:
        table.add_row(
            FoldedName.assemble((found.kernel, "bold"), "\n  emulator\n  hardware\n", _verdict(found)),
            *(_numbers(found, name) for name in _COLUMNS),
        )
    equal = sum(not found.differences for found in compared)
    verb = "counts" if equal == 1 or len(compared) == 1 else "count"
    summary = f"{equal} of {counted(len(compared), 'kernel')} {verb} alike, in these columns and in the ideals of both"
    style = "green" if equal == len(compared) else "bold red"
    title = Text(f"{rows} x {cols}, 4-byte elements, {where}, under Nsight Compute", "bold")
    return Group(title, Text(), table, Text(), Text(summary, style))


def _verdict(found: CounterComparison) -> Text:
    return Text("  difference", "bold red" if found.differences else "dim")


def _numbers(found: CounterComparison, name: str) -> Text:
    """The two numbers of one counter and their difference, each on its line."""
    difference = found.measured[name] - found.emulated[name]
    return Text.assemble(
        f"\n {found.emulated[name]:,}\n {found.measured[name]:,}\n",
        (f"{difference:+,}" if difference else "0", "bold red" if difference else "dim"),
    )
