"""The kernels of the pattern, executed by the emulator."""

import math

import numpy as np
import pytest

from cornerturn.emulator import Memory, emulate
from cornerturn.measure.cases import Case
from cornerturn.measure.groups import parse_case
from cornerturn.measure.pattern import SOURCE, THREADS, Outputs, grid_for, pack_elements
from cornerturn.measure.stage import moved_by
from cornerturn.op.strided_view import StridedView
from cornerturn.toolchain import compile_source

from .fake_device import pattern_bytes, pattern_elements

VIEWS = {
    "matrix": Case((30, 50), (1, 0)).view(4).permuted((1, 0)),
    "bytes": Case((7, 5, 9), (2, 0, 1)).view(1).permuted((2, 0, 1)),
    "wide": Case((3, 2, 5, 2), (2, 1, 3, 0)).view(16).permuted((2, 1, 3, 0)),
    "part": parse_case("20x30[1:,2::3]")[0].view(2).permuted((1, 0)),
    "further on": moved_by(Case((9, 8), (1, 0)).view(8).permuted((1, 0)), 512),
    "backwards": StridedView(400, 4, (100,), (-4,)),
    "odd": Case((6, 7), (1, 0)).view(3).permuted((1, 0)),
    "one": StridedView(24, 8, (), ()),
}


def run(entry, grid, *arguments):
    image = compile_source(SOURCE).image(entry)
    memory = Memory()
    bound = [memory.bind(one, "memory") if isinstance(one, np.ndarray) else one for one in arguments]
    emulation = emulate(image.ptx, image.symbol, memory, grid=grid, block=(THREADS, 1, 1), arguments=bound)
    assert not emulation.hazards


@pytest.mark.parametrize("words", [1, THREADS, 3 * THREADS + 5])
def test_the_pattern_is_laid_and_no_more(words):
    memory = np.zeros(8 * words + 8, np.uint8)
    run("lay", grid_for(words), memory, np.uint64(words))
    assert np.array_equal(memory[: 8 * words], pattern_bytes(8 * words))
    assert not memory[8 * words :].any()


def test_every_byte_differs_from_place_to_place_and_is_finite_in_every_dtype():
    pattern = pattern_bytes(1 << 16)
    assert len(np.unique(pattern)) == 128
    assert len(np.unique(pattern.view(np.uint64))) == 1 << 13
    for dtype in (np.float16, np.float32, np.float64):
        assert np.isfinite(pattern.view(dtype)).all()


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_every_bit_is_spoilt_and_no_other(view):
    right = pattern_elements(view)
    y = np.zeros(right.size + 7, np.uint8)
    elements = pack_elements(Outputs(0, view))
    run("spoil", grid_for(elements["count"]), y, elements)
    assert np.array_equal(y[: right.size], ~right)
    assert not y[right.size :].any()


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
@pytest.mark.parametrize("where", [None, 0, -1])
def test_a_single_bit_is_found(view, where):
    right = pattern_elements(view)
    y, found = np.append(right, np.uint8(1)), np.zeros(1, np.int32)
    if where is not None:
        y[:-1][where] ^= 64
    elements = pack_elements(Outputs(0, view))
    run("differ", grid_for(elements["count"]), y, elements, found)
    assert found[0] == (where is not None)


@pytest.mark.parametrize("output", [None, 0, 1, 2])
def test_every_one_of_several_outputs_is_spoilt_and_compared(output):
    view, pitch = VIEWS["part"], 2048
    right = np.zeros(3 * pitch, np.uint8)
    parts = [slice(index * pitch, index * pitch + math.prod(view.shape) * view.itemsize) for index in range(3)]
    for index, part in enumerate(parts):
        right[part] = pattern_elements(moved_by(view, index * pitch))
    elements = pack_elements(Outputs(0, view, 3, pitch))
    grid = grid_for(elements["count"], 3)
    y = np.zeros_like(right)
    run("spoil", grid, y, elements)
    for part in parts:
        assert np.array_equal(y[part], ~right[part])
        y[part] = 0
    assert not y.any()
    found = np.zeros(1, np.int32)
    if output is not None:
        right[parts[output].stop - 1] ^= 1
    run("differ", grid, right, elements, found)
    assert found[0] == (output is not None)
