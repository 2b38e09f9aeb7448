"""The diagnosis names the end that costs most, why, and the kernel of the catalogue that does not pay it."""

import pytest

from cornerturn.kernels.catalogue import find
from cornerturn.lab.explanation import explain
from cornerturn.toolchain import unavailable_reason

from .small_kernel import kernel_of


def diagnosis(name, rows=256, cols=256):
    kernel = find(name)
    if reason := unavailable_reason(kernel.source):
        pytest.skip(reason)
    return explain(kernel, rows, cols).diagnosis


@pytest.mark.parametrize(
    ("name", "moved", "bottleneck", "cure"),
    [
        ("f32_col2row", (1, 8), "global store: 32 sectors per request where 4", "f32x4_shared_bcf_col2row2d"),
        ("f32_row2col", (8, 1), "global load: 32 sectors per request where 4", "f32x4_shared_bcf_col2row2d"),
        ("f32_diagonal2d", (4, 1), "global load: 16 sectors per request where 4", "f32x4_shared_bcf_col2row2d"),
        (
            "f32x4_shared_col2row2d",
            (1, 1),
            "shared load: 4 wavefronts per request where 1",
            "f32x4_shared_bcf_col2row2d",
        ),
        (
            "f32x4_shared_bcf_row2col2d",
            (1, 2),
            "global store: 32 sectors per request where 16",
            "f32x4_shared_bcf_merge_write_row2col2d",
        ),
        ("naive", (1, 8), "global store: 32 sectors per request where 4", "tiled_32"),
        ("tiled_8", (1, 1), "shared load: 2 wavefronts per request where 1", "tiled_32"),
        ("shared_no_padding", (1, 1), "shared load: 32 wavefronts per request where 1", "shared_padding"),
        ("cute_col_smem", (4, 4), "global load: 16 sectors per request where 4", "cute_row_smem_swizzled"),
        (
            "cute_row_cvectorized",
            (1, 1),
            "shared store: 32 wavefronts per request where 4",
            "cute_row_cvectorized_swizzled",
        ),
    ],
)
def test_a_waste_is_named_and_so_is_the_kernel_without_it(name, moved, bottleneck, cure):
    ends, worst, reason, remedy = diagnosis(name)
    load, store = moved
    assert ends == f"Bytes moved per byte of the matrix: {load} by the global loads, {store} by the global stores."
    assert worst.startswith(f"The bottleneck is the {bottleneck} would do.")
    assert reason.startswith("Line ")
    assert f"; {cure} does (at 128 x 128: " in remedy


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        (
            "naive",
            "Line 15: neighbouring lanes mostly write 1024 bytes apart, so that a request touches 32 sectors in 32 "
            "lines and uses 4 of the 32 bytes of a sector.",
        ),
        (
            "f32_row2col2d",
            "Line 79: neighbouring lanes mostly read 1024 bytes apart, so that a request touches 16 sectors in 16 "
            "lines and uses 8 of the 32 bytes of a sector.",
        ),
        (
            "shared_no_padding",
            "Line 54: the words that the lanes read lie in 1 of the 32 banks, and a bank serves one word per "
            "wavefront: the conflict is 32-way.",
        ),
    ],
)
def test_the_reason_is_in_the_addresses(name, reason):
    assert diagnosis(name)[2] == reason


@pytest.mark.parametrize(
    ("name", "fewer"), [("tiled_32", "tiled_vectorized moves the same bytes in 25% of"), ("tiled_vectorized", None)]
)
def test_where_nothing_is_wasted_only_instructions_are_left(name, fewer):
    _, said = diagnosis(name)
    assert said.startswith("Nothing is wasted: ")
    assert (fewer in said) if fewer else said.endswith("than its bytes fill.")


def test_the_copy_is_the_roof():
    assert diagnosis("copy")[-1].endswith("No transpose can move less.")


def test_what_the_shape_wastes_is_not_blamed_on_the_kernel():
    _, worst, blame = diagnosis("tiled_32", 1022, 514)
    assert worst.startswith("The bottleneck is the global load: ")
    assert blame.startswith(
        "The waste of the global load comes from the shape: rows of x are 2056 bytes long, 8 more than a multiple of 32"
    )
    assert blame.endswith("At 128 x 128 the same kernel takes 4 sectors per request and wastes none.")


def test_what_the_kernel_wastes_comes_before_what_the_shape_does():
    _, worst, reason, remedy, blame = diagnosis("shared_no_padding", 1022, 514)
    assert worst.startswith("The bottleneck is the shared load: ")
    assert "Also the global load: " in worst
    assert "32-way" in reason
    assert "shared_padding does" in remedy
    assert "rows of x are 2056 bytes long" in blame


def test_a_matrix_that_does_not_fill_the_warps():
    ends, said = diagnosis("tiled_32", 1, 1)
    assert "8 by the global loads, 8 by the global stores" in ends
    assert said.startswith("No request takes more than its active lanes need, but these are few")


TWO_WASTES = """    __shared__ unsigned tile[32 * 32];
    tile[32 * threadIdx.x] = x[2 * threadIdx.x];
    __syncthreads();
    y[threadIdx.x] = tile[32 * (threadIdx.x ^ 1)];"""


def test_global_memory_comes_before_shared_memory():
    said = explain(kernel_of(TWO_WASTES), 128, 128).diagnosis
    assert said[1] == (
        "The bottleneck is the global load: 8 sectors per request where 4 would do. "
        "Also the shared load: 32 wavefronts per request where 1 would do. "
        "Also the shared store: 32 wavefronts per request where 1 would do."
    )
    assert said[2].startswith("Line 3: neighbouring lanes mostly read 8 bytes apart")


@pytest.mark.parametrize(
    ("name", "shape", "said"),
    [
        ("tile_1", (256, 256), "Nothing is wasted"),
        ("ragged_1", (1024, 1024), "but requests begin or end within sectors: whole ones waste none; tile_1 does"),
        ("ragged_8", (101, 103), "but requests begin or end within sectors: whole ones waste none."),
        ("permute_4", (256, 256), "tile_4 does (at 128 x 128: global load 16/16"),
        ("permute_16", (64, 64), "Nothing is wasted"),
    ],
)
def test_a_production_kernel_is_held_against_those_of_its_element_size(name, shape, said):
    assert said in " ".join(explain(find(name), *shape).diagnosis)
