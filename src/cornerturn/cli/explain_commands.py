"""``cornerturn explain`` and ``trace``: why a kernel is slow, how an array is moved, and one thread's way through."""

import re
from pathlib import Path

import click

from cornerturn import lab
from cornerturn.cli.options import (
    ELEMENT_BYTES,
    SIZE,
    json_option,
    move_option,
    moved_view,
    refuse_given,
    svg_option,
)
from cornerturn.cli.shell import show, write_json
from cornerturn.errors import UsageError
from cornerturn.files import check_outputs, replacing
from cornerturn.kernels.production.h200 import H200
from cornerturn.lab.matrices import Shape
from cornerturn.lab.views.pictures import svg
from cornerturn.measure.cases import Case
from cornerturn.op.gpu.engine import into_new
from cornerturn.op.gpu.plan import choose

Pair = tuple[int, int]


def _parse_pair(_: click.Context, __: click.Parameter, text: str) -> Pair:
    """``3,2`` -> ``(3, 2)``, x before y."""
    match = re.fullmatch(r"([0-9]{1,10}),([0-9]{1,10})", text)
    if not match:
        raise click.BadParameter(f"{text!r} is not X,Y, two integers such as 3,2")
    return int(match[1]), int(match[2])


_BLOCK = click.option(
    "--block", "at", default="0,0", show_default=True, metavar="BX,BY", callback=_parse_pair, help="Block in the grid."
)


@click.command()
@click.argument("name", metavar="[KERNEL]", required=False)
@SIZE
@_BLOCK
@click.option("--warp", type=click.IntRange(min=0), default=0, show_default=True, help="Warp of that block.")
@svg_option("Draw its requests.")
@move_option("Instead of KERNEL: an array and the order of its axes, such as 64x1024x1024:0,2,1.")
@ELEMENT_BYTES
@json_option("Write the numbers of --move as JSON.")
@click.pass_context
def explain(
    context: click.Context,
    name: str | None,
    shape: Shape,
    at: Pair,
    warp: int,
    svg_path: Path | None,
    move: Case | None,
    element_bytes: int,
    json_path: Path | None,
) -> None:
    """Show which line wastes what, or how a GPU moves an array.

    With KERNEL: its lines, and the addresses of one warp. The diagnosis says why. Everything is counted on the
    emulator.

    With --move: the kernels that transpose() could take on an H200, and the one that it takes. Times are predicted.

    No GPU is used.
    """
    check_outputs({"--svg": svg_path, "--json": json_path})
    if move:
        if name:
            raise UsageError(f"KERNEL and --move exclude each other: give {name} or --move {move.name}, not both")
        refuse_given(context, ("shape", "at", "warp", "svg_path"), "is about a KERNEL, and --move names none: omit it")
        _explain_move(move, element_bytes, json_path)
        return
    if not name:
        raise UsageError("nothing to explain: give a KERNEL (`cornerturn list` shows them), or --move SHAPE:AXES")
    refuse_given(context, ("element_bytes", "json_path"), "is about --move: give a move and no KERNEL, or omit it")
    found = lab.explain(name, shape, at, warp)
    try:
        if svg_path:
            title = f"{name}, {shape[0]} x {shape[1]}, block {at[0]},{at[1]}, warp {warp}"
            with replacing(svg_path) as file:
                file.write(svg(found.requests, found.name, title).encode())
    finally:  # a full disk costs the file, not what was found
        show(found)
    if found.faults:
        raise click.exceptions.Exit(1)


def _explain_move(move: Case, element_bytes: int, json_path: Path | None) -> None:
    choice = choose(*into_new(moved_view(move, element_bytes)), H200)
    try:
        if json_path:
            asked = {"move": move.name, "element_bytes": element_bytes, "device": "NVIDIA H200"}
            write_json(json_path, asked | choice.to_json())
    finally:  # a full disk costs the file, not what was found
        click.echo(str(choice))


@click.command()
@click.argument("name", metavar="KERNEL")
@SIZE
@_BLOCK
@click.option("--thread", required=True, metavar="TX,TY", callback=_parse_pair, help="Thread in the block.")
def trace(name: str, shape: Shape, at: Pair, thread: Pair) -> None:
    """Follow one thread: what it reads, stages and writes.

    The elements of x are their own coordinates, so you see (r, c) arrive at y[c, r].
    """
    followed = lab.trace(name, shape, at, thread)
    show(followed)
    if followed.astray:
        raise click.exceptions.Exit(1)
