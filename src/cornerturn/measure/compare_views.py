"""A comparison for the eye: tables for a terminal, and a picture."""

from collections.abc import Sequence
from statistics import geometric_mean
from typing import IO

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from cornerturn.measure.compare import OURS, ROOF, Measurement
from cornerturn.measure.comparison import Comparison
from cornerturn.measure.summary import MARGINS, summarize
from cornerturn.showing import view_of
from cornerturn.wording import counted

_LEGEND = (
    "copy: the speed of a plain copy, measured in this run, in GB/s of bytes read + written. "
    "All other columns: a library's speed as a share of it; -: not done."
)
_MOVES_LEGEND = (
    "Percentages: speed as a share of a plain copy's. cornerturn's: its mean over the moves that the library does. "
    "ahead by > 2%: moves at which the library is so much faster than cornerturn."
)
_LONGEST_NAME = 44


@view_of.register
def comparison_view(found: Comparison) -> RenderableType:
    """Tables of all cases, or the figures of many moves."""
    if found.drawn is None:
        return compare_tables(found.results, found.missing, found.title)
    count, seed, low, high = found.drawn
    title = f"{counted(count, 'random move')}, seed {seed}, {low:,} to {high:,} bytes, {found.title}"
    return moves_tables(found.results, found.missing, title)


def compare_tables(results: Sequence[Measurement], missing: Sequence[str], where: str) -> RenderableType:
    """What columns mean; one table per dtype, a row per case; one of all everyday cases; what could not be compared.

    Args:
        results: in the order they shall be shown.
        missing: a line for each library that is not installed.
        where: the device, for the titles.
    """
    parts: list[RenderableType] = [Text(_LEGEND, "dim"), Text()]
    for dtype in dict.fromkeys(result.dtype for result in results if not result.case.label):
        of_dtype = [result for result in results if result.dtype == dtype and not result.case.label]
        parts += [Text(f"{dtype}, {where}", "bold"), Text(), _table(of_dtype), Text()]
    if everyday := [result for result in results if result.case.label]:
        parts += [Text(f"everyday moves, {where}", "bold"), Text(), _table(everyday), Text()]
    below = [*(Text(line, "yellow") for line in missing), *_notes(results)]
    return Group(*(parts if below else parts[:-1]), *below)


def moves_tables(results: Sequence[Measurement], missing: Sequence[str], title: str) -> RenderableType:
    """What columns mean; the figures of many moves: by the size of an element, against each library, and the slowest.

    Args:
        results: of all moves.
        missing: a line for each library that is not installed.
        title: what was drawn, and the device.
    """
    summary = summarize(results)
    roofs = {(row.case, row.dtype): row for row in results if row.engine == ROOF}
    shares = _columns(
        "cornerturn, share of the copy", "moves", "geometric mean", "10th percentile", "5th percentile", "worst"
    )
    for name, of in {
        "all": summary.whole,
        **{f"elements of {element} bytes": of for element, of in summary.elements.items()},
    }.items():
        if of:
            shares.add_row(name, str(of.moves), *map(_percent, (of.mean, of.p10, of.p5, of.worst)))
    ahead = [f"ahead by > {margin:.0%}" for margin in MARGINS]
    rivals = _columns("library", "moves", "geometric mean", "cornerturn's", *ahead)
    for rival in summary.rivals:
        rivals.add_row(
            rival.engine, str(rival.moves), _percent(rival.mean), _percent(rival.ours), *map(str, rival.ahead)
        )
    worst = _columns("slowest moves", "dtype", "cornerturn", "copy GB/s", "kernel")
    worst.columns[-1].justify = "left"
    for row in summary.worst:
        roof = roofs[row.case, row.dtype].gbps or 0
        worst.add_row(row.case.name, row.dtype, _percent(row.roof_share or 0), f"{roof:.1f}", row.kernel or "")
    parts: list[RenderableType] = [Text(title, "bold"), Text(_MOVES_LEGEND, "dim"), Text()]
    for table in (shares, rivals, worst):
        if table.row_count:
            parts += [table, Text()]
    if summary.invalid:
        parts += [Text(f"cornerturn was wrong or failed at {counted(summary.invalid, 'move')}", "bold red")]
    return Group(*parts, *(Text(line, "yellow") for line in missing), *_notes(results))


