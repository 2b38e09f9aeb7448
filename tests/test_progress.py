"""A bar where somebody watches: on a terminal, in a notebook; nothing on a pipe, nor below a notebook's kernel."""

import os
import pty
import subprocess
import sys
from types import SimpleNamespace

import pytest

from cornerturn import progress
from cornerturn.progress import in_notebook, progress_bar

CODE = """
from cornerturn.progress import progress_bar
with progress_bar(2) as advance:
    advance(0, "naive", 1.5)
"""


def printed(**environment: str) -> bytes:
    """What the code prints to a terminal."""
    reader, terminal = pty.openpty()
    known = os.environ | {"TERM": "xterm-256color", "COLUMNS": "100", "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", CODE], stderr=terminal, check=True, env=known | environment)
    os.write(terminal, b"end")
    os.close(terminal)
    shown = os.read(reader, 1 << 16)
    os.close(reader)
    return shown.removesuffix(b"end")


def test_a_terminal_shows_what_is_at_work():
    shown = printed()
    assert b"naive" in shown
    assert b"75%" in shown


def test_below_a_notebook_a_terminal_shows_nothing():
    assert printed(JPY_PARENT_PID="1") == b""


def test_a_pipe_gets_nothing():
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, check=True)
    assert (done.stdout, done.stderr) == (b"", b"")


class Display:
    """What IPython would show, change by change."""

    def __init__(self) -> None:
        self.pages: list[str] = []

    def __call__(self, page: str, display_id: bool) -> "Display":
        self.update(page)
        return self

    def update(self, page: str) -> None:
        self.pages.append(page)


@pytest.fixture
def notebook(monkeypatch):
    """A notebook's kernel, and a clock that goes on by a second whenever it is asked."""
    shown, seconds = Display(), iter(range(1000))
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: SimpleNamespace(kernel=object())))
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(HTML=str, display=shown))
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(seconds))
    return shown


def test_a_notebook_has_one_bar_that_goes_when_the_work_is_done(notebook):
    assert in_notebook()
    with progress_bar(4) as advance:
        advance(1, "a<b>", 0.5)
        advance(2, "other", 0)
    assert notebook.pages == [
        '<progress max="4" value="1.500"></progress> a&lt;b&gt;',
        '<progress max="4" value="2.000"></progress> other',
        "",
    ]


def test_short_work_shows_no_bar(notebook, monkeypatch):
    monkeypatch.setattr(progress.time, "monotonic", lambda: 1.0)
    with progress_bar(4) as advance:
        advance(1, "naive", 0.5)
    assert notebook.pages == []


def test_a_bar_goes_when_the_work_fails(notebook):
    with pytest.raises(RuntimeError), progress_bar(4) as advance:
        advance(1, "naive", 0.5)
        raise RuntimeError
    assert notebook.pages[-1] == ""


@pytest.mark.parametrize("shell", [None, SimpleNamespace()])
def test_ipython_alone_is_no_notebook(monkeypatch, shell):
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    assert not in_notebook()
