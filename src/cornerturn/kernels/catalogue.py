"""The catalogue: every kernel of the laboratory in its order, and how to find one by name or family."""

from difflib import get_close_matches

from cornerturn.errors import UsageError
from cornerturn.kernels.controls import CONTROLS
from cornerturn.kernels.cute_family import CUTE
from cornerturn.kernels.handwritten import HANDWRITTEN
from cornerturn.kernels.kernel import Kernel, View
from cornerturn.kernels.production.family import PRODUCTION
from cornerturn.kernels.textbook import TEXTBOOK

CATALOGUE: tuple[Kernel | View, ...] = (*HANDWRITTEN, *TEXTBOOK, *CUTE, *CONTROLS, *PRODUCTION)

_BY_NAME = {entry.name: entry for entry in CATALOGUE}
FAMILIES: tuple[str, ...] = tuple(dict.fromkeys(entry.family for entry in CATALOGUE))


def find(name: str) -> Kernel | View:
    """Return the catalogue's entry of that name.

    Raises:
        UsageError: no such entry; the message suggests the nearest name.

    Example:
        >>> find("tiled_32").family
        'textbook'
    """
    if name not in _BY_NAME:
        raise UsageError(_unknown("kernel", name, tuple(_BY_NAME), "`cornerturn list` shows them all"))
    return _BY_NAME[name]


def in_family(family: str) -> tuple[Kernel | View, ...]:
    """Return the catalogue's entries of one family, in order.

    Raises:
        UsageError: no such family; the message suggests the nearest name.

    Example:
        >>> [entry.name for entry in in_family("controls")]
        ['copy', 'view']
    """
    if family not in FAMILIES:
        raise UsageError(_unknown("family", family, FAMILIES, f"the families are {', '.join(FAMILIES)}"))
    return tuple(entry for entry in CATALOGUE if entry.family == family)


def _unknown(kind: str, name: str, known: tuple[str, ...], where: str) -> str:
    nearest = get_close_matches(name.lower(), known, n=1, cutoff=0.5)
    hint = f"did you mean {nearest[0]!r}? " if nearest else ""
    return f"unknown {kind} {name!r}: {hint}{where}"
