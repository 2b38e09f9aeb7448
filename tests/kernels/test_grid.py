from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cornerturn.kernels.catalogue import CATALOGUE, find
from cornerturn.kernels.grid import GRID_Y_MAX, Linear, Tiled
from cornerturn.kernels.kernel import INT32_MAX, Kernel

KERNELS = [entry for entry in CATALOGUE if isinstance(entry, Kernel) and entry.family != "production"]
EXTENTS = st.integers(1, 5000)

READS_FLOAT4 = {"f32x4_col2row", "f32x4_col2row2d"}
WRITES_FLOAT4 = {
    "f32x4_row2col",
    "f32x4_row2col2d",
    "f32x4_shared_row2col2d",
    "f32x4_shared_bcf_row2col2d",
    "f32x4_shared_bcf_merge_write_row2col2d",
}
BOTH_FLOAT4 = {
    "f32x4_shared_col2row2d",
    "f32x4_shared_bcf_col2row2d",
    "tiled_vectorized",
    "cute_row_cvectorized",
    "cute_row_cvectorized_swizzled",
    "cute_row_rvectorized",
    "cute_row_rvectorized_swizzled",
    "cute_row_rvectorized_swizzled_optimized",
}


def kernel(name: str) -> Kernel:
    entry = find(name)
    assert isinstance(entry, Kernel)
    return entry


@pytest.mark.parametrize("each", KERNELS, ids=lambda each: each.name)
def test_only_what_the_vectors_and_the_diagonal_demand_is_refused(each: Kernel) -> None:
    in_fours, odd_cols, odd_rows = each.refuses(64, 64), each.refuses(1024, 1022), each.refuses(1022, 1024)
    assert in_fours is None
    if each.name == "f32_diagonal2d":
        assert odd_cols == "rows and cols must be equal: got 1024 x 1022"
        assert odd_rows == "rows and cols must be equal: got 1022 x 1024"
        return
    reads = each.name in READS_FLOAT4 | BOTH_FLOAT4
    writes = each.name in WRITES_FLOAT4 | BOTH_FLOAT4
    assert odd_cols == ("cols must be a multiple of 4: got 1022" if reads else None)
    assert odd_rows == ("rows must be a multiple of 4: got 1022" if writes else None)


@pytest.mark.parametrize("each", KERNELS, ids=lambda each: each.name)
def test_more_elements_than_32_bit_indices_reach_are_refused(each: Kernel) -> None:
    rule = f"rows * cols must be at most {INT32_MAX}, as indices have 32 bits: got {46344 * 46344}"
    assert each.refuses(46344, 46344) == (None if each.name == "copy" else rule)
    assert each.refuses(46340, 46340) is None


@pytest.mark.parametrize(
    ("name", "rows", "cols", "rule"),
    [
        ("naive", GRID_Y_MAX * 32 + 1, 1, "rows must be at most 2097120, 65535 tiles of 32 along gridDim.y"),
        ("f32_col2row2d", GRID_Y_MAX * 16 + 1, 1, "rows must be at most 1048560, 65535 tiles of 16"),
        ("f32_row2col2d", 1, GRID_Y_MAX * 16 + 1, "cols must be at most 1048560, 65535 tiles of 16"),
        ("tiled_8", GRID_Y_MAX * 8 + 8, 8, "rows must be at most 524280, 65535 tiles of 8"),
    ],
)
def test_a_grid_too_tall_is_refused_by_its_limit(name: str, rows: int, cols: int, rule: str) -> None:
    broken = kernel(name).refuses(rows, cols)
    assert broken is not None and broken.startswith(rule)


@pytest.mark.parametrize(
    ("name", "rows", "cols"),
    [
        ("naive", GRID_Y_MAX * 32, 1),
        ("naive", 1, INT32_MAX),
        ("f32_row2col2d", INT32_MAX, 1),
        ("f32_row2col2d", 1, GRID_Y_MAX * 16),
        ("f32_col2row", INT32_MAX, 1),
        ("copy", 2**20, 2**20),
    ],
)
def test_the_longest_matrices_that_fit_are_accepted(name: str, rows: int, cols: int) -> None:
    each = kernel(name)
    assert each.refuses(rows, cols) is None
    blocks_x, blocks_y, _ = each.launch(rows, cols).grid
    assert blocks_x <= INT32_MAX and blocks_y <= GRID_Y_MAX


@given(rows=EXTENTS, cols=EXTENTS, elements=st.sampled_from([1, 4]))
def test_linear_threads_cover_the_matrix_with_no_block_to_spare(rows: int, cols: int, elements: int) -> None:
    blocks = Linear(elements).launch(rows, cols).grid[0]
    assert (blocks - 1) * 256 * elements < rows * cols <= blocks * 256 * elements


@given(rows=EXTENTS, cols=EXTENTS, tile=st.tuples(st.integers(1, 64), st.integers(1, 64)), turned=st.booleans())
def test_tiles_cover_the_matrix_with_no_block_to_spare(
    rows: int, cols: int, tile: tuple[int, int], turned: bool
) -> None:
    grid = Tiled(*tile, (16, 16), across="rows" if turned else "cols").launch(rows, cols).grid
    down, along = grid[:2] if turned else grid[1::-1]
    assert (down - 1) * tile[0] < rows <= down * tile[0]
    assert (along - 1) * tile[1] < cols <= along * tile[1]


@given(rows=EXTENTS, cols=EXTENTS)
def test_the_copy_has_a_thread_for_every_vector_and_for_every_element_left_over(rows: int, cols: int) -> None:
    threads = prod(kernel("copy").launch(rows, cols).grid) * 256
    assert threads - 256 < rows * cols // 4 + rows * cols % 4 <= threads


@pytest.mark.parametrize("each", KERNELS, ids=lambda each: each.name)
def test_every_launch_passes_both_matrices_and_their_shape(each: Kernel) -> None:
    launch = each.launch(64, 64)
    assert launch.arguments == ("x", "y", np.uint32(64), np.uint32(64))
    assert all(type(argument) in (str, np.uint32) for argument in launch.arguments)
    assert launch.shared_bytes == 0
    assert prod(launch.block) <= 1024 and prod(launch.block) % 32 == 0
