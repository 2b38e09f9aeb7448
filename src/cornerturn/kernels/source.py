"""The kernel sources of this package: their text, and the lessons written above their kernels."""

import re
from importlib.resources import files

_LESSON = re.compile(r"^(?P<mark>//| *#) (?P<name>\w+): (?P<text>.*(?:\n(?P=mark)   .*)*)", re.MULTILINE)


def read_source(file: str) -> str:
    """Return the text of ``file``, a kernel source that lies beside this module."""
    return files(__package__).joinpath(file).read_text(encoding="utf-8")


def lessons(text: str) -> dict[str, str]:
    r"""Return the lesson of each kernel in a source, by the kernel's name in the catalogue and in the text's order.

    A lesson is a comment that starts with the kernel's name and a colon; its further lines are indented by two
    spaces more. In CUDA C++ it begins the line, in Python it may be indented.

    Example:
        >>> lessons("// naive: reads along a row\n//   and writes down a column.")
        {'naive': 'reads along a row and writes down a column.'}
    """
    return {m["name"]: " ".join(m["text"].replace("\n" + m["mark"], " ").split()) for m in _LESSON.finditer(text)}
