import re
from xml.etree import ElementTree

import pytest

from cornerturn.kernels.catalogue import find
from cornerturn.lab.layouts import watch_layouts
from cornerturn.lab.views.layouts import svg_pictures, terminal_pictures

from ..printing import printed

pytest.importorskip("tensor_layouts")


@pytest.mark.parametrize("width", [80, 120])
def test_the_terminal_shows_the_corner_of_every_grid(width: int) -> None:
    text = "\n".join(printed(terminal_pictures(watch_layouts(find("cute_row_rvectorized"))), width))
    assert "a tile of 16 x 64 of x becomes 64 x 16 of y" in text
    assert "threads (16,16):(16,1), values (1,4)" in text
    assert text.count("the first 16 x 16 of 16 x 64") == 1 + 3
    assert "32 wavefronts (ideal 32)" in text
    assert all(len(line.rstrip()) <= width for line in text.splitlines())


def test_marks_stand_where_no_colour_does() -> None:
    lines = printed(terminal_pictures(watch_layouts(find("cute_row_smem"))))
    first = next(line for line in lines if line.startswith(" 0* 1*"))
    assert re.match(r" 0\* 1\* 2  3  4 ", first)


def test_the_svg_holds_every_cell_of_every_grid() -> None:
    layouts = watch_layouts(find("cute_row_rvectorized_swizzled_optimized"))
    root = ElementTree.fromstring(svg_pictures(layouts))
    rectangles = root.findall("{http://www.w3.org/2000/svg}rect")
    assert len(rectangles) == 1 + (2 + 3) * 8 * 128
    assert len([each for each in rectangles if each.get("stroke") == "black"]) == 2 * 32 + 3 * layouts.taken.sum()
    _, _, width, height = map(int, root.get("viewBox").split())
    assert max(int(each.get("x", 0)) for each in rectangles) < width
    assert max(int(each.get("y", 0)) for each in rectangles) < height


@pytest.mark.parametrize("name", ["naive", "cute_row_smem", "tiled_32"])
def test_the_svg_has_a_size_and_is_no_strip(name: str) -> None:
    root = ElementTree.fromstring(svg_pictures(watch_layouts(find(name))))
    width, height = int(root.get("width")), int(root.get("height"))
    assert root.get("viewBox") == f"0 0 {width} {height}"
    assert width <= 1800
    assert height <= 1.3 * width
