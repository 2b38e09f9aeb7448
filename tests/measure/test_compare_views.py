import io
from dataclasses import replace

import pytest
from rich.console import Console

from cornerturn.measure.cases import Case
from cornerturn.measure.compare import Measurement
from cornerturn.measure.compare_views import compare_tables, draw, moves_tables

MATRIX = Case((6, 10), (1, 0))
ROWS_KEPT = Case((6, 10, 4), (1, 0, 2))


def shown(what):
    console = Console(width=160, file=io.StringIO())
    console.print(what)
    return [line.rstrip() for line in console.file.getvalue().splitlines()]


class TestViews:
    @pytest.fixture
    def results(self):
        def rows(case, dtype):
            def row(engine, status="valid", seconds=None, refused=None):
                return Measurement(case, dtype, engine, 480, status, seconds, 1e-6 if seconds else None, refused)

            return [
                row("copy", seconds=1e-6),
                row("cornerturn", seconds=2e-6),
                row("NumPy", seconds=4e-6),
                row("wrong", "wrong"),
                row("picky", "refused", refused="takes cubes only"),
            ]

        return [row for case in (MATRIX, ROWS_KEPT) for dtype in ("uint8", "float64") for row in rows(case, dtype)]

    def test_tables(self, results):
        console = Console(width=120, file=io.StringIO())
        console.print(compare_tables(results, ["Foo is not installed: pip install foo"], "a machine"))
        lines = console.file.getvalue().splitlines()
        assert [line.strip() for line in lines if "a machine" in line] == ["uint8, a machine", "float64, a machine"]
        assert [line.split()[0] for line in lines if " wrong " in line and "%" in line] == [
            MATRIX.name,
            ROWS_KEPT.name,
        ] * 2
        assert sum(line.startswith("geometric mean") for line in lines) == 2
        assert lines[0].startswith("copy: the speed of a plain copy")  # what columns mean is said before the first
        assert [line.strip() for line in lines[-2:]] == [
            "Foo is not installed: pip install foo",
            "picky takes cubes only",
        ]

    def test_everyday_moves_are_one_table(self):
        case = Case((2,) * 24, tuple(range(23, -1, -1)), dtype="float32", label="many axes")
        results = [
            Measurement(one, dtype, engine, 480, "valid", 2e-6, 1e-6)
            for one, dtype in ((replace(MATRIX, label="heads", dtype="uint8"), "uint8"), (case, "float32"))
            for engine in ("copy", "cornerturn")
        ]
        lines = shown(compare_tables(results, [], "a machine"))
        assert sum("a machine" in line for line in lines) == 1
        (heads,) = [line for line in lines if line.startswith("heads")]
        (axes,) = [line for line in lines if line.startswith("many axes")]
        assert "6x10" in heads
        assert "50%" in heads
        assert " 2x2x2x2x" in axes
        assert axes.split()[2].endswith("...")
        assert axes.split()[3] == "float32"

    def test_figures_of_moves(self, results):
        results = [replace(row, kernel="tiles") if row.engine == "cornerturn" else row for row in results]
        lines = shown(moves_tables(results, ["Foo is not installed: pip install foo"], "4 moves"))
        assert lines[0] == "4 moves"
        assert lines[1].startswith("Percentages: speed as a share of a plain copy's.")
        (everything,) = [line.split() for line in lines if line.startswith("all ")]
        assert everything == ["all", "4", "50%", "50%", "50%", "50%"]
        (numpy,) = [line.split() for line in lines if line.startswith("NumPy")]
        assert numpy == ["NumPy", "4", "25%", "50%", "0", "0", "0"]
        assert sum(line.rstrip().endswith("tiles") for line in lines) == 4
        assert lines[-2:] == ["Foo is not installed: pip install foo", "picky takes cubes only"]

    def test_failures_of_ours_are_told(self):
        lines = shown(moves_tables([Measurement(MATRIX, "uint8", "cornerturn", 480, "wrong")], [], "1 move"))
        assert "cornerturn was wrong or failed at 1 move" in lines

    def test_picture(self, results):
        pytest.importorskip("matplotlib", reason="matplotlib is not installed")
        file = io.BytesIO()
        draw(results, file, "svg")
        assert b"<svg" in file.getvalue()

    def test_each_panel_of_a_picture_has_its_scale_above_and_below(self, results, monkeypatch):
        figure = pytest.importorskip("matplotlib.figure", reason="matplotlib is not installed")
        drawn = []
        monkeypatch.setattr(figure.Figure, "savefig", lambda self, *_, **__: drawn.append(self))
        draw(results, io.BytesIO(), "svg")
        panels = drawn[0].axes
        assert [panel.get_title() for panel in panels] == ["uint8", "float64"]
        for panel in panels:
            assert panel.get_xlabel() == "share of the copy roof's speed"
            assert panel.xaxis.get_tick_params()["labeltop"] is True
