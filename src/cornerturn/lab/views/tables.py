"""Results as tables for a terminal: the eye should go to what is wasted.

Colour only repeats what the text says, so a table reads the same when it is piped.
"""

from collections.abc import Iterable, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any

from rich import box
from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.containers import Lines
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from cornerturn.kernels.kernel import Kernel, View
from cornerturn.lab.counts import Traffic
from cornerturn.lab.measuring import Bench, Result
from cornerturn.showing import view_of
from cornerturn.toolchain import unavailable_reason

_STATUS_STYLES = {
    "valid": "green",
    "wrong": "bold red",
    "failed": "bold red",
    "refused": "yellow",
    "not installed": "yellow",
    "not materialised": "dim",
}


@view_of.register
def bench_view(found: Bench) -> RenderableType:
    """One table per size of x and of its elements, each followed by notes on its rows."""
    parts: list[RenderableType] = []
    for (rows, cols, element_bytes), of_size in by_size(found.results).items():
        table, legend = (_gpu_table if of_size[0].device == "gpu" else _emulator_table)(of_size)
        title = Text(f"{rows} x {cols}, {element_bytes}-byte elements, {found.title}", "bold")
        parts += [title, Text(), table, Text(), Text(legend, "dim"), *_notes(of_size), Text()]
    return Group(*parts[:-1])


def by_size(results: Iterable[Result]) -> dict[tuple[int, int, int], list[Result]]:
    """The results by rows, cols and bytes of an element, in the order in which these first occur."""
    found: dict[tuple[int, int, int], list[Result]] = {}
    for result in results:
        found.setdefault((result.rows, result.cols, result.element_bytes), []).append(result)
    return found


class FoldedName(Text):
    """A kernel's name, which may be broken on a narrow terminal; numbers never are."""

    WIDTH = 26  # columns: all names but one fit

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        measured = super().__rich_measure__(console, options)
        return Measurement(min(measured.minimum, self.WIDTH), measured.maximum)

    def wrap(self, console: Console, width: int, **how: Any) -> Lines:
        """Break after an underscore rather than within a word."""
        at = self.plain.rfind("_", 0, width) + 1
        if "\n" in self.plain or self.cell_len <= width or not at:
            return super().wrap(console, width, **how)
        head, tail = self.divide([at])
        return Lines([head, *tail.wrap(console, width, **how)])


def _emulator_table(results: Sequence[Result]) -> tuple[Table, str]:
    """The counts of one size, and how to read them."""
    table = _new_table("global\nload", "global\nstore", "shared\nload", "shared\nstore", "instr./\nelement")
    for result in results:
        table.add_row(FoldedName(result.kernel), *_counts(result), _status(result))
    return table, "found/ideal per request: 32-byte sectors (global), wavefronts (shared)"


def _counts(result: Result) -> list[Text]:
    """The cells of one emulated kernel: four places of memory, then its PTX instructions per element."""
    if result.counters is None or result.instructions is None:
        return [Text()] * 5
    cells = [_per_request(traffic) for traffic in result.counters.by_place()]
    issued = 32 * result.instructions / (result.rows * result.cols)  # an issued warp instruction takes 32 lanes' time
    return [*cells, Text(_number(issued))]


def _per_request(traffic: Traffic) -> Text:
    if traffic.requests == 0:
        return Text("-", "dim")
    found, ideal = (_number(passes / traffic.requests) for passes in (traffic.found, traffic.ideal))
    waste = traffic.found / traffic.ideal
    return Text(f"{found}/{ideal}", "dim" if waste == 1 else "yellow" if waste < 2 else "bold red")


def _gpu_table(results: Sequence[Result]) -> tuple[Table, str]:
    """The times of one size, and the roof they are compared with."""
    table = _new_table("median\nµs", "5 - 95 %\nµs", "GB/s", "of the\ncopy roof")
    for result in results:
        table.add_row(FoldedName(result.kernel), *_times(result), _status(result))
    roof = next((result.bytes / result.roof_seconds / 1e9 for result in results if result.roof_seconds), 0.0)
    return table, f"copy roof, measured in this run: {roof:,.0f} GB/s; bytes are read + written"


def _times(result: Result) -> list[Text]:
    """The cells of one timed kernel."""
    if result.timing is None or result.gbps is None or result.roof_share is None:
        return [Text()] * 4
    timing, share = result.timing, result.roof_share
    style = "green" if share >= 0.9 else "yellow" if share >= 0.5 else "bold red"
    return [
        Text(_microseconds(timing.median)),
        Text(f"{_microseconds(timing.low)} - {_microseconds(timing.high)}", "dim"),
        Text(f"{result.gbps:,.0f}"),
        Text(f"{share:.0%}", style),
    ]


def _new_table(*headings: str) -> Table:
    """A table with a column of names, right-aligned columns of numbers, and the result."""
    table = Table(box=box.SIMPLE_HEAD, padding=0, pad_edge=False, show_edge=False)
    table.add_column("kernel", overflow="fold", vertical="bottom", min_width=FoldedName.WIDTH)
    for heading in headings:
        table.add_column(heading, justify="right", vertical="bottom", no_wrap=True)
    table.add_column("result", vertical="bottom", no_wrap=True)
    return table


def _status(result: Result) -> Text:
    shown = "a view" if result.status == "not materialised" else result.status  # a row is one line
    return Text(shown, _STATUS_STYLES[result.status])


def _notes(results: Sequence[Result]) -> list[Text]:
    """Why kernels did not run, a line per reason, and why others are wrong or failed, a line per fault."""
    reasons = dict.fromkeys(
        (result.status, result.refused) for result in results if result.status in ("refused", "not installed")
    )
    not_run = [
        Text(f"{status}: {reason}: {', '.join(result.kernel for result in results if result.refused == reason)}")
        for status, reason in reasons
    ]
    faults = [
        Text(f"{result.status}: {result.kernel}: {fault}", "red") for result in results for fault in result.faults
    ]
    return not_run + faults


def _number(value: float) -> str:
    """One decimal below 10, unless it is zero, and none from 10 on; the JSON has the exact counts."""
    return f"{value:.1f}".removesuffix(".0") if value < 9.95 else f"{value:.0f}"


def _microseconds(seconds: float) -> str:
    """Two decimals below 100 and none from 100 on."""
    return f"{seconds * 1e6:.2f}" if seconds < 99.995e-6 else f"{seconds * 1e6:,.0f}"


def catalogue_table(entries: Sequence[Kernel | View]) -> Table:
    """The catalogue with its lessons, family by family; a family that cannot be compiled here shows why."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    table.add_column("kernel", no_wrap=True)
    table.add_column("lesson")
    for family, group in groupby(entries, key=attrgetter("family")):
        members = list(group)
        reasons = (unavailable_reason(entry.source) for entry in members if isinstance(entry, Kernel))
        table.add_row(Text(family, "bold"), Text(next(filter(None, reasons), ""), "yellow"))
        for entry in members:
            table.add_row(Text(f"  {entry.name}"), Text(entry.lesson))
    return table


def pairs_table(facts: Sequence[tuple[str, str]]) -> Table:
    """Names and values, one pair per line."""
    table = Table.grid(padding=(0, 2, 0, 0))
    for name, value in facts:
        table.add_row(Text(name, "bold"), Text(value, overflow="fold"))
    return table
