"""Layouts as pictures: the corner of each tile for a terminal, the whole tile as SVG.

Every cell holds its number, and colour only repeats it: a thread's colour is its warp's, a shared element's its bank's.
"""

import colorsys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from html import escape

import numpy as np
from numpy.typing import NDArray
from rich.columns import Columns
from rich.console import Group, RenderableType
from rich.text import Text

from cornerturn.emulator.counting import BANKS, WARP
from cornerturn.lab.layouts import Grid, Layouts, Passes
from cornerturn.showing import Picture, view_of
from cornerturn.wording import counted

_SHOWN = 16  # rows and columns of a tile that a terminal shows
_CELL_WIDTH, _CELL_HEIGHT, _MARGIN = 26, 18, 16  # of an SVG, in pixels


@dataclass(frozen=True)
class _Picture:
    """A grid of numbers with its title and notes.

    Attributes:
        colour: hue of a number, from 0 to 1.
        marked: cells to point out.
    """

    title: str
    notes: tuple[str, ...]
    cells: Grid
    colour: Callable[[int], float]
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
    """The pictures of a kernel as one SVG document, every tile whole."""
    sides, shared = tuple(_sides(layouts)), tuple(_shared(layouts))
    body, top, width = [], _MARGIN, 0
    for heading, pictures in ((_headline(layouts), sides), (_shared_line(layouts), shared)):
        if not pictures:
            continue
        body.append(_svg_text(_MARGIN, top + 14, heading, "bold"))
        top += 40
        for picture in pictures:
            for number, line in enumerate((picture.title, *picture.notes)):
                body.append(_svg_text(_MARGIN, top + 14, line, "normal" if number else "bold"))
                top += 20
            body += _svg_cells(picture, top)
            rows, cols = picture.cells.shape
            top += rows * _CELL_HEIGHT + 2 * _MARGIN
            width = max(width, cols * _CELL_WIDTH)
    size = f"{max(width, 900) + 2 * _MARGIN} {top}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}" font-family="monospace" font-size="12">\n'
        + '<rect width="100%" height="100%" fill="white"/>\n'
        + "\n".join(body)
        + "\n</svg>\n"
    )


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
            lambda thread: thread // WARP * 0.381966 % 1,  # the golden angle: near warps get far colours
            first,
        )


def _shared(layouts: Layouts) -> Iterator[_Picture]:
    """The tile in shared memory, one picture per way of placing it."""
    for each in layouts.shared:
        name = f"{each.kind}, as in this kernel" if each.own else f"{each.kind} instead"
        costs = tuple(f"{kind}: {_cost(passes)}" for kind, passes in (("store", each.store), ("load", each.load)))
        notes = (each.notation or "no layout describes it", *costs)
        yield _Picture(name, notes, each.banks, lambda bank: bank / BANKS, layouts.taken)


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
            text.append(f"{number:{digits}d}{mark}", f"not bold black on {_hex(picture.colour(int(number)))}")
        text.append("\n")
    if shown.shape != (rows, cols):
        text.append(f"the first {shown.shape[0]} x {shown.shape[1]} of {rows} x {cols}\n", "not bold dim")
    return text


def _svg_cells(picture: _Picture, top: int) -> Iterator[str]:
    for (row, col), number in np.ndenumerate(picture.cells):
        x, y = _MARGIN + col * _CELL_WIDTH, top + row * _CELL_HEIGHT
        stroke = 'stroke="black" stroke-width="2"' if picture.marked[row, col] else 'stroke="white"'
        yield (
            f'<rect x="{x + 1}" y="{y + 1}" width="{_CELL_WIDTH - 2}" height="{_CELL_HEIGHT - 2}" '
            f'fill="{_hex(picture.colour(int(number)))}" {stroke}/>'
            f'<text x="{x + _CELL_WIDTH // 2}" y="{y + 13}" text-anchor="middle">{number}</text>'
        )


def _svg_text(x: int, y: int, line: str, weight: str) -> str:
    return f'<text x="{x}" y="{y}" font-weight="{weight}">{escape(line)}</text>'


def _hex(hue: float) -> str:
    """A light colour on which black can be read."""
    return "#" + "".join(f"{round(255 * part):02x}" for part in colorsys.hls_to_rgb(hue, 0.78, 0.75))
