import numpy as np
import pytest

from cornerturn import explain_plan
from cornerturn.op.cpu.plan import Plan, plan_move, plan_problem, streaming_bytes
from cornerturn.op.problem import canonical
from cornerturn.op.strided_view import StridedView

LARGE, SMALL = 0, 1 << 62  # from how many bytes on an output is written past the caches


def plan(shape, axes, item, streaming=LARGE, line_offset=0, in_pitch=0) -> Plan:
    strides = [item] * len(shape)
    for axis in range(len(shape) - 2, -1, -1):
        strides[axis] = strides[axis + 1] * shape[axis + 1] + (in_pitch if axis == len(shape) - 2 else 0)
    turned = tuple(shape[axis] for axis in axes)
    strides_out = [item] * len(shape)
    for axis in range(len(shape) - 2, -1, -1):
        strides_out[axis] = strides_out[axis + 1] * turned[axis + 1]
    problem = canonical(item, turned, tuple(strides[axis] for axis in axes), tuple(strides_out))
    return plan_problem(problem, line_offset, streaming)


@pytest.mark.parametrize(
    ("kernel", "shape", "axes", "item", "options"),
    [
        ("streaming_tiles", (8192, 8192), (1, 0), 4, {}),
        ("streaming_tiles", (8192, 8192), (1, 0), 4, {"line_offset": 16}),
        ("streaming_tiles", (8192, 8191), (1, 0), 4, {}),
        ("staged_tiles", (8192, 8192), (1, 0), 4, {"line_offset": 1}),
        ("staged_tiles", (8191, 8192), (1, 0), 4, {}),
        ("staged_tiles", (8191, 8193), (1, 0), 1, {}),
        ("cached_tiles", (8192, 8192), (1, 0), 4, {"streaming": SMALL}),
        ("blocked_tiles", (8192, 8192), (1, 0), 1, {}),
        ("blocked_tiles", (64, 1024, 1024), (0, 2, 1), 2, {}),
        ("streaming_tiles", (64, 1024, 1000), (0, 2, 1), 2, {}),
        ("streaming_tiles", (256, 256, 256), (2, 1, 0), 8, {}),
        ("packed_tiles", (3, 100, 1000), (0, 2, 1), 4, {}),
        ("deinterleave", (16777216, 3), (1, 0), 1, {}),
        ("deinterleave", (64, 512, 512, 3), (0, 3, 1, 2), 2, {}),
        ("deinterleave", (1000, 24), (1, 0), 2, {"streaming": SMALL}),
        ("streaming_tiles", (16777216, 3), (1, 0), 4, {"in_pitch": 4}),
        ("streaming_tiles", (16777216, 32), (1, 0), 4, {}),
        ("interleave", (3, 16777216), (1, 0), 1, {}),
        ("interleave", (64, 3, 512, 512), (0, 2, 3, 1), 4, {}),
        ("cached_tiles", (99999, 2, 2), (0, 2, 1), 4, {}),
        ("line_runs", (16, 2048, 16, 128), (0, 2, 1, 3), 1, {}),
        ("gathered_runs", (16, 2048, 16, 128), (0, 2, 1, 3), 1, {"line_offset": 16}),
        ("gathered_runs", (16, 2048, 16, 24), (0, 2, 1, 3), 2, {}),
        ("cached_runs", (16, 2048, 16, 128), (0, 2, 1, 3), 1, {"streaming": SMALL}),
        ("cached_tiles", (16, 101, 10, 33), (1, 3, 0, 2), 16, {}),
        ("long_runs", (16, 2048, 16, 4096), (0, 2, 1, 3), 1, {}),
        ("long_runs", (100, 100), (0, 1), 2, {}),
        ("long_runs", (100, 5000), (0, 1), 2, {"in_pitch": 2}),
        ("long_runs", (), (), 2, {}),
        ("gathered_runs", (1000, 1000), (1, 0), 3, {}),
        ("cached_tiles", (3,) * 15, tuple(range(15))[::-1], 4, {}),
    ],
)
def test_kernel_for_a_layout(kernel, shape, axes, item, options) -> None:
    assert plan(shape, axes, item, **options).kernel == kernel


def test_a_strided_output_is_filled_element_by_element() -> None:
    problem = canonical(4, (50, 60), (4, 200), (480, 8))
    assert plan_problem(problem).kernel == "single_elements"


def test_the_same_layout_has_one_plan() -> None:
    a = plan_move(StridedView(0, 4, (80, 90), (4, 320)), StridedView(64, 4, (80, 90), (360, 4)))
    b = plan_move(StridedView(512, 4, (80, 90), (4, 320)), StridedView(4096, 4, (80, 90), (360, 4)))
    assert a is b


def test_streaming_begins_at_some_megabytes() -> None:
    assert streaming_bytes() >= 1 << 22


def test_explained_plan_says_what_why_and_how() -> None:
    text = str(explain_plan(np.zeros((8, 2048, 32, 128), np.float16), (0, 2, 1, 3)))
    assert "8 x 32 x 2048 x 16 elements of 16 bytes" in text
    assert "runs of 256 bytes stay together" in text
    assert "line_runs" in text
    assert "deinterleave" in str(explain_plan(np.zeros((1000, 3), np.uint8)))
