"""``cornerturn report`` from the command line."""

import json

import pytest
from click.testing import CliRunner

from cornerturn.cli import main
from cornerturn.kernels.controls import COPY
from cornerturn.lab import run


def report(*arguments):
    return CliRunner().invoke(main, ["report", *map(str, arguments)])


def test_the_page_is_written_and_named(tmp_path):
    path = tmp_path / "page.html"
    done = report("-o", path, "--kernel", "tiled_8", "--kernel", "naive", "--size", "40x24")
    assert (done.exit_code, done.stdout) == (0, "")
    assert done.stderr.startswith(f"{path}: 2 kernels, 0.")
    text = path.read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>")
    assert text.index('"name":"naive"') < text.index('"name":"tiled_8"')  # in the catalogue's order
    assert '"rows":40,"cols":24' in text


def test_times_from_several_files_are_merged(tmp_path):
    timed = {"kernel": "copy", "rows": 8, "cols": 8, "valid": True, "seconds": 1e-6, "gbps": 1.0, "roof_share": 1.0}
    paths = [tmp_path / "warm.json", tmp_path / "cold.json"]
    for path in paths:
        path.write_text(json.dumps({"device": {"name": "GPU"}, "results": [timed]}))
    page = tmp_path / "page.html"
    options = [part for path in paths for part in ("--results", path)]
    assert report("-o", page, "--kernel", "copy", "--size", "8x8", *options).exit_code == 0
    assert '"label":"warm"' in page.read_text() and '"label":"cold"' in page.read_text()


def test_a_wrong_kernel_is_on_the_page_and_in_the_status(tmp_path, monkeypatch):
    monkeypatch.setattr(run, "COPY", None)  # now the copy is held to be a transpose, which it is not
    page = tmp_path / "page.html"
    done = report("-o", page, "--kernel", COPY.name, "--size", "64x64")
    assert done.exit_code == 1
    assert '"status":"wrong"' in page.read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--kernel nave", "unknown kernel 'nave': did you mean 'naive'?"),
        ("--size 12", "'12' is not ROWSxCOLS"),
        ("--size 9999999x9999999", "choose a smaller size"),
        ("--results none.json", "none.json: no such file"),
        ("-o nowhere/page.html", "nowhere"),
    ],
)
def test_a_mistake_is_one_line_and_status_2(tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    done = report("--kernel", "naive", *arguments.split())
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith("error: ") and done.stderr.count("\n") == 1
    assert message in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_results_file_is_not_overwritten(tmp_path):
    path = tmp_path / "bench.json"
    path.write_text("{}")
    done = report("-o", path, "--results", path, "--kernel", "naive")
    assert done.exit_code == 2
    assert path.read_text() == "{}"
