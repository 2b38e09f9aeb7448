import io
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from cornerturn.errors import MissingExtraError, UsageError
from cornerturn.gpu import Timing
from cornerturn.kernels.catalogue import CATALOGUE, find
from cornerturn.lab.measuring import Result, bench_on_emulator
from cornerturn.lab.views import plots


def test_a_picture_needs_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.backend_bases", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'cornerturn\[plot\]'"):
        plots.file_format(Path("plot.png"))


def drawn(results):
    file = io.BytesIO()
    plots.draw(results, file, "svg")
    return file.getvalue().decode()


class TestWithMatplotlib:
    @pytest.fixture(autouse=True)
    def _matplotlib(self):
        pytest.importorskip("matplotlib", reason="matplotlib is not installed")

    @pytest.mark.parametrize(("path", "format"), [("a.png", "png"), ("b.SVG", "svg"), ("c.d.pdf", "pdf")])
    def test_the_ending_names_the_format(self, path, format):
        assert plots.file_format(Path(path)) == format

    @pytest.mark.parametrize("path", ["plot", "plot.txt", "plot."])
    def test_other_endings_are_refused(self, path):
        with pytest.raises(UsageError, match=r"the ending must be one of .*png"):
            plots.file_format(Path(path))

    def test_a_format_that_needs_what_is_not_here_is_refused_at_once(self, monkeypatch):
        monkeypatch.setenv("PATH", "")  # pgf asks LaTeX how wide a text is
        with pytest.raises(UsageError, match=r"--plot k\.pgf: matplotlib cannot write pgf here: .*try svg or png"):
            plots.file_format(Path("k.pgf"))

    def test_a_matplotlib_that_cannot_start_is_refused(self):
        code = "from cornerturn.lab.views.plots import file_format, Path; file_format(Path('k.svg'))"
        environment = os.environ | {"MPLBACKEND": "nonsense", "PYTHONPATH": os.pathsep.join(sys.path)}
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
        assert "UsageError: --plot k.svg: matplotlib cannot be used here: " in done.stderr

    def test_each_panel_has_its_scale_above_and_below(self, monkeypatch):
        from matplotlib.figure import Figure

        drawn = []
        monkeypatch.setattr(Figure, "savefig", lambda self, *_, **__: drawn.append(self))
        found = [*bench_on_emulator([find("naive")], (8, 8), "sm_90", lambda kernel, done: None)]
        plots.draw([*found, replace(found[0], rows=16, bytes=2 * found[0].bytes)], io.BytesIO(), "svg")
        for panel in drawn[0].axes:
            assert "times the ideal" in panel.get_xlabel()
            assert panel.xaxis.get_tick_params()["labeltop"] is True
        assert len(drawn[0].axes) == 2

    def test_emulated_results_have_a_row_a_kernel_and_a_panel_a_size(self):
        results = [
            result
            for shape in ((64, 64), (64, 66))
            for result in bench_on_emulator(CATALOGUE, shape, "sm_90", lambda kernel, done: None)
        ]
        svg = drawn(results)
        assert svg.count("<!-- naive -->") == svg.count("<!-- ragged_16 -->") == 2
        titles = [f"64 x {cols}, {size}-byte elements" for cols in (64, 66) for size in (4, 1, 2, 8, 16)]
        places = [svg.index(f"<!-- {title} -->") for title in titles]
        assert places == sorted(places)
        assert svg.count("<!-- f32_diagonal2d -->") == 1  # refuses 64 x 66
        assert "<!-- global load -->" in svg

    def test_timed_results_stand_beside_the_roof(self):
        timing = Timing(2e-6, 1e-6, 3e-6, 50)
        results = [
            Result("naive", "textbook", 8, 8, 512, "gpu", "valid", timing=timing, roof_seconds=1e-6),
            Result("f32x4", "textbook", 8, 8, 512, "gpu", "refused", refused="a rule"),
        ]
        svg = drawn(results)
        assert "<!-- naive -->" in svg
        assert "<!-- copy roof -->" in svg

    def test_results_that_all_refused_make_an_empty_picture(self):
        assert "<svg" in drawn([Result("k", "t", 1, 1, 8, "emulator", "refused", refused="a rule")])
