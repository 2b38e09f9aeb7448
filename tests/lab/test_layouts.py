"""Layouts as they are seen: the CuTe family must show the layouts it is written with, and the pictures the same."""

import sys
from dataclasses import replace

import numpy as np
import pytest

from cornerturn.errors import MissingExtraError, UsageError
from cornerturn.kernels.catalogue import find, in_family
from cornerturn.kernels.kernel import Kernel
from cornerturn.lab.counts import count
from cornerturn.lab.layouts import EXTENT, Arrangement, Layouts, watch_layouts
from cornerturn.lab.matrices import distinct
from cornerturn.lab.run import run_emulated
from cornerturn.lab.views.layouts import terminal_pictures
from cornerturn.toolchain import unavailable_reason

from .printing import printed
from .small_kernel import kernel_of

pytest.importorskip("tensor_layouts")

FAMILIES = ("handwritten", "textbook", "cute")
TRANSPOSES = [entry for family in FAMILIES for entry in in_family(family) if isinstance(entry, Kernel)]

ROW, COLUMN = "(16,16):(16,1)", "(16,16):(1,16)"
ALONG_ROW, ALONG_COLUMN = f"{ROW}, values (1,4)", f"{ROW}, values (4,1)"

# Threads on x, threads on y, and how the tile of x lies in shared memory.
WRITTEN = {
    "cute_row2col_reg": (COLUMN, ROW, ""),
    "cute_col2row_reg": (ROW, COLUMN, ""),
    "cute_col_smem": (COLUMN, COLUMN, ROW),
    "cute_row_smem": (ROW, ROW, ROW),
    "cute_col_smem_swizzled": (COLUMN, COLUMN, f"Swizzle<4,0,4> o {ROW}"),
    "cute_row_smem_swizzled": (ROW, ROW, f"Swizzle<4,0,4> o {ROW}"),
    "cute_row_cvectorized": (ALONG_COLUMN, ALONG_ROW, "(64,16):(1,64)"),
    "cute_row_cvectorized_swizzled": (ALONG_COLUMN, ALONG_ROW, "Swizzle<3,2,4> o (64,16):(1,64)"),
    "cute_row_rvectorized": (ALONG_ROW, ALONG_COLUMN, "(16,64):(64,1)"),
    "cute_row_rvectorized_swizzled": (ALONG_ROW, ALONG_COLUMN, "Swizzle<3,2,4> o (16,64):(64,1)"),
    "cute_row_rvectorized_swizzled_optimized": (
        "(8,(4,8)):(4,(1,32)), values (1,4)",
        "(128,2):(2,1), values (1,4)",
        "Swizzle<2,3,2> o (8,128):(1,8)",
    ),
    "f32_row2col2d": (COLUMN, ROW, ""),
    "f32_col2row2d": (ROW, COLUMN, ""),
    "tiled_16": (ROW, ROW, "(16,16):(17,1)"),
    "shared_no_padding": ("((8,4),32):((32,0),1)", "((8,4),32):((32,0),1)", "(32,32):(32,1)"),
    "shared_padding": ("((8,4),32):((32,0),1)", "((8,4),32):((32,0),1)", "(32,32):(33,1)"),
    "f32x4_shared_col2row2d": (
        "(16,(8,2)):(8,(1,128)), values (1,4)",
        "((4,4,4),4):((4,64,16),1), values (1,4)",
        "(16,64):(64,1)",
    ),
}


def kernel(name: str) -> Kernel:
    entry = find(name)
    assert isinstance(entry, Kernel)
    if reason := unavailable_reason(entry.source):
        pytest.skip(reason)
    return entry


def own(layouts: Layouts) -> Arrangement | None:
    (mine,) = [each for each in layouts.shared if each.own] or [None]
    return mine


@pytest.mark.parametrize("name", WRITTEN)
def test_the_layouts_seen_are_those_written(name: str) -> None:
    layouts = watch_layouts(kernel(name))
    arrangement = own(layouts)
    seen = layouts.read.notation, layouts.write.notation, arrangement.notation if arrangement else ""
    assert seen == WRITTEN[name]


@pytest.mark.parametrize("entry", TRANSPOSES, ids=lambda entry: entry.name)
def test_every_element_of_the_tile_has_its_thread(entry: Kernel) -> None:
    layouts = watch_layouts(kernel(entry.name))
    threads = np.prod(entry.launch(EXTENT, EXTENT).block)
    for side in (layouts.read, layouts.write):
        moved = np.stack([side.threads.ravel(), side.values.ravel()], axis=1)
        assert len(np.unique(moved, axis=0)) == side.threads.size
        assert np.array_equal(np.unique(side.threads), np.arange(threads))
    assert layouts.write.threads.shape == layouts.read.threads.T.shape


