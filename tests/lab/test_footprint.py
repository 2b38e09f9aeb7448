"""Footprints against the counting rules, request by request, and against whole blocks of real kernels."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cornerturn.emulator import Access, counting
from cornerturn.kernels.catalogue import find
from cornerturn.lab.footprint import Footprint, footprints
from cornerturn.lab.observation import run_block


def footprint(space, kind, width, lanes, offsets):
    memory = "x" if space == "global" else "shared"
    access = Access(0, "k:1", "", space, kind, width, requests=1, lanes=len(lanes))
    return Footprint(1, access, memory, tuple(lanes), tuple(offsets))


@st.composite
def requests(draw):
    space, kind = draw(st.sampled_from(["global", "shared"])), draw(st.sampled_from(["load", "store"]))
    width = draw(st.sampled_from([1, 2, 4, 8, 16]))
    lanes = sorted(draw(st.sets(st.integers(0, 31), min_size=1)))
    unit = st.integers(0, draw(st.sampled_from([7, 63, 500])))
    offsets = [width * draw(unit) for _ in lanes]
    if draw(st.booleans()):  # pairs of lanes at one address: the merge rule
        offsets = [offsets[n // 2] for n in range(len(offsets))]
    return footprint(space, kind, width, lanes, offsets)


def dense(request):
    addresses, active = np.zeros((1, 32), np.uint64), np.zeros((1, 32), bool)
    addresses[0, list(request.lanes)], active[0, list(request.lanes)] = request.offsets, True
    return addresses, active


@given(requests())
def test_a_footprint_costs_what_the_counting_rules_say(request):
    addresses, active = dense(request)
    if request.memory == "shared":
        load = request.access.kind == "load"
        assert request.passes == counting.wavefronts(addresses, active, request.access.width, load)[0]
        assert request.ideal == counting.ideal(active, request.access.width, 128)[0]
    else:
        assert request.passes == counting.sectors(addresses, active)[0]
        assert len(request.touched) == counting.lines(addresses, active)[0]
        assert request.ideal == counting.ideal(active, request.access.width, 32)[0]


@given(requests())
def test_every_word_of_every_lane_is_in_the_picture(request):
    words = {
        (offset + byte) // 4
        for offset in request.offsets
        for byte in range(0, request.access.width, min(4, request.access.width))
    }
    if request.memory == "shared":
        cells = [cell for front in request.wavefronts for cell in front.cells if cell is not None]
        assert len(cells) >= len(words)  # lanes of different groups may ask for one word, each group in its turn
        assert set(cells) <= set(request.lanes)
        assert {(word % 32) for word in words} == {
            bank for front in request.wavefronts for bank, cell in enumerate(front.cells) if cell is not None
        }
    else:
        drawn = {
            line.offset // 4 + n for line in request.touched for n, cell in enumerate(line.cells) if cell is not None
        }
        assert drawn == words


@given(requests(), st.integers(0, 40))
def test_a_shift_that_keeps_the_pattern_keeps_the_cost(request, shift):
    step = 128 if request.memory == "x" else max(4, request.access.width)
    shifted = footprint(
        request.access.space,
        request.access.kind,
        request.access.width,
        request.lanes,
        [offset + shift * step for offset in request.offsets],
    )
    assert shifted.pattern == request.pattern
    assert shifted.passes == request.passes


@pytest.mark.parametrize(
    "name",
    ["naive", "tiled_8", "shared_no_padding", "tiled_async", "f32x4_shared_row2col2d", "f32x4_shared_bcf_col2row2d"],
)
@pytest.mark.parametrize("shape", [(256, 256), (100, 60)])
def test_the_requests_of_all_warps_add_up_to_the_block(name, shape):
    run = run_block(find(name), *shape, at=(0, 0))
    threads = run.block[0] * run.block[1]
    found = {}
    for warp in range(-(-threads // 32)):
        for alike in footprints(run, warp):
            key = (alike.first.line, alike.first.access.space, alike.first.access.kind)
            passes, count = found.get(key, (0, 0))
            found[key] = (passes + alike.first.passes * len(alike.offsets), count + len(alike.offsets))
    expected = {}
    for access in run.accesses.values():
        key = (run.text.line_of(access), access.space, access.kind)
        passes, count = expected.get(key, (0, 0))
        expected[key] = (passes + access.sectors + access.wavefronts, count + access.requests)
    assert found == expected


def test_alike_requests_are_put_together_with_where_each_begins():
    run = run_block(find("shared_padding"), 64, 64, at=(1, 0))
    load, stage, take, write = footprints(run, warp=2)
    assert [each.first.memory for each in (load, stage, take, write)] == ["x", "shared", "shared", "y"]
    assert load.offsets == tuple(4 * (64 * (2 + 8 * k) + 32) for k in range(4))
    assert stage.offsets == tuple(4 * 33 * (2 + 8 * k) for k in range(4))
    assert take.offsets == tuple(4 * (2 + 8 * k) for k in range(4))
    assert write.offsets == tuple(4 * 64 * (32 + 2 + 8 * k) for k in range(4))


def test_a_warp_outside_of_the_matrix_touches_nothing():
    assert footprints(run_block(find("naive"), 3, 5, at=(0, 0)), warp=3) == ()
