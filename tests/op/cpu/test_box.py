import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cornerturn.op.cpu.box import Box, balanced, grown
from cornerturn.op.problem import Axis, Problem, canonical
from cornerturn.op.strided_view import c_order


def problem(shape, axes, item) -> Problem:
    source = c_order(shape, item).permuted(axes)
    return canonical(item, source.shape, source.strides, c_order(source.shape, item).strides)


@given(st.integers(1, 10_000), st.integers(1, 2000), st.sampled_from([1, 4, 16, 64]))
def test_boxes_along_an_axis_are_about_alike(extent, wanted, unit) -> None:
    chunk = balanced(extent, wanted, unit)
    assert min(extent, wanted) <= chunk <= extent
    assert chunk == extent or chunk % unit == 0
    assert chunk <= 2 * wanted + unit


def test_a_box_of_a_matrix_has_runs_on_both_sides() -> None:
    box = grown(problem((1000, 2000), (1, 0), 4), 256, 512, 1 << 20)
    assert box.chunks == (144, 64)  # the output's innermost axis first: seven boxes along it, and many along the other
    assert box.matrix == ((0,), (1,))
    assert box.nbytes == 144 * 64 * 4


def test_short_axes_are_taken_together() -> None:
    box = grown(problem((4, 3, 16, 14, 16, 14), (0, 2, 4, 3, 5, 1), 2), 256, 512, 1 << 20)
    assert box.chunks == (3, 14, 7, 16, 1, 1)  # channels, columns and half of the rows of a patch, patches side by side
    assert box.elements(box.x_run) == 14 * 16 * 7
    assert box.elements(box.y_run) == 3 * 14 * 7
    rows, cols = box.matrix
    assert (rows, cols[0]) == ((0,), 1)
    assert not set(rows) & set(cols)


def test_a_box_keeps_to_its_bytes() -> None:
    assert grown(problem((4096, 4096), (1, 0), 1), 1024, 1024, 1 << 14).nbytes <= 1 << 14


def test_two_boxes_share_a_line_unless_all_runs_are_in_step() -> None:
    axes = (Axis(8191, 4 * 8193, 4), Axis(8193, 4, 4 * 8191))
    box = Box(4, axes, (128, 64))
    assert box.owner == 0
    assert box.step(0, owned=True) == 128 - 16
    assert box.step(0, owned=False) == 128
    assert box.boxes(owned=True) > box.boxes(owned=False)
    aligned = (Axis(8192, 4 * 8192, 4), Axis(8192, 4, 4 * 8192))
    assert Box(4, aligned, (128, 64), aligned=True).owner == -1
    assert Box(4, aligned, (128, 64)).owner == 0


@pytest.mark.parametrize(("shape", "axes"), [((6, 5), (1, 0)), ((3, 4, 5), (2, 0, 1)), ((2, 3, 2, 5), (3, 1, 0, 2))])
def test_offsets_and_scratch_memory_are_in_the_outputs_order(shape, axes) -> None:
    box = grown(problem(shape, axes, 8), 1 << 20, 1 << 20, 1 << 20)
    x = np.arange(np.prod(shape)).reshape(shape)
    places = box.offsets(box.y_order, box.strides_in) // 8
    assert (x.reshape(-1)[places] == x.transpose(axes).reshape(-1)).all()
    assert box.offsets(box.y_order, box.scratch_strides).tolist() == list(range(0, 8 * x.size, 8))
