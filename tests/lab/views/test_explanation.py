from cornerturn.kernels.catalogue import find
from cornerturn.lab.explanation import explain
from cornerturn.lab.views.explanation import explanation_view

from ..printing import printed

PARTS = ["▸: bytes", "12 │", "A column is a request", "lane ", "A cell is a 4-byte word", "    x[35, 64] │"]
"""How lines begin that explain a part, and the first lines of these parts."""


def test_the_naive_transpose_explained():
    lines = printed(explanation_view(explain(find("naive"), 1024, 1024, at=(2, 1), warp=3)))
    source = lines.index("15 │     if (r < rows && c < cols) y[c * rows + r] = x[r * cols + c];")
    assert [" ".join(line.split()) for line in lines[source + 1 : source + 3]] == [
        "▸ global load 4 B 32,768 requests 4/4 sectors 100% of their bytes used",
        "▸ global store 4 B 32,768 requests 32/4 sectors 12.5% of their bytes used",
    ]
    assert [part for line in lines for part in PARTS if line.startswith(part)] == PARTS
    first = 35 * 1024 + 64  # row 32 + 3, column 64
    assert f"   0   x[35, 64]  +{4 * first}   y[64, 35]  +{4 * (64 * 1024 + 35)}" in lines
    assert f"  31   x[35, 95]  +{4 * first + 124}   y[95, 35]  +{4 * (95 * 1024 + 35)}" in lines
    assert "    x[35, 64] │01234567│89abcdef│ghijklmn│opqrstuv│" in lines
    assert "    y[64, 32] │···0····│        │        │        │" in lines


def test_a_bank_conflict_explained():
    lines = printed(explanation_view(explain(find("shared_no_padding"), 64, 64)))
    (note,) = (" ".join(line.split()) for line in lines if "▸ shared load" in line)
    assert note == "▸ shared load 4 B x4 128 requests 32/1 wavefronts 32-way conflict"
    assert "    lanes 0-31 │0       │        │        │        │" in lines
    assert "    lanes 0-31 │v       │        │        │        │" in lines
    assert "             ⋮  30 more like it" in lines
    assert "    3 more of this pattern, lane 0 at +32, +64, +96" in lines


def test_addresses_fit_80_columns():
    lines = printed(explanation_view(explain(find("f32x4_shared_bcf_col2row2d"), 1024, 1024, at=(15, 63), warp=7)))
    lanes = [line for line in lines if line.startswith(("lane ", "  31 "))]
    assert len(lanes) == 6  # three tables
    assert max(map(len, lanes)) <= 80


def test_a_warp_outside_of_the_matrix_is_said_to_be_idle():
    lines = printed(explanation_view(explain(find("naive"), 3, 5, warp=7)))
    assert "No lane of this warp touches memory: it is outside the matrix." in lines
