"""Exact counts of a launch are those of the emulator."""

import math
import random
from dataclasses import asdict

import pytest

from cornerturn.kernels.kernel import ELEMENT_SIZES
from cornerturn.kernels.production.box import Box
from cornerturn.kernels.production.h200 import H200
from cornerturn.op.gpu import exact
from cornerturn.op.gpu.candidates import by_permute
from cornerturn.op.gpu.exact import exact_counts
from cornerturn.op.gpu.move import Move
from cornerturn.op.gpu.traffic import NOTHING, Traffic
from cornerturn.op.problem import canonical

from ...any_box import any_box, move_box
from ...emulated_move import moved_axes
from .emulated_traffic import emulated


def planned(seed: int) -> list[Box]:
    """The boxes that the planner finds for a random permutation of a dense array."""
    rng = random.Random(seed)
    element, rank = rng.choice(ELEMENT_SIZES), rng.randint(2, 5)
    shape = [rng.choice([2, 3, 4, 7, 8, 14, 16, 24, 33, 49, 64, 100, 128, 197]) for _ in range(rank)]
    while math.prod(shape) * element > 40_000:
        shape[rng.randrange(rank)] = rng.choice((2, 3, 4, 5, 8))
    axes = moved_axes(tuple(shape), tuple(rng.sample(range(rank), rank)), element)
    problem = canonical(element, *zip(*axes, strict=True))
    x, y = (rng.choice((0, problem.itemsize * rng.randrange(32 // problem.itemsize))) for _ in range(2))
    return [candidate.box for candidate in by_permute(Move.of(problem, x, y), H200) if candidate.box]


def merged(box: Box) -> bool:
    """Whether the compiler made one access to shared memory of neighbours; all else counts as on the emulator."""
    counts, counted = asdict(exact_counts(box)), emulated(move_box(box))
    assert counts["global_load"] == counted["global_load"]
    assert counts["global_store"] == counted["global_store"]
    for place in ("shared_load", "shared_store"):
        assert counted[place].requests <= counts[place].requests
    return counts != counted


def test_boxes_of_the_planner_count_as_on_the_emulator() -> None:
    boxes = [box for seed in range(60) for box in planned(seed)[:2]]
    assert sum(map(merged, boxes)) <= 2


def test_any_box_counts_as_on_the_emulator() -> None:
    assert sum(merged(any_box(random.Random(seed))) for seed in range(60)) <= 15


# A box over a matrix (or a batch), and its requests and sectors or wavefronts, by hand.
BY_HAND: dict[str, tuple[Box, dict[str, Traffic]]] = {
    "16 x 16 words": (
        Box(4, ((64, 256, 4), (64, 4, 256)), (16, 16)),
        {
            "global_load": Traffic(32, 512, 512),  # 64 units a block, 2 requests of whole sectors in each of 16 blocks
            "global_store": Traffic(32, 512, 512),
            "shared_store": Traffic(32, 128, 128),
        },
    ),
    "rows stay whole": (
        Box(16, ((4, 16, 16), (8, 512, 64), (8, 64, 512)), (4, 8, 1)),
        {"global_load": Traffic(8, 128, 128), "global_store": Traffic(8, 128, 128)},
    ),
    "gathered from x": (
        Box(4, ((32, 128, 4), (32, 4, 128)), (32, 32), direct=True),
        {"shared_load": NOTHING, "shared_store": NOTHING, "global_store": Traffic(8, 128, 128)},
    ),
}


@pytest.mark.parametrize("name", BY_HAND)
def test_counts_by_hand(name: str) -> None:
    box, expected = BY_HAND[name]
    counts = asdict(exact_counts(box))
    assert {place: counts[place] for place in expected} == expected


@pytest.mark.parametrize("element", [1, 4])
def test_a_large_array_counts_in_proportion(element: int) -> None:
    """Blocks are counted by classes, so that their number costs nothing."""

    def counts(batch: int) -> dict[str, Traffic]:
        axes = moved_axes((batch, 96, 160), (0, 2, 1), element)
        return asdict(exact_counts(Box(element, tuple(reversed(axes)), (32, 32, 1))))

    small, large = counts(1), counts(2**30)
    assert large == {place: Traffic(*(2**30 * each for each in traffic)) for place, traffic in small.items()}


@pytest.mark.parametrize("stride", [0, 1, 6, 32, 1001, -1, -40])
@pytest.mark.parametrize("side", [exact._Side(x=32, bounded=True), exact._Side(4, 4, begins=True), exact._Side(y=32)])
def test_boxes_along_an_axis_are_counted_as_one_by_one(stride: int, side: exact._Side, monkeypatch) -> None:
    box = Box(1, ((5000, stride, 7),), (3,))
    found = exact._along(box, 0, side)
    monkeypatch.setattr(exact, "SINGLES", 10_000)
    assert found == exact._along(box, 0, side)
    assert found.total() == box.blocks == 1667


def test_every_block_has_its_class_even_of_a_huge_odd_matrix() -> None:
    box = Box(1, ((8191, 8193, 1), (8193, 1, 8191)), (64, 48))
    assert box.reads_runs and box.writes_runs
    for side in (exact._Side(x=32, bounded=True), exact._Side(4, 4, begins=True), exact._Side(y=32, begins=True)):
        assert exact._blocks(box, side).total() == box.blocks == 128 * 171
