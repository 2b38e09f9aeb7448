"""Options that several commands share, and the sizes that they take."""

import os
import re
from collections.abc import Callable, Sequence
from math import prod
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from cornerturn.errors import UsageError
from cornerturn.lab.matrices import Shape
from cornerturn.measure.cases import Case
from cornerturn.measure.groups import parse_move
from cornerturn.op.strided_view import StridedView, check_ndim

DEFAULT_SIZE: Shape = (1024, 1024)

Option = Callable[[Callable[..., Any]], Callable[..., Any]]


class _FilePath(click.Path):
    """A path of a file: not one that ends as a folder's, which would lose that end."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Refuse ``folder/``."""
        if isinstance(value, str) and value.endswith(("/", os.sep)):
            self.fail(f"{value} names a folder: give the path of a file", param, ctx)
        return super().convert(value, param, ctx)


FILE_PATH = _FilePath()
_ENDINGS = {".html", ".jpeg", ".jpg", ".json", ".pdf", ".png", ".svg"}


class OutputPath(_FilePath):
    """A path of a file to write in one format: not one whose ending names another."""

    def __init__(self, ending: str) -> None:
        super().__init__()
        self.ending = ending

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Refuse ``picture.png`` for SVG."""
        path = super().convert(value, param, ctx)
        if path.suffix.lower() in _ENDINGS - {self.ending}:
            written = self.ending.removeprefix(".").upper()
            self.fail(f"{path}: {written} is written, whatever the name: let it end in {self.ending}", param, ctx)
        return path


def parse_size(_: click.Context, __: click.Parameter, text: str) -> Shape:
    """``1024x768`` -> ``(1024, 768)``."""
    match = re.fullmatch(r"([0-9]{1,18})x([0-9]{1,18})", text)
    rows, cols = (int(extent) for extent in match.groups()) if match else (0, 0)
    if rows < 1 or cols < 1:
        raise click.BadParameter(f"{text!r} is not ROWSxCOLS, two positive integers such as 1024x1024")
    return rows, cols


def parse_sizes(context: click.Context, option: click.Parameter, texts: Sequence[str]) -> list[Shape]:
    """Return several sizes, each once, in the order given."""
    return list(dict.fromkeys(parse_size(context, option, text) for text in texts))


def sizes_option(text: str) -> Option:
    """``--size``, which may be given several times; ``text`` is its help."""
    return click.option("--size", "sizes", multiple=True, metavar="ROWSxCOLS", callback=parse_sizes, help=text)


SIZE = click.option(
    "--size",
    "shape",
    default="{}x{}".format(*DEFAULT_SIZE),
    show_default=True,
    metavar="ROWSxCOLS",
    callback=parse_size,
    help="Size of x.",
)


def launch_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options that say how a kernel of one's own is launched, by the names that a comment in its file has."""
    options = (
        click.option(
            "--entry", metavar="NAME", help="The kernel, for example 'turn<float, 32>'; needed if there are several."
        ),
        click.option("--block", metavar="X[,Y[,Z]]", help="Threads per block, for example 32,8."),
        click.option("--grid", metavar="X[,Y[,Z]]", help="Blocks, for example 'ceil(cols/32),ceil(rows/32)'."),
        click.option("--args", metavar="LIST", help="The kernel's arguments in order, default x,y,rows,cols."),
        click.option("--shared", metavar="BYTES", help="Dynamic shared memory per block, default 0."),
        click.option("--element-bytes", metavar="BYTES", help="Size of an element: 1, 2, 4 (default), 8 or 16."),
    )
    for option in reversed(options):
        function = option(function)
    return function


DEVICE = click.option(
    "--device",
    "where",
    type=click.Choice(["auto", "gpu", "emulator"]),
    default="auto",
    show_default=True,
    help="A GPU gives times, the emulator counts; auto takes a GPU where there is one.",
)
PLOT = click.option(
    "--plot",
    "plot_path",
    type=FILE_PATH,
    metavar="FILE",
    help="Draw the results; needs pip install 'cornerturn[plot]'.",
)


def json_option(text: str = "Write the results as JSON.") -> Option:
    """``--json FILE``; ``text`` is its help."""
    return click.option("--json", "json_path", type=OutputPath(".json"), metavar="FILE", help=text)


def svg_option(text: str) -> Option:
    """``--svg FILE``; ``text`` is its help."""
    return click.option("--svg", "svg_path", type=OutputPath(".svg"), metavar="FILE", help=text)


def _parse_move(_: click.Context, __: click.Parameter, text: str | None) -> Case | None:
    """``64x1024x1024:0,2,1``, as `Case.name` writes it."""
    return None if text is None else parse_move(text)


def _parse_moves(_: click.Context, __: click.Parameter, texts: Sequence[str]) -> list[Case]:
    """Each move once, in the order given."""
    return list(dict.fromkeys(map(parse_move, texts)))


def move_option(text: str) -> Option:
    """``--move``; ``text`` is its help."""
    return click.option("--move", metavar="SHAPE[:AXES]", callback=_parse_move, help=text)


def moves_option(text: str) -> Option:
    """``--move``, which may be given several times; ``text`` is its help."""
    return click.option("--move", "moves", multiple=True, metavar="SHAPE[:AXES]", callback=_parse_moves, help=text)


ELEMENT_BYTES = click.option(
    "--element-bytes",
    type=click.IntRange(1, 1 << 20),
    default=4,
    show_default=True,
    metavar="BYTES",
    help="Size of an element that moves.",
)


_MOST_BYTES = 1 << 40


def moved_view(case: Case, element_bytes: int) -> StridedView:
    """Return what a move reads, its axes permuted, in an array that begins at address 0.

    Raises:
        UsageError: the array has more axes than are supported, or more bytes than any GPU holds.
    """
    check_ndim(len(case.whole))
    if (nbytes := prod(case.whole) * element_bytes) > _MOST_BYTES:
        raise UsageError(f"{case.name} has {nbytes:,} bytes, and at most 1 TiB is supported: choose a smaller size")
    return case.view(element_bytes).permuted(case.axes)


def refuse_given(context: click.Context, names: Sequence[str], rule: str) -> None:
    """Raise UsageError if the user gave one of these options.

    Args:
        context: of the command.
        names: of its parameters.
        rule: what is said after the option's name.
    """
    for parameter in context.command.params:
        if parameter.name in names and context.get_parameter_source(parameter.name) is ParameterSource.COMMANDLINE:
            raise UsageError(f"{parameter.opts[0]} {rule}")
