"""Requests of a warp as pictures: the words, sectors and lines that they touch, or the banks and how deep.

A cell is a 4-byte word and shows the lane that uses it, written 0 to 9 and a to v.
"""

from collections.abc import Callable, Iterable, Sequence
from html import escape
from itertools import groupby
from typing import NamedTuple

from rich.text import Text

from cornerturn.emulator.counting import WARP
from cornerturn.lab.footprint import Alike, Cells, Footprint
from cornerturn.lab.views.colours import DARK, ink, ordered
from cornerturn.wording import counted

LANES = "0123456789abcdefghijklmnopqrstuv"
_GROUP = 8  # cells: a sector of global memory, a quarter of the banks
_FEW = 4  # at most this many rows that look the same are all shown

Name = Callable[[str, int], str]
"""``name(memory, byte offset)``: what is there, in words."""


class Row(NamedTuple):
    """One 128-byte line of global memory, or one wavefront.

    Attributes:
        label: what it is.
        cells: its 32 words.
        moved: whether each group of eight is moved; a wavefront moves only the words that are used.
    """

    label: str
    cells: Cells
    moved: tuple[bool, ...]

    @property
    def looks(self) -> tuple[object, ...]:
        """Equal for rows that differ only in who uses the words, and in where in global memory they are."""
        return tuple(cell is None for cell in self.cells), self.moved, any(self.moved) or self.label


def rows_of(request: Footprint, name: Name) -> list[Row]:
    """The rows of a request's picture."""
    if request.memory == "shared":
        return [
            Row("lanes {}-{}".format(*front.lanes), front.cells, (False,) * (WARP // _GROUP))
            for front in request.wavefronts
        ]
    return [Row(name(request.memory, line.offset), line.cells, line.moved) for line in request.touched]


def headline(request: Footprint) -> str:
    """A request and its cost, in a line."""
    shared = request.memory == "shared"
    passes = counted(request.passes, "wavefront" if shared else "sector")
    where = "" if shared else f" in {counted(len(request.touched), 'line')}"
    return (
        f"line {request.line}: {request.access.space} {request.access.kind}, "
        f"{counted(request.access.width, 'byte')} per lane, "
        f"{passes}{where} (ideal {request.ideal})"
    )


def draw(request: Footprint, name: Name) -> Text:
    """The picture for a terminal; of more than four rows that look the same, the first and the last."""
    rows = rows_of(request, name)
    width = max(len(row.label) for row in rows)
    text = Text()
    if request.memory == "shared":
        text.append(f"    {'bank':>{width}} " + "".join(f" {bank:<{_GROUP}}" for bank in range(0, WARP, _GROUP)) + "\n")
    for _, alike in groupby(rows, key=lambda row: row.looks):
        same = list(alike)
        shown = same if len(same) <= _FEW else [same[0], same[-1]]
        for row in shown:
            if row is same[-1] and len(shown) < len(same):
                text.append(f"    {'⋮':>{width}}  {len(same) - 2} more like it\n", "dim")
            text.append(f"    {row.label:>{width}} ")
            for group, moved in zip(_grouped(row.cells), row.moved, strict=True):
                text.append("│", "dim")
                for cell in group:
                    text.append(*_glyph(cell, moved))
            text.append("│\n", "dim")
    text.rstrip()
    return text


def _grouped(cells: Cells) -> Iterable[Cells]:
    return (cells[n : n + _GROUP] for n in range(0, len(cells), _GROUP))


def _glyph(cell: int | None, moved: bool) -> tuple[str, str]:
    if cell is None:
        return ("·", "red") if moved else (" ", "")
    return LANES[cell], "bold cyan"


_CELL, _LINE, _GAP, _LABEL, _TITLE = 14, 16, 6, 150, 24  # pixels


_LEGEND = "a cell is a 4-byte word with the lane that uses it; grey: moved and not used"
_STYLES = {
    "heading": 'font-weight="bold"',
    "lane": 'font-size="9" text-anchor="middle"',
    "small": 'font-size="9"',
    "label": 'text-anchor="end"',
}
"""Attributes, not classes: a page that holds several pictures has one style sheet for all."""


def svg(requests: Sequence[Alike], name: Name, title: str) -> str:
    """All pictures as one SVG, one below the other: a colour per lane, grey for what is moved and not used."""
    parts, y = [_svg_text(_GAP, 16, title, "heading")], _TITLE
    for alike in requests:
        parts.append(_svg_text(_GAP, y + 14, headline(alike.first), "heading"))
        drawn, y = _svg_request(alike.first, name, y + _TITLE)
        parts += drawn
    return _svg_document([*parts, _svg_text(_GAP, y + 12, _LEGEND, "small")], y + _LINE + _GAP, title)


def svg_of(request: Footprint, name: Name) -> str:
    """The picture of one request as SVG."""
    parts, y = _svg_request(request, name, _GAP)
    return _svg_document(parts, y, headline(request))


def _svg_document(parts: Sequence[str], height: int, title: str) -> str:
    width = _LABEL + WARP * _CELL + 5 * _GAP
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="monospace" font-size="11">\n'
        f"<title>{escape(title)}</title>\n"
        f'<rect width="{width}" height="{height}" fill="white"/>\n' + "\n".join(parts) + "\n</svg>\n"
    )


def _svg_request(request: Footprint, name: Name, y: int) -> tuple[list[str], int]:
    """A request's rows from ``y`` on, and where they end."""
    parts = []
    if request.memory == "shared":
        parts += [_svg_text(_x(bank), y + 6, f"bank {bank}", "small") for bank in range(0, WARP, _GROUP)]
        y += _LINE - 6
    for row in rows_of(request, name):
        parts += _svg_row(row, y)
        y += _LINE
    return parts, y + _GAP


def _svg_row(row: Row, y: int) -> Iterable[str]:
    yield _svg_text(_LABEL - _GAP, y + 11, row.label, "label")
    for number, cell in enumerate(row.cells):
        x = _x(number)
        unused = "#bbb" if row.moved[number // _GROUP] else "none"
        fill = unused if cell is None else ordered(cell)
        yield f'<rect x="{x}" y="{y}" width="{_CELL - 1}" height="{_LINE - 2}" fill="{fill}" stroke="#ddd"/>'
        if cell is not None:
            yield _svg_text(x + _CELL // 2, y + 10, str(cell), "lane", ink(fill))


def _x(number: int) -> int:
    """Left edge of a cell."""
    return _LABEL + number * _CELL + number // _GROUP * _GAP


def _svg_text(x: int, y: int, text: str, style: str, fill: str = DARK) -> str:
    return f'<text x="{x}" y="{y}" fill="{fill}" {_STYLES[style]}>{escape(text)}</text>'
