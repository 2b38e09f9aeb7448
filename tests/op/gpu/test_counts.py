"""Counts of a box in closed form: by hand for plain ones, and near the exact ones for any."""

import math
import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cornerturn.kernels.production.axes import UNIT
from cornerturn.kernels.production.box import Box
from cornerturn.op.gpu.counts import coordinates, counts_of, gathered, shared_places, wavefronts_per_request
from cornerturn.op.gpu.exact import exact_counts

from ...any_box import any_box

BOXES = st.integers(0, 2**32).map(lambda seed: any_box(random.Random(seed)))
MATRIX = Box(4, ((1024, 4096, 4), (1024, 4, 4096)), (32, 32))


def test_a_plain_box_by_hand() -> None:
    counts = counts_of(MATRIX)
    assert (counts.blocks, counts.warps) == (1024, 8)
    assert (counts.x_run, counts.y_run) == (128, 128)
    assert counts.x_sectors == counts.y_sectors == counts.covered == 1.0
    assert counts.stored_sectors == counts.gaps == 1.0
    assert counts.read_windows == counts.permutes == counts.setup == 0
    assert (counts.read_waits, counts.gather_waits, counts.units) == (1, 1, 2)
    # 8 warps read, store, gather 4 elements and write, once.
    assert counts.accesses == 8 * (1 + 1 + 4 + 1)
    assert counts.resident == 8  # of 256 threads each
    # 8 requests each: reads of 4 wavefronts, stores of 4, 4 loads of 8 per unit, writes of 4.
    assert counts.wavefronts == 8 * (4 + 4 + 4 * 8 + 4)


@pytest.mark.parametrize(
    ("changed", "field", "expected"),
    [
        ({"axes": ((1000, 4000, 4), (1000, 4, 4000))}, "covered", (1024 / 1000) ** 2),
        ({"axes": ((1024, 4100, 4), (1024, 4, 4096))}, "x_sectors", (128 + 28) / 128),
        ({"axes": ((1024, 4096, 4), (1024, 4, 4100))}, "y_sectors", (128 + 28) / 128),
        ({"axes": ((1024, 4096, 4), (1024, 4, 4112))}, "y_sectors", (128 + 16) / 128),
        ({"chunks": (32, 8)}, "x_run", 32),
        ({"direct": True}, "read_waits", 1),
        ({"most_threads": 64}, "gather_waits", 4),
        ({"most_threads": 64}, "resident", 32),
        ({"most_threads": 64}, "units", 8),
        ({"axes": ((1024, 8192, 4), (1024, 8, 4096))}, "gaps", 2),
        ({"chunks": (3, 32)}, "stored_sectors", (12 + 28) / 12),
        ({"x": 4, "mirrored": True}, "read_windows", 9),  # 32 runs of 9 units of 16 bytes
    ],
    ids=str,
)
def test_each_count_by_hand(changed: dict[str, object], field: str, expected: float) -> None:
    assert getattr(counts_of(replace(MATRIX, **changed)), field) == expected  # type: ignore[arg-type]


def test_byte_permutes_are_those_of_words_of_y() -> None:
    packed = Box(1, ((1024, 1024, 1), (1024, 1, 1024)), (64, 64))
    assert packed.pack == 4
    assert counts_of(packed).permutes == 64 * 64 / 4 / 32 * 2
    halves = Box(2, ((1024, 2048, 2), (1024, 2, 2048)), (32, 32))
    assert halves.pack == 2
    assert counts_of(halves).permutes == 32 * 32 * 2 / 4 / 32


def test_shared_memory_limits_the_blocks_that_are_resident() -> None:
    large = replace(MATRIX, chunks=(64, 128), most_threads=128)
    assert large.shared_bytes == 32 << 10
    assert counts_of(large).resident == (227 << 10) // ((32 << 10) + 1024) == 6


def test_wavefronts_that_are_given_are_taken() -> None:
    own, given_ = counts_of(MATRIX), counts_of(MATRIX, (4.0, 1.0))
    assert own.wavefronts - given_.wavefronts == 8 * 4 * 7
    assert replace(own, wavefronts=0) == replace(given_, wavefronts=0)


@given(BOXES)
@settings(max_examples=100)
def test_shared_wavefronts_are_those_of_the_launch_where_every_thread_is_alike(box: Box) -> None:
    """Of boxes that a block of few threads moves in one step: nothing is sampled."""
    whole = box.write.threads <= 128 and box.write.steps == 1 and not box.write.windows
    if not whole or box.direct or box.reads_runs or box.writes_runs or any(box.edges):
        return
    _, loads = wavefronts_per_request(box)
    exact = exact_counts(box).shared_load
    assert math.isclose(loads, exact.found / exact.requests, rel_tol=1e-9)


ROUNDING = 1e-9


@given(BOXES)
@settings(max_examples=100)
def test_counts_are_within_reason_for_any_box(box: Box) -> None:
    counts = counts_of(box)
    nbytes = box.volume * box.element
    assert counts.blocks == box.blocks
    assert counts.warps * 32 == box.threads
    assert 1 <= counts.resident <= 32
    assert counts.covered >= 1
    assert counts.x_sectors >= 1
    assert (counts.x_sectors - 1) * counts.x_run <= 31 + ROUNDING
    assert counts.y_sectors >= 1
    assert (counts.y_sectors - 1) * counts.y_run <= 31 + ROUNDING
    assert counts.wavefronts >= nbytes / 128
    assert min(counts.read_waits, counts.gather_waits) >= 1
    assert counts.stored_sectors >= 1
    assert counts.read_windows >= box.reads_runs * nbytes / UNIT / 32


@given(BOXES)
@settings(max_examples=100)
def test_threads_gather_every_element_of_a_step_from_a_place_of_its_own(box: Box) -> None:
    first = gathered(box, box.write.threads)
    assert first.shape == (box.write.threads, box.write.unit, len(box.boxed))
    assert (first >= 0).all()
    within = [b for b in range(len(box.boxed)) if b not in box.write.beyond]
    assert (first < np.array(box.extents))[..., within].all()
    assert np.array_equal(gathered(box, 5), first[:5])
    if not box.write.windows:
        places = shared_places(box, first)
        assert len(np.unique(places)) == places.size


def test_coordinates_are_digits() -> None:
    assert coordinates([(1, 2, 3), (0, 3, 1)], 2, 100).tolist() == [[0, 0], [0, 3], [1, 0], [1, 3], [2, 0], [2, 3]]
    assert coordinates([], 3, 100).tolist() == [[0, 0, 0]]
