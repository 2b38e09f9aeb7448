"""What a box costs: each count has its price, and what bounds it is named."""

from dataclasses import fields, replace
from typing import Any

import pytest

from cornerturn.kernels.production.box import Box
from cornerturn.kernels.production.h200 import H200
from cornerturn.kernels.production.profile import Rates
from cornerturn.op.gpu.cost import Cost, copy_seconds, cost_of
from cornerturn.op.gpu.counts import Counts, counts_of

NBYTES = 4096 * 4096 * 4
COUNTS = counts_of(Box(4, ((4096, 16384, 4), (4096, 4, 16384)), (32, 32), skew=4))
RATES = Rates(**({field.name: 1.0 for field in fields(Rates)} | {"multiprocessors": 100, "clock": 1e9, "copy": 1e12}))
"""Rates of which every one counts."""


def cost(counts: Counts = COUNTS, along_x: bool = False, numbered: int = 2, direct: bool = False, **rates: Any) -> Cost:
    return cost_of(counts, NBYTES, along_x, numbered, direct, replace(RATES, **rates))


def test_a_copy_takes_its_launch_its_fill_and_its_bytes() -> None:
    rates = replace(RATES, launch=1e-6, fill=2e-6, copy=4e12)
    assert copy_seconds(0, rates) == 3e-6
    assert copy_seconds(2 << 30, rates) == pytest.approx(3e-6 + (4 << 30) / 4e12)


@pytest.mark.parametrize(
    ("part", "more"),
    [
        ("memory", {"x_sectors": 1.5}),
        ("memory", {"y_sectors": 1.5}),
        ("memory", {"covered": 1.5}),
        ("memory", {"x_run": 32}),
        ("memory", {"y_run": 32}),
        ("memory", {"warps": 1, "resident": 1}),
        ("memory", {"stored_sectors": 2.0}),
        ("memory", {"gaps": 2.0}),
        ("memory", {"units": 20}),
        ("issue", {"warps": 32}),
        ("issue", {"setup": 4}),
        ("issue", {"permutes": 100.0}),
        ("issue", {"accesses": 10 * COUNTS.accesses}),
        ("issue", {"read_windows": 100.0}),
        ("issue", {"blocks": 10 * COUNTS.blocks}),
        ("wavefronts", {"wavefronts": 10 * COUNTS.wavefronts}),
        ("waiting", {"read_waits": 10}),
        ("waiting", {"gather_waits": 10}),
        ("waiting", {"resident": 1}),
    ],
    ids=str,
)
def test_more_of_a_count_takes_longer(part: str, more: dict[str, Any]) -> None:
    less, now = cost(), cost(replace(COUNTS, **more))
    assert getattr(now, part) > getattr(less, part)
    assert now.seconds > less.seconds


@pytest.mark.parametrize(
    ("part", "given"),
    [("memory", {"along_x": True}), ("issue", {"numbered": 5}), ("wavefronts", {"direct": True})],
    ids=str,
)
def test_what_is_no_count_has_its_price_too(part: str, given: dict[str, Any]) -> None:
    less, more = cost(scattered_read=2.0), cost(scattered_read=2.0, **given)
    assert getattr(more, part) > getattr(less, part)


def test_units_gathered_from_x_wait_for_it_by_a_rate_of_their_own() -> None:
    assert cost(direct=True, direct_wait=1.0, read_wait=5.0) == cost(direct=True, direct_wait=1.0, read_wait=9.0)
    assert cost(direct=True, direct_wait=2.0).waiting > cost(direct=True, direct_wait=1.0).waiting


def test_fewer_multiprocessors_take_longer_for_instructions_and_not_for_memory() -> None:
    few, many = cost(multiprocessors=10), cost(multiprocessors=100)
    assert few.issue == pytest.approx(10 * many.issue)
    assert few.wavefronts == pytest.approx(10 * many.wavefronts)
    assert few.memory == many.memory


def test_bounds_overlap_by_a_norm() -> None:
    apart, together = cost(overlap=1.0), cost(overlap=64.0)
    parts = apart.memory, apart.issue, apart.wavefronts, apart.waiting
    assert apart.seconds == pytest.approx(RATES.launch + sum(parts))
    assert together.seconds == pytest.approx(RATES.launch + max(parts), rel=0.03)
    assert together.seconds < cost(overlap=2.0).seconds < apart.seconds


@pytest.mark.parametrize("part", ["memory", "issue", "wavefronts", "waiting"])
def test_the_largest_bound_is_named(part: str) -> None:
    assert replace(Cost(1.0, 1.0, 1.0, 1.0, 9.0), **{part: 2.0}).bound == part


def test_a_box_on_an_h200_is_never_faster_than_the_copy() -> None:
    own = cost_of(COUNTS, NBYTES, False, 2, False, H200.rates)
    assert own.seconds >= copy_seconds(NBYTES, H200.rates)
    assert own.bound == "memory"
