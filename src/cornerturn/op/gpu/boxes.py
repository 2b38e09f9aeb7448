"""Boxes worth a look for a move: runs of several lengths in x and in y, blocks of several sizes."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from cornerturn.kernels.grid import SHARED_BYTES
from cornerturn.kernels.production.axes import SECTOR, MoveAxis
from cornerturn.kernels.production.box import WORD, Box
from cornerturn.op.gpu.counts import wavefronts_per_request

RUN_BYTES = (32, 64, 128, 256, 512, 1024, 4096)
"""Lengths of runs that are tried: from a sector to what no longer matters."""
BOX_BYTES = (1024, 2048, 4096, 8192, 16384, 32768)
"""Sizes to which a box grows whose runs alone make a smaller one."""
LARGEST, SMALLEST = 48 << 10, 1 << 10
"""Bytes of a box: what every device gives a block unasked; less does not pay for the block."""
SHORT_AXIS = 32
"""An axis of up to so many elements is taken whole rather than cut in two unequal parts."""
WIDEST_SEARCH = 2
"""A chunk is cut between a half and twice of what is wanted."""

Chunks = tuple[int, ...]


def chunks_of(element: int, axes: Sequence[MoveAxis]) -> tuple[Chunks, ...]:
    """Return the chunks of boxes worth a look, for axes in y's order, the fastest first."""
    y_order = tuple(range(len(axes)))
    x_order = tuple(sorted(y_order, key=lambda a: (abs(axes[a][1]), a)))
    found: dict[Chunks, None] = {}
    along_x = [cut for target in RUN_BYTES for cut in _cuts(element, axes, x_order, target)]
    along_y = [cut for target in RUN_BYTES for cut in _cuts(element, axes, y_order, target)]
    for x_cut in dict.fromkeys(along_x):
        for y_cut in dict.fromkeys(along_y):
            chunks = tuple(map(max, x_cut, y_cut))
            size = math.prod(chunks) * element
            if size > LARGEST:
                continue
            if size >= SMALLEST:
                found[chunks] = None
            for least in BOX_BYTES:
                if 2 * size <= least:
                    for order in (x_order, y_order):
                        found[_grown(element, axes, chunks, order, least)] = None
    whole = tuple(extent for extent, _, _ in axes)
    return tuple(found) or (whole,)


def _cuts(element: int, axes: Sequence[MoveAxis], order: Sequence[int], target: int) -> Iterator[Chunks]:
    """Yield the chunks with which the first axes of an order make runs of about ``target`` bytes."""
    have, chunks = element, [1] * len(axes)
    for a in order:
        wanted = -(-target // have)
        if wanted <= 1:
            break
        for chunk in _parts(axes[a][0], wanted, SECTOR // math.gcd(SECTOR, have)):
            chunks[a] = chunk
            if chunk < axes[a][0]:
                yield tuple(chunks)
        if chunks[a] < axes[a][0]:
            return
        have *= axes[a][0]
    yield tuple(chunks)


@lru_cache(maxsize=1 << 16)
def _parts(extent: int, wanted: int, step: int) -> tuple[int, ...]:
    """Return chunks of about ``wanted`` elements: a divisor, equal parts in whole steps, and whole steps alone."""
    if wanted >= extent or (extent <= SHORT_AXIS and extent < WIDEST_SEARCH * wanted):
        return (extent,)
    near = range(max(1, wanted // WIDEST_SEARCH), min(extent, wanted * WIDEST_SEARCH) + 1)
    divisors = [part for part in near if extent % part == 0]
    best = min(divisors, key=lambda part: abs(math.log(part / wanted)), default=extent)
    equal = -(-extent // max(1, round(extent / wanted)))
    parts = [best, *(min(extent, -(-part // step) * step) for part in (equal, wanted))]
    return tuple(dict.fromkeys(part for part in parts if part < extent)) or (extent,)


def _grown(element: int, axes: Sequence[MoveAxis], chunks: Chunks, order: Sequence[int], least: int) -> Chunks:
    """Return a box of at least about ``least`` bytes, grown along the first axes of an order."""
    grown = list(chunks)
    for a in order:
        room = least // (math.prod(grown) * element)
        if room < WIDEST_SEARCH:
            break
        wanted = min(axes[a][0], grown[a] * room)
        if wanted > grown[a]:
            larger = [part for part in _parts(axes[a][0], wanted, 1) if part >= grown[a]]
            grown[a] = larger[0] if larger else grown[a]
    return tuple(grown) if math.prod(grown) * element <= LARGEST else chunks


def padded(box: Box) -> Box:
    """Return the box with the padding and the skew that cost the fewest wavefronts of shared memory."""
    if box.direct:
        return box
    least = max(box.element, WORD)
    skews = (0, least, 2 * least, 4 * least) if box.can_skew else (0,)
    pads = [pad for pad in (4, 8, 16, 48) if pad % least == 0]
    best, fewest = box, math.inf
    tried = [(0, None), *((pad, place) for pad in pads for place in box.paddable)]
    for one in (replace(box, pad=pad, padded=place, skew=skew) for pad, place in tried for skew in skews):
        if one.shared_bytes > SHARED_BYTES:
            continue
        stores, loads = wavefronts_per_request(one)
        wavefronts = stores / one.shared_unit + loads / (one.element * one.pack)
        if wavefronts < 0.97 * fewest:  # less is not worth more shared memory
            best, fewest = one, wavefronts
    return best
