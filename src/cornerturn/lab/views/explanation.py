"""An explanation as text for a terminal: the annotated source, one warp's addresses, pictures, the diagnosis."""

from collections.abc import Iterable, Sequence

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from cornerturn.emulator.counting import BANK_BYTES, BANKS, WARP
from cornerturn.kernels.kernel import Kernel
from cornerturn.lab.explanation import Explanation, LineCount
from cornerturn.lab.footprint import Alike, Footprint
from cornerturn.lab.kernel_text import KernelText, instance
from cornerturn.lab.views import pictures
from cornerturn.showing import Picture, view_of

_TABLE_WIDTH = 80  # characters
_GAP = 3  # characters between columns, one of them the box's own
_FEW = 4  # at most this many places are all named

_SOURCE_LEGEND = (
    "▸: bytes per lane x instructions, executions by a warp (requests), sectors or wavefronts per request: found/ideal"
)
_LANES_LEGEND = "A column is a request: an element and its byte in x or y, or a byte of shared memory and its bank."
_CELLS_LEGEND = (
    "A cell is a 4-byte word with the lane that uses it, 0 to 9 and a to v; ·: moved and not used. "
    "A row is a line of four sectors, or a wavefront."
)


@view_of.register
def explanation_view(found: Explanation) -> RenderableType:
    """All of an explanation, in reading order."""
    grid, block = (" x ".join(map(str, extent)) for extent in (found.launch.grid, found.launch.block))
    parts: list[RenderableType] = [
        Text(f"{found.kernel.name}, x is {found.rows} x {found.cols}: {grid} blocks of {block} threads", "bold"),
        *([Text(found.kernel.lesson, "dim")] if found.kernel.lesson else []),
        Text(),
        annotated_source(found.kernel, found.text, found.counts),
        Text(),
        Text(f"Block {found.at[0]},{found.at[1]}, warp {found.warp}", "bold"),
    ]
    if found.requests:
        parts += [Text(_LANES_LEGEND, "dim"), *_address_tables(found), Text(), Text(_CELLS_LEGEND, "dim")]
    else:
        parts.append(Text("No lane of this warp touches memory: it is outside the matrix."))
    for number, alike in enumerate(found.requests, 1):
        parts += [Text(), Text(f"[{number}] {pictures.headline(alike.first)}"), *_repeats(found, alike)]
        parts.append(_picture(alike.first, found))
    parts += [Text(), Text("Diagnosis", "bold"), *(_item(sentence) for sentence in found.diagnosis)]
    parts += [Text(f"wrong: {fault}", "red") for fault in found.faults]
    return Group(*parts)


def _picture(request: Footprint, found: Explanation) -> Picture:
    return Picture(pictures.draw(request, found.name), lambda: pictures.svg_of(request, found.name))


def _item(sentence: str) -> RenderableType:
    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_row("-", Text(sentence))
    return grid


def _repeats(found: Explanation, alike: Alike) -> Iterable[Text]:
    """Where further requests of the same pattern begin."""
    memory, later = alike.first.memory, alike.offsets[1:]
    if later:
        places = [f"+{at}" if memory == "shared" else found.name(memory, at) for at in later]
        shown = places if len(places) <= _FEW else [*places[: _FEW - 1], "...", places[-1]]
        lane = alike.first.lanes[0]
        yield Text(f"    {len(later)} more of this pattern, lane {lane} at {', '.join(shown)}", "dim")


def annotated_source(kernel: Kernel, text: KernelText, counts: Sequence[LineCount]) -> RenderableType:
    """The kernel's lines; below each that touches memory, what that costs."""
    source = Table.grid(padding=(0, 1, 0, 0))
    source.add_column(justify="right", no_wrap=True)
    source.add_column(overflow="fold")
    notes = list(zip(counts, _notes(counts), strict=True))
    for number, line in enumerate(text.lines, text.first):
        source.add_row(Text(f"{number} │", "dim"), Text(line))
        for each, note in notes:
            if each.line == number:
                source.add_row(Text("▸", _style(each)), note)
    title = Text(f"{text.file}: {instance(kernel.source, kernel.entry)}", "dim")
    return Group(title, Text(_SOURCE_LEGEND, "dim"), source)


def _notes(counts: Sequence[LineCount]) -> list[Text]:
    """What each count says, in columns."""
    rows = [
        (
            f"{each.space} {each.kind}",
            f"{each.width} B" + (f" x{each.instructions}" if each.instructions > 1 else ""),
            f"{each.requests:,} request{'' if each.requests == 1 else 's'}",
            _passes(each),
            _meaning(each),
        )
        for each in counts
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        Text.assemble(
            f"{place:<{widths[0]}}  {size:<{widths[1]}}  {requests:>{widths[2]}}  ",
            (f"{passes:<{widths[3]}}  {meaning}", _style(each)),
        )
        for each, (place, size, requests, passes, meaning) in zip(counts, rows, strict=True)
    ]


def _passes(each: LineCount) -> str:
    unit = {"global": "sectors", "shared": "wavefronts"}.get(each.space)
    found, ideal = (f"{passes / each.requests:.3g}" for passes in (each.found, each.ideal))
    return f"{found}/{ideal} {unit}" if unit else ""


def _meaning(each: LineCount) -> str:
    if each.space == "global":
        return f"{100 * each.used:.3g}% of their bytes used"
    if each.space == "shared":
        return "no conflict" if each.waste == 1 else f"{each.waste:.3g}-way conflict"
    return ""


def _style(each: LineCount) -> str:
    return "green" if each.waste == 1 else "yellow" if each.waste < 2 else "bold red"


def _address_tables(found: Explanation) -> Iterable[RenderableType]:
    """Tables of addresses, each within the width."""
    columns = [_address_column(found, number, alike.first) for number, alike in enumerate(found.requests, 1)]
    lanes = ["lane\n", *map(str, range(WARP))]
    while columns:
        fitting, width = 1, len("lane") + _GAP + _width(columns[0])
        while fitting < len(columns) and width + _GAP + _width(columns[fitting]) <= _TABLE_WIDTH:
            width += _GAP + _width(columns[fitting])
            fitting += 1
        yield Text()
        yield _address_table([lanes, *columns[:fitting]])
        columns = columns[fitting:]


def _width(column: Sequence[str]) -> int:
    return max(len(line) for cell in column for line in cell.splitlines())


def _address_column(found: Explanation, number: int, request: Footprint) -> list[str]:
    """The heading, then where each lane goes."""
    heading = f"[{number}] line {request.line}\n{request.access.kind} {request.memory}"
    return [heading, *(_place(found, request, lane) for lane in range(WARP))]


def _address_table(columns: Sequence[Sequence[str]]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, _GAP - 1, 0, 0), pad_edge=False, show_edge=False)
    for number, (heading, *_) in enumerate(columns):
        table.add_column(heading, justify="left" if number else "right", no_wrap=True)
    for row in zip(*(column[1:] for column in columns), strict=True):
        table.add_row(*row)
    return table


def _place(found: Explanation, request: Footprint, lane: int) -> str:
    """The element and its byte offset, or the byte of shared memory and its bank."""
    if lane not in request.lanes:
        return "-"
    offset = request.offsets[request.lanes.index(lane)]
    if request.memory == "shared":
        return f"+{offset}  bank {offset // BANK_BYTES % BANKS}"
    return f"{found.name(request.memory, offset)}  +{offset}"
