import pytest

from cornerturn.op.cpu import cost
from cornerturn.op.cpu.box import Box
from cornerturn.op.cpu.cost import engine_nanoseconds, numpy_nanoseconds, touched
from cornerturn.op.cpu.kernels import KERNELS
from cornerturn.op.problem import Axis, Problem


@pytest.mark.parametrize(
    ("chunks", "aligned", "lines"),
    [
        ((16, 16), (16, 0), (16, 16)),  # a line of each row; each row's lines are shared where it starts anywhere
        ((16, 64), (64, 0), (64, 64)),
    ],
)
def test_lines_of_a_box(chunks, aligned, lines) -> None:
    even = Box(4, (Axis(1024, 4096, 4), Axis(1024, 4, 4096)), chunks)
    odd = Box(4, (Axis(1023, 4100, 4), Axis(1025, 4, 4092)), chunks)
    assert touched(even, even.strides_in)[:3] == (aligned[0], 16, aligned[1])
    assert touched(odd, odd.strides_in)[:3] == (lines[0], 16, 16)


@pytest.mark.parametrize(
    ("pitch", "rows", "first", "second"),
    [
        (1 << 12, 16, 2, 1 / 8),  # all rows in one set of the first cache, each in its own of the second
        (1 << 17, 16, 2, 2),
        (1 << 11, 16, 1, 1 / 8),
        (4096 + 64, 16, 1 / 8, 1 / 8),
        (1 << 12, 4, 1 / 2, 1 / 8),
    ],
)
def test_lines_that_fall_together(pitch: int, rows: int, first: float, second: float, monkeypatch) -> None:
    monkeypatch.setattr(cost, "ways", lambda level: 8)
    monkeypatch.setattr(cost, "way_bytes", lambda level: {1: 1 << 12, 2: 1 << 17}[level])
    box = Box(4, (Axis(1024, pitch, 4), Axis(1024, 4, 4096)), (rows, 16))
    assert touched(box, box.strides_in).ways == (first, second)


def test_boxes_that_cut_lines_past_the_caches() -> None:
    whole = Box(4, (Axis(1024, 4096, 4), Axis(1024, 4, 4096)), (64, 64), aligned=True)
    owned = Box(4, (Axis(1000, 4100, 4), Axis(1025, 4, 4000)), (64, 64), aligned=True)
    ends = Box(4, (Axis(1024, 4096, 4), Axis(1024, 4, 4096)), (80, 64), aligned=True)
    cut = Box(4, (Axis(1023, 4100, 4), Axis(1025, 4, 4092)), (16, 64), aligned=True)
    counted = [cost._cut_lines(KERNELS["tiles_4"], box, True) for box in (whole, owned, ends, cut)]
    assert counted == [0, 64 / owned.boxes_along(0, True), 0, 64]


def test_numpy_moves_elements_of_the_arrays_and_not_those_of_the_problem() -> None:
    pairs = Problem(4, (2, 5120), (4, 8), (20480, 4))  # of two halves each
    assert numpy_nanoseconds(pairs, 2) > 3 * numpy_nanoseconds(pairs, 4)


def test_more_to_do_takes_longer() -> None:
    small, large = (Problem(4, (n, n), (4, 4 * n), (4 * n, 4)) for n in (256, 512))
    for record in ("tiles_4", "records_4", "vectors"):
        costs = []
        for problem in (small, large):
            box = Box(4, problem.axes[::-1], (64, 64))
            costs.append(engine_nanoseconds(problem, KERNELS[record], box, False, False))
        assert 3 < costs[1] / costs[0] < 8
    assert numpy_nanoseconds(large, 4) > 3 * numpy_nanoseconds(small, 4)


def test_numpy_too_suffers_from_lines_that_push_each_other_out() -> None:
    even, odd = (Problem(16, (n, n), (16, 16 * n), (16 * n, 16)) for n in (1024, 1025))
    assert numpy_nanoseconds(even, 16) > 1.5 * numpy_nanoseconds(odd, 16)
