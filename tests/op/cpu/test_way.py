"""A way as a line of the planner's table."""

from cornerturn.op.cpu.box import Box
from cornerturn.op.cpu.way import NUMPY_COPY, Candidate
from cornerturn.op.problem import Axis


def test_a_way_names_its_kernel_its_box_outermost_first_and_its_time() -> None:
    box = Box(4, (Axis(100, 800, 4), Axis(200, 4, 400)), (50, 60))
    assert str(Candidate("tiles_4", box, True, True, 12_345)).split() == [
        *("tiles_4", "60x50", "through", "scratch", "memory,", "streamed", "12.3", "us")
    ]
    assert "at once " in str(Candidate("tiles_4", box, False, False, 0))
    assert str(Candidate(NUMPY_COPY, None, False, False, 1000)).split() == ["numpy_copy", "at", "once", "1.0", "us"]
