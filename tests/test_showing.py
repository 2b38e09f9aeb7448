"""Whatever the package returns shows itself: one short line, all of it in text, and HTML that a page can hold."""

import re
from collections.abc import Callable
from xml.etree import ElementTree

import numpy as np
import pytest
from rich.console import Console, Group
from rich.text import Text

import cornerturn
from cornerturn.lab import bench, check, distinct, explain, find, layout, lessons, run_emulated, trace
from cornerturn.measure.cases import Case
from cornerturn.measure.comparison import Comparison
from cornerturn.op.gpu.plan import choose
from cornerturn.op.problem import canonical
from cornerturn.showing import Picture, Shown, html_of, view_of
from cornerturn.toolchain import build

SIZE = (64, 64)
SHOWN: dict[str, Callable[[], object]] = {
    "Run": lambda: run_emulated(find("naive"), distinct(*SIZE)),
    "Explanation": lambda: explain("shared_no_padding", size=SIZE),
    "Trace": lambda: trace("tiled_32", size=SIZE),
    "Bench": lambda: bench("naive", "view", size=SIZE, device="emulator"),
    "Findings": lambda: lessons("view", size=SIZE, device="emulator"),
    "Finding": lambda: lessons("view", size=SIZE, device="emulator").all[0],
    "Check": lambda: check(find("naive"), size=SIZE),
    "Layouts": lambda: pytest.importorskip("tensor_layouts") and layout("tiled_16"),
    "Plan": lambda: cornerturn.explain_plan(np.zeros((512, 512), np.float32)),
    "Choice": lambda: choose(canonical(4, (512, 512), (4, 2048), (2048, 4))),
    "Comparison": lambda: Comparison((), ("nothing is installed",), "a machine"),
}
TERSE: dict[str, Callable[[], object]] = {
    "Kernel": lambda: find("cute_row_smem"),
    "View": lambda: find("view"),
    "Image": lambda: build(find("naive"), "sm_90"),
    "CudaSource": lambda: find("naive").source,
    "CuteSource": lambda: find("cute_row_smem").source,
    "Emulation": lambda: run_emulated(find("naive"), distinct(*SIZE)).emulation,
    "BlockRun": lambda: explain("naive", size=SIZE).block,
    "KernelText": lambda: explain("naive", size=SIZE).text,
    "Result": lambda: bench("naive", size=SIZE, device="emulator").results[0],
    "Case": lambda: Case((3, 4), (1, 0)),
}


@pytest.mark.parametrize("name", [*SHOWN, *TERSE])
def test_a_repr_is_short_and_names_the_class(name: str):
    found = (SHOWN | TERSE)[name]()
    assert type(found).__name__ == name
    assert name in repr(found)
    assert len(repr(found)) < 1200 if name == "Result" else len(repr(found)) < 500


def test_all_that_shows_itself_is_tested_here():
    assert {shown.__name__ for shown in Shown.__subclasses__() if shown.__module__.startswith("cornerturn.")} == {
        *SHOWN
    }


def of_html(html: str) -> ElementTree.Element:
    """The tree, which a parser of XML accepts."""
    return ElementTree.fromstring(f"<body>{html}</body>")


@pytest.mark.parametrize("name", SHOWN)
def test_a_page_shows_what_a_terminal_prints(name: str):
    found = SHOWN[name]()
    assert isinstance(found, Shown)
    tree = of_html(found._repr_html_())
    shown = "".join(text for pre in tree.iter("pre") for text in pre.itertext())
    pictures = list(tree.iter("{http://www.w3.org/2000/svg}svg"))
    words = set(re.findall(r"\w+", str(found)))
    assert words
    assert len(pictures) == {"Explanation": 4, "Layouts": 1}.get(name, 0)
    if not pictures:
        assert set(re.findall(r"\w+", shown)) == words


def test_printing_gives_all_of_it_without_cutting_a_line():
    console = Console(width=400, highlight=False)
    found = SHOWN["Explanation"]()
    with console.capture() as shown:
        console.print(found)
    assert "…" not in str(found)
    assert set(str(found).split()) == set(shown.get().split())


def test_what_a_page_is_given_is_text_and_no_markup():
    class Sly(Shown):
        def __str__(self):
            return "<script>alert(1)</script> [bold]& more"

    html = html_of(Sly())
    assert "<script>" not in html
    assert of_html(html).find("pre").text.strip() == str(Sly())


def test_pictures_stand_where_the_text_has_them():
    class Three(Shown):
        pass

    @view_of.register
    def _(found: Three) -> Group:
        return Group(Text("above"), Picture(Text("drawn"), lambda: "<svg/>"), Text("below"))

    tree = of_html(html_of(Three()))
    assert [part.tag for part in tree] == ["pre", "div", "pre"]
    assert [text.strip() for text in tree.itertext() if text.strip()] == ["above", "below"]
    assert str(Three()).split() == ["above", "drawn", "below"]


def luminance(colour: str) -> float:
    """Relative luminance (WCAG 2, of sRGB)."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@pytest.mark.parametrize("style", ["red", "green", "yellow", "cyan", "bold red", "bold cyan", "dim"])
def test_colours_can_be_read_on_a_light_page_and_on_a_dark_one(style: str):
    class Coloured(Shown):
        pass

    view_of.register(Coloured, lambda found: Text("x", style))
    (colour,) = re.findall(r"(?<![-\w])color: (#\w{6})", html_of(Coloured()))
    found = luminance(colour)
    assert 1.05 / (found + 0.05) >= 3
    assert (found + 0.05) / (luminance("#181818") + 0.05) >= 3
