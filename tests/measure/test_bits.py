"""The comparison on the device, its kernels executed by the emulator."""

import numpy as np
import pytest

from cornerturn.emulator import Memory, emulate
from cornerturn.measure.bits import SOURCE, THREADS, _grid
from cornerturn.toolchain import compile_source

SIZES = (1, THREADS - 1, THREADS, 3 * THREADS + 5)


def run(entry, y, expected, nbytes, found=None):
    image = compile_source(SOURCE).image(entry)
    memory = Memory()
    arguments = [memory.bind(y, "y"), memory.bind(expected, "expected", writable=False), np.uint64(nbytes)]
    arguments += [] if found is None else [memory.bind(found, "found")]
    emulation = emulate(image.ptx, image.symbol, memory, grid=_grid(nbytes), block=(THREADS, 1, 1), arguments=arguments)
    assert not emulation.hazards


@pytest.mark.parametrize("nbytes", SIZES)
def test_every_bit_is_spoilt_and_no_other(nbytes):
    expected = np.random.default_rng(0).integers(0, 256, nbytes, np.uint8)
    y = np.zeros(nbytes + 7, np.uint8)
    run("spoil", y, expected, nbytes)
    assert np.array_equal(y[:nbytes], ~expected)
    assert not y[nbytes:].any()


@pytest.mark.parametrize("nbytes", SIZES)
@pytest.mark.parametrize("where", [None, 0, -1])
def test_a_single_bit_is_found(nbytes, where):
    expected = np.random.default_rng(0).integers(0, 256, nbytes, np.uint8)
    y, found = np.append(expected, np.uint8(1)), np.zeros(1, np.int32)
    if where is not None:
        y[:nbytes][where] ^= 64
    run("differ", y, expected, nbytes, found)
    assert found[0] == (where is not None)
