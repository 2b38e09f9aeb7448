"""Layouts as pictures: the corner of each tile for a terminal, the whole tile as SVG.

Every cell holds its number, and colour only repeats it: a thread's colour is its warp's, a shared element's its bank's.
"""

import colorsys
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
from numpy.typing import NDArray
from rich.columns import Columns
from rich.console import Group, RenderableType
from rich.text import Text

from cornerturn.emulator.counting import WARP
from cornerturn.lab.layouts import Grid, Layouts, Passes
from cornerturn.lab.views.colours import ink, ordered
from cornerturn.showing import Picture, view_of
from cornerturn.wording import counted

_SHOWN = 16  # rows and columns of a tile that a terminal shows
_CELL_WIDTH, _CELL_HEIGHT, _MARGIN, _PAGE_WIDTH = 26, 18, 16, 1760  # of an SVG, in pixels


@dataclass(frozen=True)
class _Picture:
    """A grid of numbers with its title and notes.

    Attributes:
        colour: of a number.
        marked: cells to point out.
    """

    title: str
    notes: tuple[str, ...]
    cells: Grid
    colour: Callable[[int], str]
    marked: NDArray[np.bool_]


@view_of.register
def layouts_view(layouts: Layouts) -> RenderableType:
    """The pictures of a kernel."""
    return Picture(terminal_pictures(layouts), lambda: svg_pictures(layouts))


def terminal_pictures(layouts: Layouts) -> RenderableType:
    """The pictures of a kernel for a terminal: at most 16 rows and 16 columns of each grid."""
    head = Text(_headline(layouts), "bold")
    sides, shared = list(_sides(layouts)), list(_shared(layouts))
    parts: list[RenderableType] = [head, Text(), Columns([_terminal(each) for each in sides], padding=(1, 4))]
    if shared:
        grids = Columns([_terminal(each) for each in shared], padding=(1, 4))
        parts += [Text(), Text(_shared_line(layouts), "bold"), Text(), grids]
    return Group(*parts)


def svg_pictures(layouts: Layouts) -> str:
    """The pictures of a kernel as one SVG document, every tile whole, side by side as far as they fit."""
    body, top, width = [], _MARGIN, 0
    for heading, pictures in ((_headline(layouts), _sides(layouts)), (_shared_line(layouts), _shared(layouts))):
        drawn, top, right = _svg_section(heading, tuple(pictures), top)
        body += drawn
        width = max(width, right)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{top}" viewBox="0 0 {width} {top}" '
        'font-family="monospace" font-size="12">\n<rect width="100%" height="100%" fill="white"/>\n'
        + "\n".join(body)
        + "\n</svg>\n"
    )


def _svg_section(heading: str, pictures: Sequence[_Picture], top: int) -> tuple[list[str], int, int]:
    """A heading and its pictures below ``top``; where they end, below and on the right."""
    if not pictures:
        return [], top, 0
    parts = [_svg_text(_MARGIN, top + 14, heading, "bold")]
    left, top, below, right = _MARGIN, top + 40, 0, 2 * _MARGIN + _text_width(heading)
    for picture in pictures:
        lines = (picture.title, *picture.notes)
        rows, cols = picture.cells.shape
        width = max(cols * _CELL_WIDTH, *map(_text_width, lines)) + 2 * _MARGIN
        if left > _MARGIN and left + width > _PAGE_WIDTH:
            left, top = _MARGIN, below
        for number, line in enumerate(lines):
            parts.append(_svg_text(left, top + 20 * number + 14, line, "normal" if number else "bold"))
        grid = top + 20 * len(lines)
        parts += _svg_cells(picture, left, grid)
        below, left = max(below, grid + rows * _CELL_HEIGHT + 2 * _MARGIN), left + width
        right = max(right, left)
    return parts, below, right


def _text_width(line: str) -> int:
    return math.ceil(7.3 * len(line))  # pixels, in a monospaced type of 12


