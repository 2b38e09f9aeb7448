"""Requests as text and as SVG."""

from xml.etree import ElementTree

import pytest

from cornerturn.emulator import Access
from cornerturn.lab.footprint import Alike, Footprint
from cornerturn.lab.views.colours import ordered
from cornerturn.lab.views.pictures import draw, headline, rows_of, svg


def request(memory, kind, width, offsets, lanes=None):
    lanes = range(len(offsets)) if lanes is None else lanes
    space = "shared" if memory == "shared" else "global"
    access = Access(0, "k:7", "", space, kind, width, requests=1, lanes=len(offsets))
    return Footprint(7, access, memory, tuple(lanes), tuple(offsets))


def name(memory, offset):
    return f"{memory}+{offset}"


PICTURES = {
    "coalesced": (
        request("x", "load", 4, range(0, 128, 4)),
        "line 7: global load, 4 bytes per lane, 4 sectors in 1 line (ideal 4)",
        ["x+0 │01234567│89abcdef│ghijklmn│opqrstuv│"],
    ),
    "strided": (
        request("y", "store", 4, [4096 * n + 8 for n in range(32)]),
        "line 7: global store, 4 bytes per lane, 32 sectors in 32 lines (ideal 4)",
        [
            "     y+0 │··0·····│        │        │        │",
            "       ⋮  30 more like it",
            "y+126976 │··v·····│        │        │        │",
        ],
    ),
    "few alike are all shown": (
        request("y", "store", 16, [0, 256, 512, 768]),
        "line 7: global store, 16 bytes per lane, 4 sectors in 4 lines (ideal 2)",
        [
            "  y+0 │0000····│        │        │        │",
            "y+256 │1111····│        │        │        │",
            "y+512 │2222····│        │        │        │",
            "y+768 │3333····│        │        │        │",
        ],
    ),
    "one word, many lanes": (
        request("x", "load", 4, [64, 64, 64, 68]),
        "line 7: global load, 4 bytes per lane, 1 sector in 1 line (ideal 1)",
        ["x+0 │        │        │03······│        │"],
    ),
    "bytes": (
        request("x", "load", 1, range(8)),
        "line 7: global load, 1 byte per lane, 1 sector in 1 line (ideal 1)",
        ["x+0 │04······│        │        │        │"],
    ),
    "conflict": (
        request("shared", "load", 4, [0, 128, 4, 256]),
        "line 7: shared load, 4 bytes per lane, 3 wavefronts (ideal 1)",
        [
            "      bank  0        8        16       24",
            "lanes 0-31 │02      │        │        │        │",
            "lanes 0-31 │1       │        │        │        │",
            "lanes 0-31 │3       │        │        │        │",
        ],
    ),
    "conflict in two quarters": (
        request("shared", "store", 16, [256 * n for n in range(16)]),
        "line 7: shared store, 16 bytes per lane, 16 wavefronts (ideal 2)",
        [
            "      bank  0        8        16       24",
            " lanes 0-7 │0000    │        │        │        │",
            "         ⋮  6 more like it",
            " lanes 0-7 │7777    │        │        │        │",
            "lanes 8-15 │8888    │        │        │        │",
            "         ⋮  6 more like it",
            "lanes 8-15 │ffff    │        │        │        │",
        ],
    ),
    "halves": (
        request("shared", "store", 8, [0, 8, 256, 264], lanes=[0, 1, 16, 17]),
        "line 7: shared store, 8 bytes per lane, 2 wavefronts (ideal 1)",
        [
            "       bank  0        8        16       24",
            " lanes 0-15 │0011    │        │        │        │",
            "lanes 16-31 │gghh    │        │        │        │",
        ],
    ),
}


@pytest.mark.parametrize(("request_", "head", "picture"), PICTURES.values(), ids=PICTURES)
def test_drawn_for_a_terminal(request_, head, picture):
    assert headline(request_) == head
    lines = draw(request_, name).plain.splitlines()
    assert [line.removeprefix("    ").rstrip() for line in lines] == picture


@pytest.mark.parametrize("request_", [each for each, _, _ in PICTURES.values()], ids=PICTURES)
def test_drawn_as_svg(request_):
    lanes = {ordered(lane) for lane in range(32)}
    tree = ElementTree.fromstring(svg([Alike(request_, (0,))] * 2, name, "a < b & c"))
    space = "{http://www.w3.org/2000/svg}"
    fills = [each.get("fill") for each in tree.iter(f"{space}rect")][1:]
    rows = rows_of(request_, name)
    assert len(fills) == 2 * 32 * len(rows)
    used = sum(cell is not None for row in rows for cell in row.cells)
    moved = sum(8 for row in rows for each in row.moved if each)
    assert sum(fill in lanes for fill in fills) == 2 * used
    assert fills.count("#bbb") == (2 * (moved - used) if moved else 0)
    assert tree.find(f"{space}title").text == "a < b & c"
    bottom = max(float(each.get("y")) for each in tree.iter(f"{space}text"))
    assert bottom < float(tree.get("height"))
