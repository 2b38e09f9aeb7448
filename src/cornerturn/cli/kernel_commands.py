"""``cornerturn build`` and ``layout``: compile kernels, and show how they lay threads over data."""

from pathlib import Path

import click

from cornerturn import lab
from cornerturn.cli.options import ELEMENT_BYTES, moved_view, moves_option, refuse_given, svg_option
from cornerturn.cli.shell import show
from cornerturn.errors import MissingExtraError, UsageError
from cornerturn.files import check_outputs, replacing
from cornerturn.gpu import facts_of, unavailable_reason
from cornerturn.kernels.catalogue import CATALOGUE, in_family
from cornerturn.kernels.kernel import Kernel, Source
from cornerturn.kernels.production.h200 import H200
from cornerturn.lab.views import tables
from cornerturn.lab.views.layouts import svg_pictures
from cornerturn.measure.cases import Case
from cornerturn.op.gpu.engine import into_new
from cornerturn.op.gpu.plan import plan
from cornerturn.op.gpu.tuned import profile_of
from cornerturn.toolchain import DEFAULT_ARCH, Cache, cache_folder, compile_source
from cornerturn.wording import counted


@click.command()
@click.option("--family", "families", multiple=True, help="Compile only this family; may be given several times.")
@click.option("--arch", "archs", multiple=True, default=[DEFAULT_ARCH], show_default=True, help="For which GPU.")
@moves_option(
    "Compile what transpose() takes for an array and an order of its axes, such as 64x1024x1024:0,2,1; may be given "
    "several times."
)
@ELEMENT_BYTES
@click.pass_context
def build(
    context: click.Context, families: tuple[str, ...], archs: tuple[str, ...], moves: list[Case], element_bytes: int
) -> None:
    """Compile kernels into the cache, of the catalogue or for moves.

    Without --family and --move, the whole catalogue is compiled, but for what needs a compiler that is not installed.

    The cache is the folder CORNERTURN_CACHE: copied to another machine, it serves there without the compilers.
    """
    if not moves:
        refuse_given(context, ("element_bytes",), "is about --move: give a move, or omit it")
    entries = [entry for family in families for entry in in_family(family)] if families or moves else CATALOGUE
    cache = Cache(cache_folder())
    if not cache.info().writable:
        raise UsageError(f"the cache {cache.folder} is not writable: set CORNERTURN_CACHE to a folder that is")
    sources = dict.fromkeys(entry.source for entry in entries if isinstance(entry, Kernel))
    kernels: dict[tuple[str, str, str], int] = {}
    lacking: MissingExtraError | None = None
    compiled = 0
    wanted = [(source, arch) for source in sources for arch in archs]
    wanted += [(_source_of(case, element_bytes, arch), arch) for case in moves for arch in archs]
    for source, arch in dict.fromkeys(wanted):
        try:
            how = f"by {compile_source(source, arch).compiler}"
            compiled += 1
        except MissingExtraError as error:
            lacking, how = error, f"omitted: {error}"
            if families or moves:  # asked for by name
                raise
        kernels[source.file, arch, how] = kernels.get((source.file, arch, how), 0) + len(source.entries)
    if lacking and not compiled:
        raise lacking
    made = [(file, f"{counted(count, 'kernel')} for {arch} {how}") for (file, arch, how), count in kernels.items()]
    show(tables.pairs_table([*made, ("cache", str(cache.folder))]))


def _source_of(case: Case, element_bytes: int, arch: str) -> Source:
    """Return what a move's first call compiles: on this machine's GPU if it is of that architecture, else an H200."""
    facts = None if unavailable_reason() else facts_of(0)
    profile = profile_of(facts) if facts and facts.arch == arch else H200
    return plan(*into_new(moved_view(case, element_bytes)), profile).source


@click.command()
@click.argument("name", metavar="KERNEL")
@svg_option("Draw the whole tiles.")
def layout(name: str, svg_path: Path | None) -> None:
    """Show which thread moves which element, and the tile's banks.

    It shows how KERNEL places its tile in shared memory, and the alternatives: plain, padded, swizzled.
    """
    check_outputs({"--svg": svg_path})
    layouts = lab.layout(name)
    try:
        if svg_path:
            with replacing(svg_path) as file:
                file.write(svg_pictures(layouts).encode())
    finally:  # a full disk costs the file, not what was found
        show(layouts)
