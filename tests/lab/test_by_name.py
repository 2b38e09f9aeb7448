"""The laboratory by name finds what the command prints, and refuses what it cannot do in words."""

import numpy as np
import pytest

from cornerturn.errors import UsageError
from cornerturn.lab import bench, check, explain, find, layout, lessons, trace
from cornerturn.lab.by_name import select

SOURCE = """// cornerturn: block=32,8 grid=ceil(cols/32),ceil(rows/8)
__global__ void turn(const float* x, float* y, int rows, int cols) {
    int c = 32 * blockIdx.x + threadIdx.x, r = 8 * blockIdx.y + threadIdx.y;
    if (r < rows && c < cols) y[c * rows + r] = x[r * cols + c];
}
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "turn.cu"
    path.write_text(SOURCE)
    return path


def test_bench_runs_kernels_at_sizes_in_the_catalogues_order():
    found = bench("tiled_32", "naive", size=[(64, 48), (10, 20), (64, 48)], device="emulator")
    assert [(row.kernel, row.rows, row.cols) for row in found] == [
        ("naive", 64, 48),
        ("tiled_32", 64, 48),
        ("naive", 10, 20),
        ("tiled_32", 10, 20),
    ]
    assert found.passed
    assert found.to_json()["device"]["kind"] == "emulator"


def test_bench_takes_a_matrix_of_ones_own():
    x = np.random.default_rng(1).random((30, 20))
    found = bench("ragged_8", "naive", x=x, device="emulator")
    assert [(row.kernel, row.status) for row in found] == [("naive", "refused"), ("ragged_8", "valid")]


def test_explain_and_trace_look_at_the_block_asked_for():
    found = explain("naive", size=(64, 96), block=(2, 1), warp=3)
    assert (found.rows, found.cols, found.at, found.warp) == (64, 96, (2, 1), 3)
    followed = trace("naive", size=(64, 96), block=(2, 1), thread=(3, 2))
    assert followed.steps[0].places == ((34, 67),)


def test_a_kernel_of_ones_own_goes_wherever_a_name_does(file):
    found = check(file)
    assert found.passed
    assert explain(found.kernel, size=(32, 32)).kernel is found.kernel
    assert trace(found.kernel, size=(32, 32)).steps


@pytest.mark.parametrize("launch", [{"block": (16, 16)}, {"block": "16,16"}, {"block": [16, 16], "element_bytes": 4}])
def test_a_launch_is_given_in_numbers_or_in_text(file, launch):
    given = {"grid": "ceil(cols/16),ceil(rows/16)", **launch}
    assert check(file, size=(40, 40), **given).kernel.launch(40, 40).block == (16, 16, 1)


def test_lessons_are_those_asked_for():
    found = lessons("view", "asynchronous", size=(128, 128), device="emulator")
    assert [finding.lesson.name for finding in found] == ["view", "asynchronous"]
    assert (found.rows, found.cols) == (128, 128)


def test_without_a_name_all_kernels_are_selected():
    assert len(select((), ())) > 30
    assert [entry.name for entry in select(("copy",), ("controls",))] == ["copy", "view"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: explain("nave"), "unknown kernel 'nave': did you mean 'naive'?"),
        (lambda: explain("view"), "view moves nothing: there is nothing to follow"),
        (lambda: layout("view"), "view moves nothing"),
        (lambda: explain(3), "kernel must be a name of the catalogue or a Kernel: got 3"),
        (lambda: explain("naive", size=64), r"size must be rows and columns, two positive integers .* got 64"),
        (lambda: explain("naive", size=(64, 0)), r"got \(64, 0\)"),
        (lambda: bench("naive", size=[(64, 64), (1,)]), r"size must be rows and columns"),
        (lambda: explain("naive", size=[(64, 64), (32, 32)]), "one size is taken here: got 2"),
        (lambda: bench("naive", size=(8, 8), device="tpu"), "device must be auto, gpu or emulator: got 'tpu'"),
        (lambda: bench("naive", x=[[1]]), "x must be a plain NumPy array: got list"),
        (lambda: lessons("vieww"), "unknown lesson 'vieww': did you mean 'view'?"),
        (lambda: check(find("naive"), block="32,8"), "block: a Kernel knows how it is launched"),
        (lambda: check("nowhere.cu"), "nowhere.cu"),
    ],
)
def test_what_cannot_be_done_is_said_in_words(call, message):
    with pytest.raises(UsageError, match=message):
        call()