@pytest.mark.parametrize("entry", TRANSPOSES, ids=lambda entry: entry.name)
def test_the_cost_of_the_own_placement_is_what_the_emulator_counts(entry: Kernel) -> None:
    arrangement = own(watch_layouts(kernel(entry.name)))
    emulation = run_emulated(entry, distinct(EXTENT, EXTENT)).emulation
    assert emulation is not None
    _, _, load, store = count(emulation.accesses).by_place()
    if arrangement is None:
        assert load.requests == store.requests == 0
        return
    grid = entry.launch(EXTENT, EXTENT).grid
    blocks = grid[0] * grid[1]
    for passes, traffic in ((arrangement.load, load), (arrangement.store, store)):
        found = blocks * passes.requests, blocks * passes.wavefronts, blocks * passes.ideal
        assert found == (traffic.requests, traffic.found, traffic.ideal)


@pytest.mark.parametrize(
    ("name", "kinds", "wavefronts"),
    [
        # A pitch of 17 spreads a column over sixteen banks, of which every second row's meet the other half's.
        ("cute_row_smem", ["plain", "padded", "swizzled"], [(8, 64), (16, 16), (8, 8)]),
        ("shared_no_padding", ["plain", "padded", "swizzled"], [(32, 1024), (32, 32), (32, 32)]),
        # Padding breaks the 16-byte vectors into words; a swizzle keeps them.
        ("cute_row_rvectorized", ["plain", "padded", "swizzled"], [(32, 256), (64, 64), (32, 32)]),
        ("tiled_async", ["other"], [(128, 128)]),
        ("naive", [], []),
    ],
)
def test_beside_the_own_placement_stand_the_others(
    name: str, kinds: list[str], wavefronts: list[tuple[int, int]]
) -> None:
    shared = watch_layouts(kernel(name)).shared
    assert [each.kind for each in shared] == kinds
    assert [(each.store.wavefronts, each.load.wavefronts) for each in shared] == wavefronts
    assert sum(each.own for each in shared) == bool(shared)


def test_padding_takes_the_alignment_that_a_swizzle_keeps() -> None:
    plain, padded, swizzled = watch_layouts(kernel("cute_row_rvectorized")).shared
    assert [each.load.width for each in (plain, padded, swizzled)] == [16, 4, 16]
    assert swizzled.notation == "Swizzle<3,2,4> o (16,64):(64,1)"


@pytest.mark.parametrize(
    ("name", "access", "banks"),
    [("cute_row_smem", "load", {0, 1, 16, 17}), ("cute_col_smem", "store", {0, 1, 16, 17}), ("tiled_32", "load", None)],
)
def test_the_marked_elements_are_those_of_the_worse_request(name: str, access: str, banks: set[int] | None) -> None:
    layouts = watch_layouts(kernel(name))
    arrangement = own(layouts)
    assert arrangement is not None
    assert layouts.access == access
    assert layouts.taken.sum() == 32
    assert set(arrangement.banks[layouts.taken]) == (banks or set(range(32)))


def made(body: str) -> Kernel:
    return kernel_of(body, 64, lambda rows, cols: (rows * cols // 64, 1, 1))


INDEX = "const unsigned t = threadIdx.x, r = t / 8, c = t % 8;"


@pytest.mark.parametrize(
    ("body", "rule"),
    [
        ("y[c * rows + r] = x[r * cols + c] + *(volatile const unsigned*)&x[r * cols + c];", "element of x twice"),
        ("y[c * rows + r] = x[r * cols + (r + c) % 8 + 2 * (r % 2)];", "does not move a rectangle of x"),
        ("y[t * rows] = x[r * cols + c];", "does not write in one block the tile that it reads"),
    ],
)
def test_a_kernel_without_a_tile_is_refused(body: str, rule: str) -> None:
    with pytest.raises(UsageError, match=rule):
        watch_layouts(made(INDEX + body))


def test_threads_in_no_regular_order_have_no_notation() -> None:
    body = "const unsigned p = t * t * 8 + t * 3 & 63; y[p % 8 * rows + p / 8] = x[p / 8 * cols + p % 8];"
    layouts = watch_layouts(made(INDEX + body))
    assert layouts.read.notation == layouts.write.notation == ""
    assert "no layout describes these threads" in "\n".join(printed(terminal_pictures(layouts)))


def test_the_copy_has_no_layouts() -> None:
    with pytest.raises(UsageError, match="copy transposes nothing"):
        watch_layouts(kernel("copy"))


def test_other_elements_than_words_are_refused() -> None:
    with pytest.raises(UsageError, match="k moves elements of 8 bytes: layouts are shown for 4 bytes"):
        watch_layouts(replace(made(""), element_bytes=8))


def test_without_the_algebra_the_message_holds_the_pip_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tensor_layouts", None)
    with pytest.raises(MissingExtraError, match=r"install it with: pip install 'cornerturn\[cute\]'"):
        watch_layouts(kernel("naive"))
