"""The page: one HTML file that holds its style, scripts and data, and makes no request."""

import json
from collections.abc import Mapping
from importlib.resources import files
from string import Template

_SCRIPTS = (
    "marks.js",
    "requests.js",
    "stage.js",
    "views.js",
    "explorer.js",
    "player.js",
    "overview.js",
    "kernel.js",
    "compare.js",
    "lessons.js",
    "app.js",
)


def page(contents: Mapping[str, object]) -> str:
    """The whole document, from what `cornerturn.lab.report.contents` recorded."""
    scripts = "\n".join(f"<script>\n{_read(name)}</script>" for name in _SCRIPTS)
    return Template(_read("page.html")).substitute(style=_read("style.css"), data=_embed(contents), scripts=scripts)


def _embed(contents: Mapping[str, object]) -> str:
    """JSON for a script element: nothing in it can end the element."""
    return json.dumps(contents, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


def _read(name: str) -> str:
    return files(__package__).joinpath("page", name).read_text(encoding="utf-8")
