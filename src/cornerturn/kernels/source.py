"""The .cu files of this package: their text, and the lessons written above their kernels."""

import re
from importlib.resources import files

_LESSON = re.compile(r"^// (?P<name>\w+): (?P<text>.*(?:\n//   .*)*)", re.MULTILINE)


def read_cuda(file: str) -> str:
    """Return the text of ``file``, a CUDA source that lies beside this module."""
    return files(__package__).joinpath(file).read_text(encoding="utf-8")


def lessons(text: str) -> dict[str, str]:
    r"""Return the lesson of each kernel in a CUDA source, by the kernel's name in the catalogue.

    A lesson is a comment that starts at the line's beginning with the kernel's name and a colon; its further
    lines are indented by two spaces more.

    Example:
        >>> lessons("// naive: reads along a row\n//   and writes down a column.")
        {'naive': 'reads along a row and writes down a column.'}
    """
    return {m["name"]: " ".join(m["text"].replace("\n//", " ").split()) for m in _LESSON.finditer(text)}
