import io

import pytest
from rich.console import Console

from cornerturn.measure.cases import Case
from cornerturn.measure.compare import Measurement
from cornerturn.measure.compare_views import compare_tables, draw

MATRIX = Case((6, 10), (1, 0))
ROWS_KEPT = Case((6, 10, 4), (1, 0, 2))


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
        assert [line.strip() for line in lines[-2:]] == [
            "Foo is not installed: pip install foo",
            "picky takes cubes only",
        ]

    def test_picture(self, results):
        pytest.importorskip("matplotlib", reason="matplotlib is not installed")
        file = io.BytesIO()
        draw(results, file, "svg")
        assert b"<svg" in file.getvalue()
