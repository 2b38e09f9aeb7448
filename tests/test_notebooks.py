"""The notebooks of docs run from top to bottom, and find what the pages show: counts and verdicts, no times."""

import re
from html import unescape
from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

FOLDER = Path(__file__).parents[1] / "docs" / "notebooks"
UNCOMPARED = {"gpu", "machine", "planner"}
"""Tags of cells whose output depends on the machine: with a GPU they show times, and a plan is for one machine."""

# Which compiler made the code decides how many instructions it has, and its version is in the titles.
_VERSIONS = re.compile(r" by nvrtc \d+\.\d+(, cute dsl [\d.]+)?")
_INSTRUCTIONS = re.compile(r"(?m)^(\S+ .*/.*?)\s+[\d.]+ valid$")


def words(html: str) -> str:
    """The text of a page, without its pictures' coordinates."""
    text = unescape(re.sub(r"<[^>]*>", "", html))
    return " ".join(_INSTRUCTIONS.sub(r"\1 valid", _VERSIONS.sub("", text)).split())


def shown(cell) -> list[str]:
    """What a cell shows; a bar that has disappeared, and what a library warns of, are nothing."""
    outputs = [each for each in cell.outputs if each.get("name") != "stderr"]
    texts = [each.get("text") or each["data"].get("text/html") or each["data"]["text/plain"] for each in outputs]
    return [found for text in texts if (found := words(text))]


@pytest.fixture(scope="module", params=sorted(FOLDER.glob("*.ipynb")), ids=lambda path: path.stem)
def pages(request):
    """A notebook as it is kept, and as it is when all its cells have run."""
    pytest.importorskip("tensor_layouts")
    kept, run = (nbformat.read(request.param, as_version=4) for _ in range(2))
    for cell in run.cells:
        if cell.cell_type == "code":
            cell.outputs = []
    nbclient.NotebookClient(run, timeout=300, kernel_name="python3").execute()
    return kept, run


def test_every_cell_shows_what_the_page_has(pages):
    kept, run = pages
    cells = [
        pair
        for pair in zip(kept.cells, run.cells, strict=True)
        if pair[0].cell_type == "code" and not UNCOMPARED & {*pair[0].metadata.get("tags", ())}
    ]
    assert len(cells) > 3
    for before, after in cells:
        assert shown(after) == shown(before), before.source


def test_no_cell_fails_and_none_leaves_a_bar(pages):
    _, run = pages
    for cell in run.cells:
        for output in cell.get("outputs", ()):
            assert output.output_type != "error"
            assert "<progress" not in str(output)
            assert "\x1b[" not in str(output), cell.source


def test_nothing_of_the_machine_that_ran_it_is_kept(pages):
    kept, _ = pages
    assert kept.metadata.language_info == {"name": "python"}
    for cell in kept.cells:
        assert "execution" not in cell.metadata
        assert not re.search(r"/(home|root|tmp|work|Users)/", str(cell))
