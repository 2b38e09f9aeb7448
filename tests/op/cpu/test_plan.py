import numpy as np
import pytest

from cornerturn import explain_plan
from cornerturn.op.cpu.kernels import KERNELS
from cornerturn.op.cpu.plan import Plan, plan_move, plan_problem, plan_strides
from cornerturn.op.cpu.way import NUMPY_COPY
from cornerturn.op.problem import canonical
from cornerturn.op.strided_view import StridedView, c_order


def plan(shape, axes, item) -> Plan:
    source = c_order(shape, item).permuted(axes)
    return plan_move(source, c_order(source.shape, item))


@pytest.mark.parametrize(
    ("kernel", "shape", "axes", "item"),
    [
        *((f"tiles_{item}", (1000, 1000), (1, 0), item) for item in (1, 2, 4, 8, 16)),
        *((f"tiles_{item}", (8192, 8192), (1, 0), item) for item in (1, 2, 4, 8, 16)),
        ("tiles_4", (64, 128, 64, 64), (0, 2, 3, 1), 4),
        ("vectors", (16777216, 3), (1, 0), 1),
        ("vectors", (64, 3, 16, 14, 16, 14), (0, 2, 4, 3, 5, 1), 2),
        ("runs", (16, 2048, 16, 4096), (0, 2, 1, 3), 1),
        (NUMPY_COPY, (3, 3), (1, 0), 4),
        (NUMPY_COPY, (100, 100), (0, 1), 2),
        (NUMPY_COPY, (), (), 2),
    ],
)
def test_kernel_for_a_layout(kernel, shape, axes, item) -> None:
    assert plan(shape, axes, item).kernel == kernel


def test_candidates_are_compared_by_what_they_are_predicted_to_take() -> None:
    ways = plan((500, 600), (1, 0), 4).candidates
    assert [way.nanoseconds for way in ways] == sorted(way.nanoseconds for way in ways)
    assert {way.kernel for way in ways} >= {"tiles_4", "records_4", "vectors", NUMPY_COPY}
    assert all(KERNELS[way.kernel].fits(way.box, way.scratch) for way in ways if way.box)


def test_the_same_layout_has_one_plan() -> None:
    a = plan_move(StridedView(0, 4, (80, 90), (4, 320)), StridedView(64, 4, (80, 90), (360, 4)))
    b = plan_move(StridedView(512, 4, (80, 90), (4, 320)), StridedView(4096, 4, (80, 90), (360, 4)))
    assert a is b


def test_rank_and_strides_of_any_kind_have_a_plan() -> None:
    for shape, strides_in, strides_out in (
        ((50, 60), (4, 200), (480, 8)),
        ((2,) * 24, tuple(1 << n for n in range(2, 26)), tuple(1 << n for n in range(25, 1, -1))),
        ((7, 5), (0, 0), (20, 4)),
        ((7, 5), (-20, -4), (4, 28)),
    ):
        assert plan_problem(canonical(4, shape, strides_in, strides_out), 4).candidates
    assert plan_strides(4, (10**6, 10**6), (4, 4 * 10**6), (4 * 10**6, 4)).problem.nbytes == 4 * 10**12


def test_explained_plan_says_what_why_and_how() -> None:
    text = str(explain_plan(np.zeros((8, 2048, 32, 128), np.float16), (0, 2, 1, 3)))
    assert "8 x 32 x 2048 x 16 elements of 16 bytes" in text
    assert "ways, as predicted" in text
    for name in ("runs", "records_16", NUMPY_COPY, "predicted"):
        assert name in text
