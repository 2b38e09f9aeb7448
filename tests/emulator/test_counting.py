"""The counting rules against a slow reference, written lane by lane from the rules' text, and by hand."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cornerturn.emulator import counting

WIDTHS = (1, 2, 4, 8, 16)
LANES = range(32)

Warp = dict[int, int]
"""Address of every active lane."""


def plain_distinct(warp: Warp, unit: int) -> int:
    return len({address // unit for address in warp.values()})


def plain_ideal(warp: Warp, width: int, unit: int) -> int:
    used, rest = divmod(len(warp) * width, unit)
    return used + (rest > 0)


def plain_wavefronts(warp: Warp, width: int, load: bool) -> int:
    groups = {1: 1, 2: 1, 4: 1, 8: 2, 16: 4}[width]
    size = 32 // groups
    if groups == 1 or not load:
        return sum(plain_conflict(warp, range(at, at + size), width) for at in range(0, 32, size))
    total = 0
    for at in range(0, 32, 2 * size):
        pair = {lane: warp[lane] for lane in range(at, at + 2 * size) if lane in warp}
        together = plain_conflict(pair, LANES, width)
        if together > 1 or not (agrees(pair, 1) or agrees(pair, 2)):
            together = sum(plain_conflict(pair, range(half, half + size), width) for half in (at, at + size))
        total += together
    return total


def agrees(warp: Warp, distance: int) -> bool:
    return all(warp.get(lane ^ distance, address) == address for lane, address in warp.items())


def plain_conflict(warp: Warp, lanes: range, width: int) -> int:
    words = {(warp[lane] + byte) // 4 for lane in lanes if lane in warp for byte in range(width)}
    return max(Counter(word % 32 for word in words).values(), default=0)


def dense(warps: list[Warp]) -> tuple[np.ndarray, np.ndarray]:
    """Addresses and activity as warps x 32, with rubbish in the inactive lanes."""
    addresses = np.array([[warp.get(lane, 7 * lane + 3) for lane in LANES] for warp in warps], dtype=np.uint64)
    active = np.array([[lane in warp for lane in LANES] for warp in warps])
    return addresses, active


@st.composite
def warps_of(draw: st.DrawFn, width: int) -> list[Warp]:
    """Warps with scattered, strided, swizzled and paired-up addresses, whole and in part."""
    number = st.integers(0, 255)
    strided = st.builds(lambda base, step: [(base + lane * step) * width for lane in LANES], number, st.integers(0, 40))
    tile = st.builds(
        lambda pitch, key: [(lane % 8 * pitch + (lane // 8 ^ lane % 8 * key)) * width for lane in LANES],
        st.integers(1, 40),
        st.integers(0, 3),
    )
    scattered = st.lists(number.map(lambda n: n * width), min_size=32, max_size=32)
    shape = st.one_of(strided, tile, scattered)
    paired = st.builds(lambda a, mask: [a[lane & ~mask] for lane in LANES], shape, st.sampled_from([0, 1, 2, 3, 4, 7]))
    mask = st.one_of(
        st.just(2**32 - 1),
        st.integers(0, 2**32 - 1),
        st.sampled_from([0, 1, 0xFFFF, 0x5555_5555, 0x3333_3333, 0x0F0F_0F0F]),
    )
    pairs = draw(st.lists(st.tuples(paired, mask), min_size=1, max_size=6))
    return [{lane: addresses[lane] for lane in LANES if bits >> lane & 1} for addresses, bits in pairs]


@pytest.mark.parametrize("width", WIDTHS)
@settings(max_examples=60)
@given(data=st.data())
def test_global_memory_counts_sectors_and_lines(width: int, data: st.DataObject):
    warps = data.draw(warps_of(width))
    addresses, active = dense(warps)
    assert counting.sectors(addresses, active).tolist() == [plain_distinct(warp, 32) for warp in warps]
    assert counting.lines(addresses, active).tolist() == [plain_distinct(warp, 128) for warp in warps]
    for unit in (32, 128):
        assert counting.ideal(active, width, unit).tolist() == [plain_ideal(warp, width, unit) for warp in warps]


@pytest.mark.parametrize("load", [True, False], ids=["load", "store"])
@pytest.mark.parametrize("width", WIDTHS)
@settings(max_examples=80)
@given(data=st.data())
def test_shared_memory_counts_wavefronts(width: int, load: bool, data: st.DataObject):
    warps = data.draw(warps_of(width))
    addresses, active = dense(warps)
    found = counting.wavefronts(addresses, active, width, load).tolist()
    assert found == [plain_wavefronts(warp, width, load) for warp in warps]


def warp(function: object, active: range = LANES) -> tuple[np.ndarray, np.ndarray]:
    return dense([{lane: function(lane) for lane in active}])  # type: ignore[operator]


@pytest.mark.parametrize(
    ("what", "addresses", "sectors", "lines"),
    [
        ("contiguous 4-byte", lambda lane: 4 * lane, 4, 1),
        ("contiguous 8-byte", lambda lane: 8 * lane, 8, 2),
        ("contiguous 16-byte", lambda lane: 16 * lane, 16, 4),
        ("contiguous bytes", lambda lane: lane, 1, 1),
        ("everyone the same", lambda lane: 400, 1, 1),
        ("one sector on", lambda lane: 32 + 4 * lane, 4, 2),
        ("half a sector on", lambda lane: 16 + 4 * lane, 5, 2),
        ("every second word", lambda lane: 8 * lane, 8, 2),
        ("down a column of 1024 floats", lambda lane: 4096 * lane, 32, 32),
        ("backwards", lambda lane: 4 * (31 - lane), 4, 1),
    ],
)
def test_sectors_by_hand(what: str, addresses: object, sectors: int, lines: int):
    assert counting.sectors(*warp(addresses)).tolist() == [sectors]
    assert counting.lines(*warp(addresses)).tolist() == [lines]


@pytest.mark.parametrize(
    ("what", "width", "addresses", "loads", "stores"),
    [
        ("a row of words", 4, lambda lane: 4 * lane, 1, 1),
        ("a broadcast", 4, lambda lane: 64, 1, 1),
        ("every second bank", 4, lambda lane: 8 * lane, 2, 2),
        ("a column, pitch 32 words", 4, lambda lane: 128 * lane, 32, 32),
        ("a column, pitch 33 words", 4, lambda lane: 132 * lane, 1, 1),
        ("a column, pitch 34 words", 4, lambda lane: 136 * lane, 2, 2),
        ("bytes of 8 words", 1, lambda lane: lane, 1, 1),
        ("bytes a row apart", 1, lambda lane: 128 * lane, 32, 32),
        ("halves of 16 words", 2, lambda lane: 2 * lane, 1, 1),
        ("a row of pairs", 8, lambda lane: 8 * lane, 2, 2),
        ("a row of fours", 16, lambda lane: 16 * lane, 4, 4),
        ("a column of fours, pitch 32 words", 16, lambda lane: 128 * lane, 32, 32),
        ("one pair for all", 8, lambda lane: 0, 1, 2),
        ("one four for all", 16, lambda lane: 0, 2, 4),
        ("neighbours share a pair", 8, lambda lane: 8 * (lane // 2), 1, 2),
        ("neighbours share a four", 16, lambda lane: 16 * (lane // 2), 2, 4),
        ("lanes two apart share a pair", 8, lambda lane: 8 * (lane & ~2), 2, 2),
        ("lanes four apart share a pair", 8, lambda lane: 8 * (lane & ~4), 2, 2),
        ("neighbours share a pair, with conflicts", 8, lambda lane: 32 * (lane // 2), 4, 4),
        ("one half in pairs", 16, lambda lane: 16 * (lane // 2 if lane < 16 else lane), 3, 4),
    ],
)
def test_wavefronts_by_hand(what: str, width: int, addresses: object, loads: int, stores: int):
    assert counting.wavefronts(*warp(addresses), width, load=True).tolist() == [loads]
    assert counting.wavefronts(*warp(addresses), width, load=False).tolist() == [stores]


def test_a_warp_without_an_active_lane_costs_nothing():
    addresses, active = dense([{}, {3: 64}])
    assert counting.sectors(addresses, active).tolist() == [0, 1]
    assert counting.lines(addresses, active).tolist() == [0, 1]
    assert counting.ideal(active, 4, 32).tolist() == [0, 1]
    assert counting.wavefronts(addresses, active, 8, load=True).tolist() == [0, 1]
