"""Where a lane of a wave is in the launch."""

import numpy as np

from cornerturn.emulator.geometry import Geometry, unravel

GRID, BLOCK = (3, 4, 2), (5, 4, 2)  # 40 threads: a block has 64 lanes


def test_coordinates_count_x_first():
    numbers = np.arange(3 * 4 * 2)
    assert np.array_equal(unravel(numbers, GRID), np.unravel_index(numbers, GRID, order="F"))


def test_lanes_of_the_blocks_follow_each_other():
    geometry = Geometry(GRID, BLOCK, np.array([2, 7, 23])[:, None])
    assert (geometry.threads, geometry.lanes_per_block, geometry.shape) == (40, 64, (3, 64))
    lanes = np.array([0, 39, 64, 64 + 6, 2 * 64 + 39])
    assert geometry.block_of(lanes).tolist() == [2, 2, 7, 7, 23]
    assert geometry.thread_of(lanes).tolist() == [0, 39, 0, 6, 39]
    assert geometry.coordinates(64 + 6) == ((1, 2, 0), (1, 1, 0))
    assert geometry.coordinates(2 * 64 + 39) == ((2, 3, 1), (4, 3, 1))
