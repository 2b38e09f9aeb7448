"""Boxes of any kind over small arrays of any strides, and one of their moves on the emulator."""

import math
import random
import re
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from cornerturn.emulator import Emulation, Memory, emulate
from cornerturn.kernels.grid import SHARED_BYTES
from cornerturn.kernels.kernel import ELEMENT_SIZES
from cornerturn.kernels.production.axes import MoveAxis
from cornerturn.kernels.production.box import WORD, Box
from cornerturn.kernels.production.device_code import Production
from cornerturn.kernels.production.permute import permute
from cornerturn.toolchain import compile_source

EXTENTS = (2, 2, 3, 3, 4, 5, 7, 8, 12, 16, 24, 33, 48, 64, 100)
MOST_BLOCKS, MOST_STEPS = 120, 16
WIDENED = re.compile(r"(4|8|16)-byte read of bytes that no thread wrote")


def any_box(rng: random.Random, most_bytes: int = 8192) -> Box:
    """Return a box that can be launched, over an array of at most about ``most_bytes`` bytes."""
    while True:
        box = _any_box(rng, most_bytes)
        steps = max(0 if box.direct else box.read.steps, box.write.steps)
        if box.blocks <= MOST_BLOCKS and steps <= MOST_STEPS and box.shared_bytes <= SHARED_BYTES:
            return box


def _any_box(rng: random.Random, most_bytes: int) -> Box:
    element = rng.choice(ELEMENT_SIZES)
    axes = any_axes(rng, element, most_bytes)
    x, y = (rng.choice((0, element * rng.randrange(32 // element))) for _ in range(2))
    box = Box(
        element,
        axes,
        tuple(_any_chunk(rng, extent) for extent, _, _ in axes),
        x,
        y,
        most_threads=rng.choice((32, 64, 128, 256, 512)),
        mirrored=rng.choice((None, None, True)),
        widest=rng.choice((4, 8, 16, 16, 16)),
        direct=rng.random() < 0.15,
        kept=rng.random() < 0.3,
        along_x=rng.random() < 0.3,
    )
    least = max(element, WORD)
    if box.can_skew and rng.random() < 0.5:
        box = replace(box, skew=rng.choice((least, 2 * least, 4 * least)))
    if box.paddable and rng.random() < 0.7:
        pads = [pad for pad in (4, 8, 16, 48) if pad % least == 0]
        box = replace(box, pad=rng.choice(pads), padded=rng.choice(box.paddable))
    return box


def any_axes(rng: random.Random, element: int, most_bytes: int) -> tuple[MoveAxis, ...]:
    """Return axes in y's order, the fastest first: dense or with gaps, stepped, backwards, or all one element of x."""
    extents = [rng.choice(EXTENTS) for _ in range(rng.randint(1, 6))]
    while math.prod(extents) * element > most_bytes:
        extents[rng.randrange(len(extents))] = rng.choice((2, 3))
        if len(extents) > 1 and rng.random() < 0.3:
            extents.pop()
    y_strides = _any_strides(rng, element, extents, range(len(extents)))
    x_order = list(range(len(extents)))
    if rng.random() < 0.85:
        rng.shuffle(x_order)
    x_strides = [
        0 if rng.random() < 0.04 else -stride if rng.random() < 0.08 else stride
        for stride in _any_strides(rng, element, extents, x_order)
    ]
    return tuple(zip(extents, x_strides, y_strides, strict=True))


def _any_strides(rng: random.Random, element: int, extents: list[int], order: Any) -> list[int]:
    strides, step = [0] * len(extents), element * (rng.choice((2, 3)) if rng.random() < 0.25 else 1)
    for axis in order:
        strides[axis] = step
        step *= extents[axis]
        if rng.random() < 0.15:
            step += element * rng.randint(1, 9)
    return strides


def _any_chunk(rng: random.Random, extent: int) -> int:
    parts = [part for part in range(1, extent + 1) if extent % part == 0]
    return rng.choice((extent, extent, rng.choice(parts), rng.randint(1, extent)))


@dataclass(frozen=True)
class Arrays:
    """The two arrays of a move by axes: all their bytes, and where their elements lie, the slowest axis first."""

    x: NDArray[np.uint8]
    x_origin: int
    y: NDArray[np.uint8]
    places: NDArray[np.intp]
    wanted: NDArray[np.uint8]


def arrays_of(element: int, axes: tuple[MoveAxis, ...]) -> Arrays:
    """Return x of random bytes, which reach no further than its elements, and y."""
    spans = [(extent - 1) * stride for extent, stride, _ in axes]
    origin = -sum(min(span, 0) for span in spans)
    x = np.random.default_rng(0).integers(0, 256, origin + sum(max(span, 0) for span in spans) + element, np.uint8)
    y = np.zeros(sum((extent - 1) * stride for extent, _, stride in axes) + element, np.uint8)
    shape = [extent for extent, _, _ in reversed(axes)]
    wanted = as_strided(x[origin:], (*shape, element), (*(stride for _, stride, _ in reversed(axes)), 1))
    numbers = np.arange(len(y))
    strides = [stride * numbers.itemsize for _, _, stride in reversed(axes)]
    places = as_strided(numbers, (*shape, element), (*strides, numbers.itemsize))
    return Arrays(x, origin, y, places.reshape(-1), np.ascontiguousarray(wanted).reshape(-1))


def move(production: Production, element: int, axes: tuple[MoveAxis, ...], x: int, y: int) -> Emulation:
    """Emulate a move between first elements at ``x`` and ``y`` modulo 32; check every byte of it.

    The compiler may read neighbours in shared memory by one wide load, which takes in padding between them that nobody
    wrote, and uses nothing of it. That is no fault.
    """
    arrays, memory = arrays_of(element, axes), Memory()
    bound_x = memory.bind(arrays.x, "x", writable=False, skew=(x - arrays.x_origin) % 32)
    bound_y = memory.bind(arrays.y, "y", written=False, skew=y)
    pointers = {"x": np.uint64(bound_x.address + arrays.x_origin), "y": np.uint64(bound_y.address)}
    image, launch = compile_source(production.source).image(production.entry), production.launch
    emulation = emulate(
        image.ptx,
        image.symbol,
        memory,
        grid=launch.grid,
        block=launch.block,
        arguments=[pointers[item] if isinstance(item, str) else item for item in launch.arguments],
        shared_bytes=launch.shared_bytes,
    )
    faults = [hazard for hazard in emulation.hazards if not WIDENED.match(hazard.message)]
    assert faults == []
    untouched = np.setdiff1d(np.arange(len(arrays.y)), arrays.places)
    assert np.array_equal(bound_y.unwritten(), untouched)
    assert np.array_equal(arrays.y[arrays.places], arrays.wanted)
    return emulation


def move_box(box: Box) -> Emulation:
    """Emulate the move of a box."""
    return move(permute(box), box.element, box.axes, box.x, box.y)
