"""Symbols of PTX and machine code -> names of the source (Itanium C++ ABI, mangling).

https://itanium-cxx-abi.github.io/cxx-abi/abi.html#mangling
"""

import re
from dataclasses import dataclass

_START = re.compile(r"_Z(N?)L?")
_PART = re.compile(r"L?(\d+)")
_UNNAMED = re.compile(r"_GLOBAL__|_INTERNAL_")  # namespaces that have a symbol's name and none in C++


@dataclass(frozen=True)
class SourceName:
    """What a function or variable is called in the source.

    Attributes:
        text: the name with its namespaces, without types and without template arguments.
        template: whether the symbol is an instance of a template, so that the text alone does not name it.
    """

    text: str
    template: bool


def demangle(symbol: str) -> SourceName:
    """The name that a symbol was made of; a symbol that is not mangled is its own name.

    Example:
        >>> [demangle(symbol).text for symbol in ("_Z4turnPKfi", "_ZN4tile4turnEPf", "vprintf")]
        ['turn', 'tile::turn', 'vprintf']
        >>> demangle("_Z4turnILi32EEvPKf")
        SourceName(text='turn', template=True)
    """
    start = _START.match(symbol)
    if start is None:
        return SourceName(symbol, template=False)
    nested, at = start[1], start.end()
    names: list[str] = []
    while (length := _PART.match(symbol, at)) and (nested or not names):
        at = length.end() + int(length[1])
        names.append(symbol[length.end() : at])
    named = [name for name in names if not _UNNAMED.search(name)]
    return SourceName("::".join(named) or symbol, template=symbol[at : at + 1] == "I")
