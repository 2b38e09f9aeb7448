"""A trace as text for a terminal: one step per row, then what arrived where."""

from collections.abc import Sequence

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from cornerturn.emulator.counting import BANK_BYTES, BANKS, WARP
from cornerturn.lab.observation import Element
from cornerturn.lab.tracing import Step, Trace
from cornerturn.showing import view_of

_VERBS = {"load": "reads", "store": "writes", "atomic": "updates"}
_STAGING_VERBS = {"load": "takes", "store": "stores", "atomic": "updates"}


@view_of.register
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
        return Group(*parts, Text("This thread touches no memory: it is outside the matrix."))
    return Group(*parts, _steps_table(followed.steps), Text(), _arrivals(followed))


def _steps_table(steps: Sequence[Step]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 2, 0, 0), pad_edge=False, show_edge=False)
    for heading in ("line", "does", "where", "byte", "elements of x"):
        table.add_column(heading, justify="right" if heading in ("line", "byte") else "left")
    if any(step.writers for step in steps):
        table.add_column("stored there by thread")
    for step in steps:
        cells = [str(step.line), _verb(step), _where(step), f"+{step.offset}", _moved(step.values), _writers(step)]
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


def _moved(values: Sequence[Element | None]) -> str:
    """Which elements of x are moved, and how many values are not elements of x."""
    elements = [value for value in values if value is not None]
    none = f"{len(values) - len(elements)} that are none" if elements else "none"
    return " and ".join([*([span(elements)] if elements else []), *([none] if len(elements) < len(values) else [])])


def span(elements: Sequence[Element]) -> str:
    """``(0, 4..7)`` for neighbours in a row, ``(4..7, 0)`` for neighbours in a column; spans follow one another."""
    spans, rest = [], list(elements)
    while rest:
        (row, col), along, down = rest[0], 1, 1
        while along < len(rest) and rest[along] == (row, col + along):
            along += 1
        while down < len(rest) and rest[down] == (row + down, col):
            down += 1
        if along > 1:
            spans.append(f"({row}, {col}..{col + along - 1})")
        elif down > 1:
            spans.append(f"({row}..{row + down - 1}, {col})")
        else:
            spans.append(str(rest[0]))
        rest = rest[max(along, down) :]
    return " ".join(spans)


def _pieces(step: Step) -> list[tuple[str, str]]:
    """What a store to y moves, and where to: in one piece where both are neighbours, else element by element."""
    values = [value for value in step.values if value is not None]
    whole = span(values), span(step.places)
    if all(") (" not in each for each in whole):
        return [whole]
    return [(str(value), str(place)) for value, place in zip(values, step.places, strict=True)]


def _writers(step: Step) -> str:
    return " ".join(dict.fromkeys(f"{x},{y}" for x, y, _ in step.writers))


def _arrivals(followed: Trace) -> RenderableType:
    """Whether what the thread writes arrives where it belongs."""
    if followed.astray:
        return Text(
            "\n".join(
                f"x[{value.row}, {value.col}] arrives at y[{place.row}, {place.col}] "
                f"and belongs at y[{right.row}, {right.col}]."
                if value and right
                else f"What arrives at y[{place.row}, {place.col}] is not an element of x."
                for value, place, right in followed.astray
            ),
            "red",
        )
    pairs = [
        f"x[{value[1:-1]}] at y[{place[1:-1]}]"
        for step in followed.steps
        if (step.memory, step.kind) == ("y", "store")
        for value, place in _pieces(step)
    ]
    return Text(f"Arrived where they belong: {', '.join(pairs)}." if pairs else "It writes nothing to y.")
