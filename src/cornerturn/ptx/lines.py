"""The line table of PTX text: its ``.file`` and ``.loc`` directives (PTX ISA, debugging directives)."""

import re
from collections.abc import Callable

_FILE = re.compile(r'^([ \t]*\.file\s+(\d+)\s+")([^"]*)"', re.M)
_LOC = re.compile(r"^[ \t]*\.loc\s+(\d+)\s+(\d+)", re.M)


def files(ptx: str) -> dict[str, str]:
    """Number -> name of the source files that the text's ``.loc`` directives refer to.

    Example:
        >>> files('.file 1 "turn.cu"')
        {'1': 'turn.cu'}
    """
    return {number: name for _, number, name in _FILE.findall(ptx)}


def rename_files(ptx: str, rename: Callable[[str], str]) -> str:
    """The text with the name of every source file replaced by ``rename`` of it.

    Example:
        >>> rename_files('.file 1 "/tmp/turn.cu"', lambda name: name.rpartition("/")[2])
        '.file 1 "turn.cu"'
    """
    return _FILE.sub(lambda directive: f'{directive[1]}{rename(directive[3])}"', ptx)


def source_line(ptx: str, ptx_line: int) -> tuple[str, int] | None:
    """The file and line of the source that line ``ptx_line`` (from 1) of the text was made of, or None if unknown.

    Example:
        >>> source_line('.loc 1 7 1\\nret;\\n.file 1 "turn.cu"', 2)
        ('turn.cu', 7)
    """
    found = _LOC.findall("\n".join(ptx.splitlines()[:ptx_line]))
    if not found:
        return None
    number, line = found[-1]
    return files(ptx).get(number, "?"), int(line)
