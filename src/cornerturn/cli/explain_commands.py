"""``cornerturn explain`` and ``trace``: why a kernel is slow, and one thread's way through it."""

import re
from pathlib import Path

import click

from cornerturn.cli.options import SIZE, svg_option
from cornerturn.cli.shell import progress_bar, show
from cornerturn.errors import UsageError
from cornerturn.files import check_outputs, replacing
from cornerturn.kernels.catalogue import find
from cornerturn.kernels.kernel import Kernel, View
from cornerturn.lab import explain as explain_kernel
from cornerturn.lab import trace as trace_thread
from cornerturn.lab.matrices import Shape, require_memory
from cornerturn.lab.views.explanation import explanation_view
from cornerturn.lab.views.pictures import svg
from cornerturn.lab.views.trace import trace_view

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
@click.argument("name", metavar="KERNEL")
@SIZE
@_BLOCK
@click.option("--warp", type=click.IntRange(min=0), default=0, show_default=True, help="Warp of that block.")
@svg_option("Draw its requests.")
def explain(name: str, shape: Shape, at: Pair, warp: int, svg_path: Path | None) -> None:
    """Show which line wastes what, and the addresses of one warp.

    The diagnosis says why. Everything is counted on the emulator; no GPU is used.
    """
    check_outputs({"--svg": svg_path})
    kernel = _kernel(name, shape)
    with progress_bar(1) as advance:
        found = explain_kernel(kernel, *shape, at, warp, progress=lambda done, blocks: advance(0, name, done / blocks))
    try:
        if svg_path:
            title = f"{name}, {shape[0]} x {shape[1]}, block {at[0]},{at[1]}, warp {warp}"
            with replacing(svg_path) as file:
                file.write(svg(found.requests, found.name, title).encode())
    finally:  # a full disk costs the file, not what was found
        show(explanation_view(found))
    if found.faults:
        raise click.exceptions.Exit(1)


@click.command()
@click.argument("name", metavar="KERNEL")
@SIZE
@_BLOCK
@click.option("--thread", required=True, metavar="TX,TY", callback=_parse_pair, help="Thread in the block.")
def trace(name: str, shape: Shape, at: Pair, thread: Pair) -> None:
    """Follow one thread: what it reads, stages and writes.

    The elements of x are their own coordinates, so you see (r, c) arrive at y[c, r].
    """
    followed = trace_thread(_kernel(name, shape), *shape, at, thread)
    show(trace_view(followed))
    if followed.astray:
        raise click.exceptions.Exit(1)


def _kernel(name: str, shape: Shape) -> Kernel:
    entry = find(name)
    if isinstance(entry, View):
        raise UsageError(f"{name} moves nothing: there is nothing to follow; `cornerturn list` shows the kernels")
    require_memory(*shape, element_bytes=entry.element_bytes)
    return entry
