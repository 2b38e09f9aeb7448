"""A trace as text for a terminal: one step a row, then what has arrived where."""

from collections.abc import Sequence

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from cornerturn.emulator.counters import BANK_BYTES, BANKS, WARP
from cornerturn.lab.observation import Element
from cornerturn.lab.tracing import Step, Trace

_VERBS = {"load": "reads", "store": "writes", "atomic": "updates"}
_STAGING_VERBS = {"load": "takes", "store": "stores", "atomic": "updates"}


def trace_view(followed: Trace) -> RenderableType:
    """All of a trace."""
    grid, block = (" x ".join(map(str, extent)) for extent in (followed.run.grid, followed.run.block))
    tx, ty, _ = followed.thread
    parts: list[RenderableType] = [
        Text(
            f"{followed.kernel.name}, x is {followed.rows} x {followed.cols}: {grid} blocks of {block} threads", "bold"
        ),
        Text(
            f"block {followed.run.at[0]},{followed.run.at[1]}, thread {tx},{ty}: "
            f"lane {followed.number % WARP} of warp {followed.number // WARP}"
        ),
        Text(),
    ]
    if not followed.steps:
        return Group(*parts, Text("This thread touches no memory: it lies outside of the matrix."))
    return Group(*parts, _steps_table(followed.steps), Text(), _arrivals(followed))


def _steps_table(steps: Sequence[Step]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 2, 0, 0), pad_edge=False, show_edge=False)
    for heading in ("line", "does", "where", "byte", "elements of x"):
        table.add_column(heading, justify="right" if heading in ("line", "byte") else "left")
    if any(step.writers for step in steps):
        table.add_column("stored there by thread")
    for step in steps:
        cells = [str(step.line), _verb(step), _where(step), f"+{step.offset}", span(step.values), _writers(step)]
        table.add_row(*cells[: len(table.columns)])
    return table


def _verb(step: Step) -> str:
    return (_VERBS if step.places else _STAGING_VERBS)[step.kind]


def _where(step: Step) -> str:
    """``y[3, 0..3]``, or ``shared, bank 5``."""
    if step.places:
        return f"{step.memory}[{span(step.places)[1:-1]}]"
    if step.memory != "shared":
        return step.memory
    first, last = step.offset // BANK_BYTES % BANKS, (step.offset + step.width - 1) // BANK_BYTES % BANKS
    return f"shared, bank {first}" if first == last else f"shared, banks {first}..{last}"


def span(elements: Sequence[Element]) -> str:
    """``(0, 4..7)`` for neighbours in a row, ``(4..7, 0)`` for neighbours in a column, else each one."""
    (row, col), count = elements[0], len(elements)
    if count > 1 and all(each == (row, col + n) for n, each in enumerate(elements)):
        return f"({row}, {col}..{col + count - 1})"
    if count > 1 and all(each == (row + n, col) for n, each in enumerate(elements)):
        return f"({row}..{row + count - 1}, {col})"
    return " ".join(map(str, elements))


def _writers(step: Step) -> str:
    return " ".join(dict.fromkeys(f"{x},{y}" for x, y, _ in step.writers))


def _arrivals(followed: Trace) -> RenderableType:
    """Whether what the thread writes arrives where it belongs."""
    if followed.astray:
        return Text(
            "\n".join(
                f"x[{value.row}, {value.col}] arrives at y[{place.row}, {place.col}] "
                f"and belongs at y[{right.row}, {right.col}]."
                for value, place, right in followed.astray
            ),
            "red",
        )
    pairs = [f"x[{value.row}, {value.col}] at y[{place.row}, {place.col}]" for value, place, _ in followed.arrivals()]
    return Text(f"Arrived where they belong: {', '.join(pairs)}." if pairs else "It writes nothing to y.")
