"""Random moves as people have them, the same for the same seed: what a comparison was not fitted to."""

import math
from collections.abc import Iterator

import numpy as np

from cornerturn.errors import UsageError
from cornerturn.measure.cases import Case

ELEMENTS = (1, 2, 4, 8, 16)
RANKS = (2, 3, 4, 5, 6)
MIN_BYTES = 1024
"""Of an array: six axes of 2 elements of 16 bytes."""

EVERYDAY = (
    *(2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 49, 56, 64, 77, 80, 96, 100, 112, 128, 144),
    *(160, 192, 196, 197, 224, 240, 256, 257, 320, 384, 480, 500, 512, 577, 640, 768, 1000, 1024, 1080, 1280, 1500),
    *(1536, 1920, 2048, 3000, 3072, 4096, 5120, 8192, 11008, 14336, 16384, 32000, 50257, 65536, 128256),
)
"""Extents that occur: channels, colours, windows, heads, tokens, pixels, hidden sizes, vocabularies."""


def random_moves(count: int, seed: int, low: int, high: int) -> list[tuple[Case, int]]:
    """Return moves drawn at random: each a case and the bytes of an element.

    Two to six axes in random order, never the order in which they lie. Half of the extents are everyday ones, a
    quarter are multiples of 8, a quarter are anything; one axis fills the array up to its size. The first moves of a
    seed are the same whatever ``count`` is.

    Args:
        count: how many.
        seed: of NumPy's default generator, of which only ``random`` is used: its numbers stay from version to version.
        low: the smallest array in bytes, at least 1024.
        high: the largest, at least twice ``low``; sizes between them are log-uniform.

    Example:
        >>> [(case.name, element) for case, element in random_moves(1, 0, 1 << 16, 1 << 24)]
        [('640x4x4:0,2,1', 8)]

    Raises:
        UsageError: the sizes break one of these rules.
    """
    if low < MIN_BYTES or high < 2 * low:
        rule = f"the smallest has at least {MIN_BYTES} bytes, and the largest at least twice as many as the smallest"
        raise UsageError(f"moves of {low} to {high} bytes cannot be drawn: {rule}")
    draw = _Draw(seed)
    return [_move(draw, low, high) for _ in range(count)]


class _Draw:
    def __init__(self, seed: int) -> None:
        self._generator = np.random.default_rng(seed)

    def below(self, count: int) -> int:
        """One of 0 ... ``count`` - 1."""
        return int(self._generator.random() * count)

    def between(self, low: float, high: float) -> float:
        """A number whose logarithm is uniform."""
        return low * math.exp(self._generator.random() * math.log(high / low))

    def order(self, count: int) -> tuple[int, ...]:
        """A permutation."""
        keys = self._generator.random(count)
        return tuple(sorted(range(count), key=keys.__getitem__))


def _move(draw: _Draw, low: int, high: int) -> tuple[Case, int]:
    element, rank = ELEMENTS[draw.below(len(ELEMENTS))], RANKS[draw.below(len(RANKS))]
    nbytes = draw.between(low, high)
    extents = list(_extents(draw, rank - 1, nbytes / element))
    extents.append(_filling(draw, math.prod(extents) * element, nbytes, low))
    shape = tuple(extents[axis] for axis in draw.order(rank))
    while (axes := draw.order(rank)) == tuple(range(rank)):
        pass
    return Case(shape, axes), element


def _extents(draw: _Draw, count: int, elements: float) -> Iterator[int]:
    """Draw extents of at least 2, and leave at least 2 of the ``elements`` to each axis that is still to come."""
    for following in range(count, 0, -1):
        most = max(2, int(elements / 2**following))
        extent = _extent(draw, most)
        elements /= extent
        yield extent


def _extent(draw: _Draw, most: int) -> int:
    kind = draw.below(4)
    if kind < 2:
        fitting = [extent for extent in EVERYDAY if extent <= most]
        return fitting[draw.below(len(fitting))]
    anything = min(most, int(draw.between(2, most + 1)))
    return max(8, anything // 8 * 8) if kind == 2 and most >= 8 else anything


def _filling(draw: _Draw, nbytes: int, wanted: float, low: int) -> int:
    """Return the last extent: what ``nbytes`` for each lacks to the bytes wanted; half of them are multiples of 8."""
    extent = max(2, int(wanted / nbytes))
    if extent * nbytes < low:
        extent += 1
    even = extent // 8 * 8
    return even if draw.below(2) and even * nbytes >= low else extent
