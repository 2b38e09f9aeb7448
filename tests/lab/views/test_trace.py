import pytest

from cornerturn.kernels.catalogue import find
from cornerturn.lab.observation import Element
from cornerturn.lab.tracing import trace
from cornerturn.lab.views.trace import span, trace_view

from ..printing import printed


@pytest.mark.parametrize(
    ("elements", "text"),
    [
        ([(3, 4)], "(3, 4)"),
        ([(3, 4), (3, 5), (3, 6)], "(3, 4..6)"),
        ([(3, 4), (4, 4)], "(3..4, 4)"),
        ([(3, 4), (3, 6)], "(3, 4) (3, 6)"),
        ([(3, 4), (4, 5)], "(3, 4) (4, 5)"),
        ([(3, 6), (3, 7), (4, 0), (4, 1), (4, 2)], "(3, 6..7) (4, 0..2)"),
        ([(3, 6), (4, 6), (0, 7), (1, 7), (1, 8)], "(3..4, 6) (0..1, 7) (1, 8)"),
    ],
)
def test_neighbours_are_written_together(elements, text):
    assert span([Element(*each) for each in elements]) == text


def test_the_way_of_one_thread():
    lines = printed(trace_view(trace(find("shared_padding"), 1024, 1024, at=(1, 2), thread=(3, 2))))
    assert lines[0] == "shared_padding, x is 1024 x 1024: 32 x 32 x 1 blocks of 32 x 8 x 1 threads"
    assert lines[1] == "block 1,2, thread 3,2: lane 3 of warp 2"
    rows = [" ".join(line.split()) for line in lines]
    first = rows.index("49 reads x[66, 35] +270476 (66, 35)")
    assert rows[first + 1] == "49 stores shared, bank 5 +276 (66, 35)"
    take = rows.index("54 takes shared, bank 5 +404 (67, 34) 2,3")
    assert rows[take + 1] == "54 writes y[34, 67] +139532 (67, 34)"
    assert lines[-2].startswith("Arrived where they belong: x[67, 34] at y[34, 67], x[67, 42] at y[42, 67], ")


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("f32x4_col2row", "45 reads x[0, 12..15] +48 (0, 12..15)"),
        ("f32x4_row2col2d", "101 writes y[2, 12..15] +1072 (12..15, 2)"),
        ("f32x4_shared_col2row2d", "130 stores shared, banks 12..15 +1072 (4, 12..15)"),
        ("tiled_async", "111 stores shared, bank 5 +276 (2, 3)"),
    ],
)
def test_vectors_and_asynchronous_copies(name, row):
    rows = [
        " ".join(line.split())
        for line in printed(
            trace_view(trace(find(name), 128, 128, at=(0, 0), thread=(3, 2 if name != "f32x4_col2row" else 0)))
        )
    ]
    assert row in rows


def test_a_thread_outside_of_the_matrix_is_said_to_be_idle():
    assert printed(trace_view(trace(find("naive"), 3, 5, (0, 0), (9, 0))))[-1] == (
        "This thread touches no memory: it is outside the matrix."
    )
