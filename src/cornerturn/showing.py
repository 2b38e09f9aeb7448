"""How what the package returns shows itself: in full when printed, as HTML in a notebook, in a line otherwise.

What rich prints of an object is its view. Modules of views say it for the classes they know, by ``@view_of.register``.
"""

from collections.abc import Callable, Iterator
from functools import singledispatch
from io import StringIO
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.terminal_theme import TerminalTheme

WIDTH, PAGE_WIDTH, UNLIMITED = 120, 100, 10_000
"""Columns of printed text, of text on a page, and as many as any table takes."""


@singledispatch
def view_of(found: object) -> "RenderableType":
    """Return what rich prints of an object: what it prints itself, unless its class has a view."""
    from rich.text import Text

    return Text(str(found))


class Shown:
    """Base of what shows itself."""

    def __str__(self) -> str:
        return text_of(self)

    def __rich__(self) -> "RenderableType":
        return view_of(self)

    def _repr_html_(self) -> str:
        return html_of(self)


class Picture:
    """A picture in two forms: drawn in characters, and as SVG where that can be shown."""

    def __init__(self, text: "RenderableType", svg: Callable[[], str]) -> None:
        self.text, self.svg = text, svg

    def __rich__(self) -> "RenderableType":
        return self.text


def text_of(found: Shown) -> str:
    """Return the view of an object as plain text, which cuts no table."""
    file = StringIO()
    _print(file, view_of(found), WIDTH)
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines())


def html_of(found: Shown) -> str:
    """Return the view of an object as HTML: text in the type of a terminal, and pictures as SVG.

    Colours can be read on a light page and on a dark one.
    """
    return "\n".join(_picture(part) if isinstance(part, Picture) else _pre(part) for part in _parts(view_of(found)))


def _parts(view: "RenderableType") -> Iterator["Picture | RenderableType"]:
    """The pictures of a view, and what stands between them."""
    from rich.console import Group

    between: list[RenderableType] = []
    for part in view.renderables if isinstance(view, Group) else [view]:
        if isinstance(part, Picture):
            if between:
                yield Group(*between)
            between = []
            yield part
        else:
            between.append(part)
    if between:
        yield Group(*between)


def _picture(picture: Picture) -> str:
    return f'<div style="overflow-x:auto">{picture.svg()}</div>'


def _pre(view: "RenderableType") -> str:
    console = _print(StringIO(), view, PAGE_WIDTH, record=True)
    return console.export_html(
        theme=_theme(),
        inline_styles=True,
        code_format='<pre style="line-height:1.25;overflow-x:auto;white-space:pre">{code}</pre>',
    )


def _print(file: StringIO, view: "RenderableType", width: int, record: bool = False) -> "Console":
    """Print a view as wide as it needs, at least so wide."""
    from rich.console import Console

    needed = Console(file=StringIO(), width=UNLIMITED).measure(view).minimum
    console = Console(file=file, width=max(width, needed), highlight=False, record=record, force_jupyter=False)
    console.print(view)
    return console


def _theme() -> "TerminalTheme":
    """Of the eight colours of a terminal those that views use, dark enough for white and bright enough for black."""
    from rich.terminal_theme import TerminalTheme

    grey, red, green, yellow, blue, magenta, cyan = (
        (118, 118, 118),
        (215, 58, 73),
        (40, 140, 70),
        (176, 120, 0),
        (56, 120, 210),
        (170, 80, 180),
        (0, 134, 150),
    )
    return TerminalTheme((255, 255, 255), (0, 0, 0), [grey, red, green, yellow, blue, magenta, cyan, grey])
