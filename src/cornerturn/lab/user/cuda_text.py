"""A CUDA C++ file as text: its code without comments and strings, and the kernels in it.

Everything here is one pass over the text, whatever it holds: no pattern looks back over what another has read.
"""

import re
from dataclasses import dataclass

_OPENING = re.compile(r'//|/\*|R"(?P<mark>[^()\\\s]{0,16})\(|"|\'\\?.\'')
_STRING = re.compile(r'"(?:\\.|[^"\\\n])*"?')
_ATTRIBUTE = re.compile(r"\b__(?:launch_bounds|cluster_dims|block_size|maxnreg)__\s*\([^()]*\)")
_NAMESPACE = re.compile(r"\bnamespace\s+([\w:]+)\s*$")
_HOST_CODE = re.compile(r"<<<|\bmain\s*\(|^[ \t]*#[ \t]*include\b", re.MULTILINE)


@dataclass(frozen=True)
class CudaParts:
    """A source, taken apart.

    Attributes:
        code: the text with a space for each comment and an empty string for each string.
        comments: what follows each ``//``.
    """

    code: str
    comments: tuple[str, ...]

    @property
    def host_code(self) -> str | None:
        """The first sign of host code, which NVRTC does not take; None without one."""
        found = _HOST_CODE.search(self.code)
        return found[0].strip() if found else None


def take_apart(text: str) -> CudaParts:
    """Split a source into code and comments.

    Example:
        >>> take_apart("int a; // one\\nf('\\"', \\"//\\");")
        CudaParts(code='int a;  \\nf(\\'"\\', "");', comments=(' one',))
    """
    code: list[str] = []
    comments: list[str] = []
    at = 0
    while opening := _OPENING.search(text, at):
        start, mark = opening.start(), opening[0]
        code.append(text[at:start])
        if mark == "//":
            at = _find(text, "\n", start)
            comments.append(text[start + 2 : at])
            code.append(" ")
        elif mark == "/*":
            at = min(_find(text, "*/", start + 2) + 2, len(text))
            code.append(" ")
        elif mark.startswith("'"):
            at = opening.end()
            code.append(mark)
        else:
            string = _STRING.match(text, start)
            closing = f'){opening["mark"]}"'
            at = string.end() if string else min(_find(text, closing, start) + len(closing), len(text))
            code.append('""')
    return CudaParts("".join((*code, text[at:])), tuple(comments))


def _find(text: str, what: str, start: int) -> int:
    """Where ``what`` is found next; the end of the text if it is not."""
    at = text.find(what, start)
    return at if at >= 0 else len(text)


@dataclass(frozen=True)
class Declaration:
    """A function that is marked ``__global__``, even if the preprocessor omits it.

    Attributes:
        name: with its namespaces.
        instance: of a template, a name with arguments to try; empty for any other function.
    """

    name: str
    instance: str = ""


def kernels_in(code: str) -> list[Declaration]:
    """The functions marked ``__global__`` in the code of `take_apart`, in its order.

    Example:
        >>> kernels_in("namespace a { template <typename E, int n> __global__ void k(E* x) {} }")
        [Declaration(name='a::k', instance='a::k<float, 32>')]
    """
    found: list[Declaration] = []
    scopes: list[str] = []
    for part in re.finditer(r"([^;{}]*)([;{}]?)", code):
        declaration, end = part.groups()
        before, marked, after = declaration.partition("__global__")
        head, bracket, _ = _ATTRIBUTE.sub(" ", after).partition("(")
        if marked and bracket and head.split():
            name = "::".join(filter(None, (*scopes, head.split()[-1])))
            _, template, parameters = before.rpartition("template")
            found.append(Declaration(name, f"{name}<{_arguments(parameters)}>" if template else ""))
        if end == "{":
            namespace = _NAMESPACE.search(declaration)
            scopes.append(namespace[1] if namespace else "")
        elif end == "}" and scopes:
            scopes.pop()
    return found


def _arguments(parameters: str) -> str:
    """Arguments that a template's parameters may take."""
    listed = parameters.partition("<")[2].rpartition(">")[0].split(",")
    return ", ".join("float" if each.split()[:1] in (["typename"], ["class"]) else "32" for each in listed)
