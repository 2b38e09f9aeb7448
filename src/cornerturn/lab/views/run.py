"""A run for a terminal: whether every bit is right, and what its accesses cost or how long a launch takes."""

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from cornerturn.emulator import Access
from cornerturn.lab.run import Run
from cornerturn.showing import view_of
from cornerturn.wording import counted


@view_of.register
def run_view(run: Run) -> RenderableType:
    """All of a run but the elements of its output."""
    rows, cols = run.output.shape
    verdict = ("valid", "green") if run.valid else ("wrong", "bold red")
    parts: list[RenderableType] = [Text.assemble(f"y is {rows} x {cols}, {run.output.dtype}: ", verdict)]
    parts += [Text(fault, "red") for fault in run.faults]
    if run.emulation:
        parts += [Text(), _accesses(run.emulation.accesses), Text()]
        parts.append(Text(f"{counted(run.emulation.warp_instructions, 'instruction')} of warps were executed"))
    if run.timing:
        low, median, high = (f"{1e6 * each:,.2f}" for each in (run.timing.low, run.timing.median, run.timing.high))
        parts.append(Text(f"{median} µs per launch, median of {run.timing.samples}; {low} to {high} µs in 90% of them"))
    return Group(*parts)


def _accesses(accesses: tuple[Access, ...]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 2, 0, 0), pad_edge=False, show_edge=False)
    for heading in ("line", "access", "bytes per lane", "requests", "per request"):
        table.add_column(heading, justify="left" if heading in ("line", "access") else "right")
    for each in accesses:
        found, ideal = each.sectors + each.wavefronts, each.sectors_ideal + each.wavefronts_ideal
        unit = {"global": "sectors", "shared": "wavefronts"}.get(each.space)
        cost = f"{found / each.requests:.3g}/{ideal / each.requests:.3g} {unit}" if unit else ""
        style = "bold red" if found > ideal else "green"
        place = f"{each.space} {each.kind}"
        table.add_row(each.location, place, str(each.width), f"{each.requests:,}", Text(cost, style))
    return table
