"""What kernels share: where a box lies, and how it leaves scratch memory."""

import itertools

import numpy as np
import pytest
from numpy.typing import NDArray

pytest.importorskip("numba")

from cornerturn.op.cpu import job
from cornerturn.op.cpu.launch import HEADER
from cornerturn.op.cpu.vectors import LINE

CANARY = 0xA5


def numbers_of(tables: dict[int, list[int]], **values: int) -> NDArray[np.int64]:
    """A job of these numbers, given by their names, and of tables, given by where the job says that they begin."""
    header = np.zeros(HEADER, np.int64)
    for name, value in values.items():
        header[getattr(job, name)] = value
    end = HEADER
    for place, table in tables.items():
        header[place] = end
        end += len(table)
    return np.concatenate([header, *(np.array(table, np.int64) for table in tables.values())])


def test_every_number_has_a_place_of_its_own_before_those_of_the_kernels() -> None:
    names = [name for name in vars(job) if name.isupper() and name not in ("FIRST", "LAST", "LINE")]
    places = sorted(getattr(job, name) for name in names)
    assert places == list(range(job.FILL + 1))
    assert job.FILL < HEADER


def test_boxes_stand_in_a_grid_and_the_last_one_is_moved_inwards() -> None:
    grid = [(3, 4, 7, 100, 1), (2, 10, 6, -1000, 50)]  # boxes, step, last position, bytes per position
    numbers = numbers_of({job.GRID_AT: [number for axis in grid for number in axis]}, GRID=2, OWNER=1)
    found = [job.place(numbers.ctypes.data, box) for box in range(6)]
    positions = [(inner, outer) for outer, inner in itertools.product((0, 6), (0, 4, 7))]
    assert [place[:2] for place in found] == [(100 * a - 1000 * b, a + 50 * b) for a, b in positions]
    assert [place[2] for place in found] == [job.FIRST if b == 0 else job.LAST for _, b in positions]


def test_without_an_owner_every_box_is_the_first_and_the_last() -> None:
    numbers = numbers_of({job.GRID_AT: [4, 2, 6, 1, 1]}, GRID=1, OWNER=-1)
    assert {job.place(numbers.ctypes.data, box)[2] for box in range(4)} == {job.FIRST | job.LAST}


@pytest.mark.parametrize("stream", [0, 1])
@pytest.mark.parametrize("offset", [0, 20])
@pytest.mark.parametrize("edge", [0, job.FIRST, job.LAST, job.FIRST | job.LAST])
def test_a_box_writes_whole_lines_where_it_shares_them_and_all_of_its_ends(edge: int, offset: int, stream: int) -> None:
    """A line between two boxes is written by the one in which it begins: so by this one at its end only."""
    runs, run_bytes, pitch, owned, gap = 3, 400, 448, 330, 1000
    numbers = numbers_of(
        {job.RUNS_AT: [run * gap for run in range(runs)], job.SPANS_AT: [0, 64]},
        RUNS=runs, RUN_BYTES=run_bytes, RUN_PITCH=pitch, OWNED=owned, STREAM=stream, SPANS=2, SPAN_BYTES=64,
    )  # fmt: skip
    scratch = np.random.default_rng(offset).integers(0, 256, runs * pitch + LINE, np.uint8)
    buffer = np.full(runs * gap + 4 * LINE, CANARY, np.uint8)
    start = LINE + (offset - buffer.ctypes.data) % LINE
    expected = buffer.copy()
    for run in range(runs):
        begin = start + run * gap
        address = buffer.ctypes.data + begin
        first = 0 if edge & job.FIRST else -address % LINE
        end = run_bytes if edge & job.LAST else owned + -(address + owned) % LINE
        expected[begin + first : begin + end] = scratch[run * pitch + first : run * pitch + end]
    following = scratch.ctypes.data  # what is asked for meanwhile changes nothing
    job.leave(numbers.ctypes.data, scratch.ctypes.data, buffer.ctypes.data + start, edge, following)
    assert buffer.tolist() == expected.tolist()
