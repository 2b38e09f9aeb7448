import pytest

from cornerturn.op.cpu.box import Box
from cornerturn.op.cpu.cost import engine_nanoseconds, lines_of, numpy_nanoseconds
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
    assert lines_of(even, even.strides_in) == aligned
    assert lines_of(odd, odd.strides_in) == (lines[0], 16)


def test_more_to_do_takes_longer() -> None:
    small, large = (Problem(4, (n, n), (4, 4 * n), (4 * n, 4)) for n in (256, 512))
    for record in ("tiles_4", "records_4", "vectors"):
        costs = []
        for problem in (small, large):
            box = Box(4, problem.axes[::-1], (64, 64))
            costs.append(engine_nanoseconds(problem, KERNELS[record], box, False, False))
        assert 3 < costs[1] / costs[0] < 8
    assert numpy_nanoseconds(large) > 3 * numpy_nanoseconds(small)
