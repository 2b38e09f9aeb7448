"""What could move an array on a GPU and what each way is predicted to take: numbers to use, and a table to read."""

import textwrap
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from itertools import zip_longest

from cornerturn.op.gpu.candidates import Candidate
from cornerturn.op.gpu.traffic import ExactCounts
from cornerturn.op.problem import Problem
from cornerturn.showing import Shown

WIDTH = 110
"""Columns of a line of text; the table has about as many."""
NAME_COLUMNS, WHY_COLUMNS = 36, 28
"""The widest cells of text: longer ones go on in the next line."""
LEGEND = (
    "> is taken. Times are predicted with the rates of an H200, not measured. of copy: a copy's time over this one.",
    "sectors: of 32 bytes, per sector that the bytes of x or y fill; ideally 1. wavefr.: of global and shared memory.",
)


@dataclass(frozen=True)
class Choice(Shown):
    """Every candidate for a problem on a GPU, the fastest first. Print it to read it.

    Attributes:
        problem: what moves.
        candidates: at least one; the first is taken.
        copy_seconds: predicted for a copy of as many bytes.
    """

    problem: Problem
    candidates: tuple[Candidate, ...]
    copy_seconds: float

    @property
    def kernel(self) -> str:
        """Name of the kernel that is taken."""
        return _kernel(self.candidates[0])

    def to_json(self) -> dict[str, object]:
        """Return the numbers, times in seconds and ``box`` in y's order, outermost axis first."""
        return {
            "problem": asdict(self.problem),
            "copy_seconds": self.copy_seconds,
            "candidates": [
                {
                    "kernel": _kernel(one),
                    "name": one.name,
                    "seconds": one.seconds,
                    "copy_share": self.copy_seconds / one.seconds,
                    "why": one.why,
                    "box": one.box and list(reversed(one.box.chunks)),
                    "threads": one.box and one.box.threads,
                    "counts": one.counts and asdict(one.counts),
                    "cost": one.cost and asdict(one.cost),
                    "exact": _by_place(one.exact()),
                }
                for one in self.candidates
            ],
        }

    def __repr__(self) -> str:
        return f"<Choice: {self.kernel} for {self.problem.nbytes:,} bytes, of {len(self.candidates)} candidates>"

    def __str__(self) -> str:
        rows = dict.fromkeys(self._row(one) for one in self.candidates)  # those that look the same once
        return "\n".join((*self._heading(), "", *_table(_HEADINGS, list(rows)), "", *LEGEND, *self._exactly()))

    def _exactly(self) -> list[str]:
        """Return what the candidate that is taken counts, below a line that says so."""
        first = self.candidates[0]
        lines = ["", *textwrap.wrap(f"{_name(first)} counts exactly (per request: found/ideal)", WIDTH)]
        for place, traffic in _by_place(first.exact()).items():
            requests = traffic["requests"]
            if requests:
                unit = "sectors" if place.startswith("global") else "wavefronts"
                each = "/".join(f"{traffic[key] / requests:.3g}" for key in ("found", "ideal"))
                lines.append(f"  {place.replace('_', ' '):<12}  {requests:>15,} requests  {each:>9} {unit}")
        return lines

    def _heading(self) -> list[str]:
        problem = self.problem
        shape = f"{' x '.join(map(str, problem.shape))} elements" if problem.shape else "1 element"
        parts = {one.box.element for one in self.candidates if one.box} - {problem.itemsize}
        cut = f", which are not aligned and move as parts of {_bytes(*parts)}" if parts else ""
        strides = " -> ".join(", ".join(map(str, side)) or "0" for side in (problem.strides_in, problem.strides_out))
        return [
            *_wrapped("moves", f"{shape} of {_bytes(problem.itemsize)}{cut}; axes in y's order"),
            *_wrapped("strides", f"{strides} bytes"),
            *_wrapped("copy", f"{_microseconds(self.copy_seconds)} us for these {problem.nbytes:,} bytes"),
        ]

    def _row(self, one: Candidate) -> tuple[str, ...]:
        times = _microseconds(one.seconds), f"{self.copy_seconds / one.seconds:.2f}"
        if one.box is None or one.counts is None:
            return one.name, "", *times, *[""] * 4, one.why
        counts, kilobytes = one.counts, one.box.volume * one.box.element / 1024
        return (
            _name(one),
            str(one.box.threads),
            *times,
            f"{counts.blocks:,}",
            f"{counts.x_sectors:.2f}",
            f"{counts.y_sectors:.2f}",
            f"{counts.wavefronts / kilobytes:.0f}",
            one.why,
        )


_HEADINGS = ("candidate", "threads", "us", "of copy", "blocks", "sectors x", "sectors y", "wavefr. per KB", "why")


def _kernel(one: Candidate) -> str:
    return one.name.split()[0]


def _name(one: Candidate) -> str:
    """Return the kernel and the box, in y's order."""
    return f"{_kernel(one)} {' x '.join(map(str, reversed(one.box.chunks)))}" if one.box else one.name


def _by_place(counts: ExactCounts) -> dict[str, dict[str, int]]:
    return {field.name: getattr(counts, field.name)._asdict() for field in fields(counts)}


def _bytes(count: int) -> str:
    return f"{count} byte{'s' if count > 1 else ''}"


def _microseconds(seconds: float) -> str:
    return f"{seconds * 1e6:,.{1 if seconds >= 1e-5 else 2}f}"


def _wrapped(word: str, text: str) -> list[str]:
    """Return a fact below a word, in lines that go on below its beginning."""
    return textwrap.wrap(f"{word:<8}{text}", WIDTH, subsequent_indent=" " * 8)


def _table(headings: Sequence[str], rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Return the lines of a table: text at both ends and numbers between; the first row is marked."""
    last = len(headings) - 1

    def wrapped(cell: str, column: int) -> list[str]:
        if column == 0:
            return textwrap.wrap(cell, NAME_COLUMNS, subsequent_indent="    ")
        return textwrap.wrap(cell, WHY_COLUMNS) if column == last else [cell]

    cells = [[heading.split(" ", 1) for heading in headings]]
    cells += [[wrapped(cell, column) for column, cell in enumerate(row)] for row in rows]
    widths = [max(len(line) for row in cells for line in row[column]) for column in range(len(headings))]
    lines = []
    for number, row in enumerate(cells):
        mark = ">" if number == 1 else " "
        for parts in zip_longest(*row, fillvalue=""):
            padded = [part.rjust(width) for part, width in zip(parts, widths, strict=True)]
            padded[0], padded[last] = parts[0].ljust(widths[0]), parts[last]
            lines.append(f"{mark} {'  '.join(padded)}".rstrip())
            mark = " "
    return lines