def _headline(layouts: Layouts) -> str:
    rows, cols = layouts.read.threads.shape
    threads = int(layouts.read.threads.max()) + 1
    return (
        f"{layouts.kernel}: {counted(threads, 'thread')}, a tile of {rows} x {cols} of x becomes {cols} x {rows} of y"
    )


def _shared_line(layouts: Layouts) -> str:
    return (
        "the bank of each element of the tile of x in shared memory; * or a frame marks those "
        f"that the first warp {layouts.access}s in one request"
    )


def _sides(layouts: Layouts) -> Iterator[_Picture]:
    """Who reads the tile of x, who writes the tile of y."""
    for verb, matrix, side in (("reads", "x", layouts.read), ("writes", "y", layouts.write)):
        first = (side.threads < WARP) & (side.values == 0)
        note = f"threads {side.notation}" if side.notation else "no layout describes these threads"
        yield _Picture(
            f"which thread {verb} each element of the tile of {matrix}",
            (note, f"* or a frame marks the first that each thread of warp 0 {verb}"),
            side.threads,
            _warp_colour,
            first,
        )


def _shared(layouts: Layouts) -> Iterator[_Picture]:
    """The tile in shared memory, one picture per way of placing it."""
    for each in layouts.shared:
        name = f"{each.kind}, as in this kernel" if each.own else f"{each.kind} instead"
        costs = tuple(f"{kind}: {_cost(passes)}" for kind, passes in (("store", each.store), ("load", each.load)))
        notes = (each.notation or "no layout describes it", *costs)
        yield _Picture(name, notes, each.banks, ordered, layouts.taken)


def _cost(passes: Passes) -> str:
    requests, wavefronts = counted(passes.requests, "request"), counted(passes.wavefronts, "wavefront")
    return f"{requests} of {counted(passes.width, 'byte')}, {wavefronts} (ideal {passes.ideal})"


def _terminal(picture: _Picture) -> Text:
    rows, cols = picture.cells.shape
    shown = picture.cells[:_SHOWN, :_SHOWN]
    text = Text(f"{picture.title}\n", "bold")
    for note in picture.notes:
        text.append(f"{note}\n", "not bold")
    digits = len(str(int(picture.cells.max())))
    for row, line in enumerate(shown):
        for col, number in enumerate(line):
            mark = "*" if picture.marked[row, col] else " "
            colour = picture.colour(int(number))
            text.append(f"{number:{digits}d}{mark}", f"not bold {ink(colour)} on {colour}")
        text.append("\n")
    if shown.shape != (rows, cols):
        text.append(f"the first {shown.shape[0]} x {shown.shape[1]} of {rows} x {cols}\n", "not bold dim")
    return text


def _svg_cells(picture: _Picture, left: int, top: int) -> Iterator[str]:
    for (row, col), number in np.ndenumerate(picture.cells):
        x, y = left + col * _CELL_WIDTH, top + row * _CELL_HEIGHT
        fill = picture.colour(int(number))
        stroke = 'stroke="black" stroke-width="2"' if picture.marked[row, col] else 'stroke="white"'
        yield (
            f'<rect x="{x + 1}" y="{y + 1}" width="{_CELL_WIDTH - 2}" height="{_CELL_HEIGHT - 2}" '
            f'fill="{fill}" {stroke}/>'
            f'<text x="{x + _CELL_WIDTH // 2}" y="{y + 13}" text-anchor="middle" fill="{ink(fill)}">{number}</text>'
        )


def _svg_text(x: int, y: int, line: str, weight: str) -> str:
    return f'<text x="{x}" y="{y}" font-weight="{weight}">{escape(line)}</text>'


def _warp_colour(thread: int) -> str:
    """A light colour on which black can be read; near warps get far hues, by the golden angle."""
    hue = thread // WARP * 0.381966 % 1
    return "#" + "".join(f"{round(255 * part):02x}" for part in colorsys.hls_to_rgb(hue, 0.78, 0.75))
