"""The kernels of 4-byte elements that one source holds, from a table of what tells them apart."""

from collections.abc import Callable
from dataclasses import dataclass

from cornerturn.kernels.grid import Linear, Rule, Tiled, first_broken
from cornerturn.kernels.kernel import CudaSource, CuteSource, Kernel
from cornerturn.kernels.source import lessons, read_source


@dataclass(frozen=True)
class Member:
    """A kernel of a family.

    Attributes:
        name: in the catalogue.
        geometry: how its threads are laid over a matrix.
        rules: what its vector accesses demand of the shape on top of that.
        entry: its name in the source, if that is another.
    """

    name: str
    geometry: Linear | Tiled
    rules: tuple[Rule, ...] = ()
    entry: str = ""


def kernels_of(
    family: str,
    file: str,
    source_of: Callable[[str, str, tuple[str, ...]], CudaSource | CuteSource],
    members: tuple[Member, ...],
) -> tuple[Kernel, ...]:
    """Return the kernels of a family, each with the lesson that the source tells of it.

    Args:
        family: its name in the catalogue.
        file: source of all its kernels, which lies beside this module.
        source_of: makes the source of its file, text and entries.
        members: in the order of the catalogue.
    """
    text = read_source(file)
    lesson_of = lessons(text)
    source = source_of(file, text, tuple(member.entry or member.name for member in members))
    return tuple(
        Kernel(
            name=member.name,
            family=family,
            source=source,
            entry=member.entry or member.name,
            element_bytes=4,
            launch=member.geometry.launch,
            refuses=first_broken(*member.rules, member.geometry.refuses),
            lesson=lesson_of[member.name],
        )
        for member in members
    )
