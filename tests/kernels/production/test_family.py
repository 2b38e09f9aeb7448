"""The production kernels as entries of the catalogue: what they accept, count and move, and that the planner agrees."""

import pytest

from cornerturn.kernels.catalogue import find
from cornerturn.kernels.kernel import ELEMENT_SIZES, Kernel, Launch
from cornerturn.kernels.production.axes import MAX_EXTENT
from cornerturn.kernels.production.family import PRODUCTION
from cornerturn.kernels.production.h200 import H200
from cornerturn.lab.counts import count
from cornerturn.lab.matrices import distinct
from cornerturn.lab.run import run_emulated
from cornerturn.op.gpu.candidates import by_tile
from cornerturn.op.gpu.move import Move
from cornerturn.op.problem import canonical

SHAPES = [(1, 1), (33, 65), (100, 60), (520, 1), (1, 520), (160, 176), (2, 48), (16, 2064), (1040, 3), (128, 192)]


def kernel(name: str) -> Kernel:
    entry = find(name)
    assert isinstance(entry, Kernel)
    return entry


def per_request(name: str, shape: tuple[int, int]) -> dict[str, tuple[float, float]]:
    """Found and ideal of a request, by place."""
    each = kernel(name)
    run = run_emulated(each, distinct(*shape, each.element_bytes))
    assert run.valid and run.emulation is not None
    places = count(run.emulation.accesses).by_place()
    return {
        place.place: (place.found / place.requests, place.ideal / place.requests) for place in places if place.requests
    }


@pytest.mark.parametrize(("element", "stored"), [(1, 1), (2, 1), (4, 2), (8, 4), (16, 4)])
def test_an_aligned_tile_wastes_no_sector_and_no_wavefront(element: int, stored: int) -> None:
    assert per_request(f"tile_{element}", (256, 256)) == {
        "global load": (16, 16),
        "global store": (16, 16),
        "shared load": (4, 4),
        "shared store": (stored, stored),
    }


@pytest.mark.parametrize("element", ELEMENT_SIZES)
def test_ragged_stores_are_whole_sectors_but_for_the_ends_of_rows(element: int) -> None:
    rows, cols = 481, 255
    run = run_emulated(kernel(f"ragged_{element}"), distinct(rows, cols, element))
    assert run.valid and run.emulation is not None
    stores = [each for each in run.emulation.accesses if (each.space, each.kind, each.width) == ("global", "store", 16)]
    assert 32 * sum(each.sectors for each in stores) <= 1.06 * 16 * sum(each.lanes for each in stores)


@pytest.mark.parametrize("element", ELEMENT_SIZES)
def test_permute_wastes_no_sector(element: int) -> None:
    counted = per_request(f"permute_{element}", (256, 256))
    assert counted["global load"] == counted["global store"] == (16, 16)


@pytest.mark.parametrize("each", PRODUCTION, ids=lambda each: each.name)
def test_every_accepted_shape_is_right_to_the_last_bit(each: Kernel) -> None:
    accepted = [shape for shape in SHAPES if each.refuses(*shape) is None]
    assert accepted
    for shape in accepted:
        assert run_emulated(each, distinct(*shape, each.element_bytes)).faults == ()


@pytest.mark.parametrize(
    ("name", "rows", "cols", "rule"),
    [
        ("tile_1", 32, 24, "cols must be a multiple of 16: got 24"),
        ("tile_1", 48, 16, "rows must be a multiple of 32: got 48"),
        ("tile_4", 1024, 1022, "cols must be a multiple of 4: got 1022"),
        ("tile_4", 1020, 1024, "rows must be a multiple of 8: got 1020"),
        ("tile_16", 3, 3, "rows must be a multiple of 2: got 3"),
        ("tile_16", 2, 3, None),
        ("ragged_1", 1, 1, None),
        ("ragged_8", 1, MAX_EXTENT, None),
        ("ragged_8", 1, MAX_EXTENT + 1, f"rows and cols must be at most {MAX_EXTENT}"),
        ("permute_1", 128, 128, None),
        ("permute_1", 64, 128, "rows and cols must be multiples of 64 above it"),
        ("permute_4", 256, 40, "rows and cols must be multiples of 16 above it"),
    ],
)
def test_a_refusal_names_the_rule(name: str, rows: int, cols: int, rule: str | None) -> None:
    broken = kernel(name).refuses(rows, cols)
    assert broken == rule or (broken is not None and rule is not None and broken.startswith(rule))


def as_bytes(launch: Launch) -> tuple[object, ...]:
    arguments = [item if isinstance(item, str) else item.tobytes() for item in launch.arguments]
    return launch.grid, launch.block, launch.shared_bytes, arguments


@pytest.mark.parametrize(
    ("kind", "elements", "rows", "cols"),
    [
        ("tile", ELEMENT_SIZES, 8192, 8192),
        ("ragged", ELEMENT_SIZES, 8191, 8193),
    ],
)
def test_transpose_launches_the_same(kind: str, elements: tuple[int, ...], rows: int, cols: int) -> None:
    """The candidates for large problems on an H200, without tuning."""
    for element in elements:
        each = kernel(f"{kind}_{element}")
        strides = (element, cols * element), (rows * element, element)
        move = Move.of(canonical(element, (cols, rows), *strides), 0, 0)
        [candidate] = by_tile(move, H200)
        planned = candidate.make()
        assert planned.entry == each.entry
        assert as_bytes(planned.launch) == as_bytes(each.launch(rows, cols))
