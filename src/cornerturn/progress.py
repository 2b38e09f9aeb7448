"""Progress of long work: a bar on a terminal, a bar in a notebook, and nothing where nobody watches.

A command that a cell of a notebook starts (``!cornerturn``) is given a terminal, but its page keeps each bar that was
drawn: there is none either.
"""

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from typing import Any

Advance = Callable[[int, str, float], None]
"""``advance(before, kernel, done)``: how many kernels were done before this matrix, which one is at work, and how many
are done since."""

_PATIENCE, _BEAT = 0.5, 0.1  # seconds before a bar in a notebook appears, and between its changes


@contextmanager
def progress_bar(total: int) -> Iterator[Advance]:
    """A bar that disappears when the work is done.

    Args:
        total: kernels, or whatever the work is counted in.
    """
    if in_notebook():
        with _notebook_bar(total) as advance:
            yield advance
    elif sys.stderr.isatty() and "JPY_PARENT_PID" not in os.environ:
        with _terminal_bar(total) as advance:
            yield advance
    else:
        yield lambda before, kernel, done: None


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return getattr(shell, "kernel", None) is not None


@contextmanager
def _terminal_bar(total: int) -> Iterator[Advance]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    columns = (BarColumn(), TaskProgressColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=total)

        def advance(before: int, kernel: str, done: float) -> None:
            progress.update(task, completed=before + done, description=kernel)

        yield advance


@contextmanager
def _notebook_bar(total: int) -> Iterator[Advance]:
    from IPython.display import HTML, display

    shown: Any = None
    due = time.monotonic() + _PATIENCE

    def advance(before: int, kernel: str, done: float) -> None:
        nonlocal shown, due
        if time.monotonic() < due:
            return
        bar = HTML(f'<progress max="{total}" value="{before + done:.3f}"></progress> {escape(kernel)}')
        if shown is None:
            shown = display(bar, display_id=True)
        else:
            shown.update(bar)
        due = time.monotonic() + _BEAT

    try:
        yield advance
    finally:
        if shown is not None:
            shown.update(HTML(""))
