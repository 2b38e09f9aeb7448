"""``cornerturn transpose``: what the package is used for, on a file."""

import re
from pathlib import Path

import click

from cornerturn.cli.shell import progress_bar
from cornerturn.op.file import DEFAULT_MEMORY, transpose_file

_UNITS = {"": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "KB": 10**3, "MB": 10**6, "GB": 10**9}


def _parse_axes(_: click.Context, __: click.Parameter, text: str | None) -> list[int] | None:
    """``1,0`` -> ``[1, 0]``."""
    if text is None:
        return None
    if not re.fullmatch(r"-?[0-9]{1,9}(,-?[0-9]{1,9})*", text):
        raise click.BadParameter(f"{text!r} is not a list of axes such as 1,0")
    return [int(axis) for axis in text.split(",")]


def _parse_bytes(_: click.Context, __: click.Parameter, text: str | None) -> int:
    """``512MiB`` -> 536870912."""
    if text is None:
        return DEFAULT_MEMORY
    match = re.fullmatch(r"([0-9]{1,15})([KMG]i?B)?", text)
    if not match:
        raise click.BadParameter(f"{text!r} is not a number of bytes such as 512MiB or 2GB")
    return int(match[1]) * _UNITS[match[2] or ""]


@click.command()
@click.argument("source", metavar="IN.npy", type=click.Path(path_type=Path))
@click.argument("target", metavar="OUT.npy", type=click.Path(path_type=Path))
@click.option("--axes", metavar="A,B,...", callback=_parse_axes, help="Axis A becomes the first, and so on.")
@click.option("--force", is_flag=True, help="Replace OUT.npy if it exists.")
@click.option("--memory", metavar="BYTES", callback=_parse_bytes, help="Hold at most this, about: 1GiB by default.")
def transpose(source: Path, target: Path, axes: list[int] | None, force: bool, memory: int) -> None:
    """Transpose a file, also one far larger than memory.

    Without --axes the axes are reversed. OUT.npy appears when it is whole: an interrupted run leaves no half
    file, and what was there before stays.
    """
    with progress_bar(1) as advance:
        transpose_file(
            source, target, axes, force=force, memory=memory, step=lambda done: advance(0, target.name, done)
        )
