"""Accesses count by the emulator's rules, and sums are by place."""

import numpy as np
import pytest

from cornerturn.op.gpu.traffic import NOTHING, ExactCounts, Traffic, access, total

LANES = np.arange(64)


@pytest.mark.parametrize(
    ("place", "width", "addresses", "active", "expected"),
    [
        ("global_load", 4, 4 * LANES, True, Traffic(2, 8, 8)),
        ("global_store", 4, 32 * LANES, True, Traffic(2, 64, 8)),
        ("global_load", 16, 16 * LANES + 16, LANES < 32, Traffic(1, 17, 16)),
        ("shared_load", 4, 128 * LANES, True, Traffic(2, 64, 2)),
        ("shared_store", 16, 16 * LANES, LANES >= 32, Traffic(1, 4, 4)),
        ("global_load", 4, 4 * LANES, False, NOTHING),
    ],
)
def test_an_access_counts_its_warps(place: str, width: int, addresses, active, expected: Traffic) -> None:
    assert access(64, place, width, addresses, active).traffic() == expected


def test_threads_that_take_no_part_fill_the_block() -> None:
    one = access(128, "global_load", 4, 4 * LANES)
    assert one.addresses.shape == one.active.shape == (1, 128)
    assert one.active.sum() == 64


def test_sums_are_by_place_and_number() -> None:
    load, store = access(64, "global_load", 4, 4 * LANES), access(64, "shared_store", 4, 4 * LANES)
    assert total([(load, 3), (store, 1), (load, 2)]) == ExactCounts(
        Traffic(10, 40, 40), NOTHING, NOTHING, Traffic(2, 2, 2)
    )
