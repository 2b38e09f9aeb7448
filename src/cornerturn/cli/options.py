"""Options that several commands share, and the sizes that they take."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from cornerturn.lab.matrices import Shape

DEFAULT_SIZE: Shape = (1024, 1024)

Option = Callable[[Callable[..., Any]], Callable[..., Any]]


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
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Draw the results; needs pip install 'cornerturn[plot]'.",
)


def json_option(text: str = "Write the results as JSON.") -> Option:
    """``--json FILE``; ``text`` is its help."""
    return click.option("--json", "json_path", type=click.Path(path_type=Path), metavar="FILE", help=text)


def svg_option(text: str) -> Option:
    """``--svg FILE``; ``text`` is its help."""
    return click.option("--svg", "svg_path", type=click.Path(path_type=Path), metavar="FILE", help=text)