def _columns(first: str, *others: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    table.add_column(first, no_wrap=True)
    for name in others:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _table(results: Sequence[Measurement]) -> Table:
    engines = list(dict.fromkeys(result.engine for result in results))
    has_labels = any(result.case.label for result in results)
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False, show_footer=True)
    table.add_column("case", "geometric mean", no_wrap=True)
    if has_labels:
        table.add_column("move", no_wrap=True)
        table.add_column("dtype", no_wrap=True)
    for engine in engines:
        shares = [result.roof_share for result in results if result.engine == engine and result.roof_share]
        mean = _percent(geometric_mean(shares)) if shares and engine != ROOF else ""
        table.add_column(engine, mean, justify="right", style="bold" if engine == OURS else "")
    for case, dtype in dict.fromkeys((result.case, result.dtype) for result in results):
        of_case = {result.engine: result for result in results if (result.case, result.dtype) == (case, dtype)}
        fastest = max((result for result in of_case.values() if result.engine != ROOF), key=lambda row: row.gbps or 0)
        cells = (_cell(of_case[engine], of_case[engine] is fastest) for engine in engines)
        table.add_row(*((case.label, _short(case.name), dtype) if has_labels else (case.name,)), *cells)
    return table


def _short(name: str) -> str:
    """The beginning of a name that is too long for a table."""
    return name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 3] + "..."


def _cell(result: Measurement, is_fastest: bool) -> Text:
    if result.status in ("wrong", "failed"):
        return Text(result.status, "bold red")
    if result.gbps is None or result.roof_share is None:
        return Text("-", "dim")
    if result.engine == ROOF:
        return Text(f"{result.gbps:.1f}")
    return Text(_percent(result.roof_share), "green" if is_fastest else "")


def _percent(share: float) -> str:
    """One decimal below 10%."""
    return f"{share:.1%}" if share < 0.0995 else f"{share:.0%}"


def _notes(results: Sequence[Measurement]) -> list[Text]:
    """Why libraries did not do a case, one line per reason."""
    reasons = dict.fromkeys((result.engine, result.refused) for result in results if result.refused)
    return [Text(f"{engine} {reason}", "dim") for engine, reason in reasons]


def draw(results: Sequence[Measurement], file: IO[bytes], format: str) -> None:
    """Write a picture to ``file``: one panel per dtype, each engine's share of the copy roof at every case.

    Args:
        results: of `cornerturn.measure.compare`.
        file: open for writing bytes.
        format: a picture format that matplotlib writes.
    """
    from matplotlib.figure import Figure

    dtypes = list(dict.fromkeys(result.dtype for result in results))
    cases = list(dict.fromkeys(result.case.name for result in results))
    engines = list(dict.fromkeys(result.engine for result in results if result.engine != ROOF))
    figure = Figure(figsize=(9, len(dtypes) * (1.5 + 0.25 * len(cases))), layout="constrained")
    for dtype, panel in zip(dtypes, figure.subplots(len(dtypes), squeeze=False)[:, 0], strict=True):
        for engine in engines:
            done = [row for row in results if (row.dtype, row.engine) == (dtype, engine) and row.roof_share]
            places = [cases.index(row.case.name) for row in done]
            panel.plot([row.roof_share for row in done], places, "D" if engine == OURS else "o", label=engine)
        panel.axvline(1, color="black", label="copy roof")
        panel.set_title(dtype)
        panel.set_yticks(range(len(cases)), cases, fontsize="small")
        panel.set_ylim(len(cases) - 0.5, -0.5)
        panel.set_xlim(left=0)
        panel.grid(axis="y", alpha=0.3)
        panel.legend(fontsize="small", loc="center left", bbox_to_anchor=(1, 0.5))
        panel.set_xlabel("share of the copy roof's speed")
        panel.tick_params(axis="x", top=True, labeltop=True)  # a tall panel is read from its top
    figure.savefig(file, format=format)
