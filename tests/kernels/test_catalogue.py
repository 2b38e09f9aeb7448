import pytest

from cornerturn.errors import UsageError
from cornerturn.kernels.catalogue import CATALOGUE, FAMILIES, find, in_family
from cornerturn.kernels.kernel import Kernel, Source, View
from cornerturn.kernels.source import lessons

NAMES = {
    "handwritten": (
        "f32_col2row",
        "f32_row2col",
        "f32x4_col2row",
        "f32x4_row2col",
        "f32_col2row2d",
        "f32_row2col2d",
        "f32x4_col2row2d",
        "f32x4_row2col2d",
        "f32_diagonal2d",
        "f32x4_shared_col2row2d",
        "f32x4_shared_row2col2d",
        "f32x4_shared_bcf_col2row2d",
        "f32x4_shared_bcf_row2col2d",
        "f32x4_shared_bcf_merge_write_row2col2d",
    ),
    "textbook": (
        "naive",
        "tiled_8",
        "tiled_16",
        "tiled_32",
        "shared_no_padding",
        "shared_padding",
        "tiled_vectorized",
        "tiled_async",
    ),
    "cute": (
        "cute_row2col_reg",
        "cute_col2row_reg",
        "cute_col_smem",
        "cute_row_smem",
        "cute_col_smem_swizzled",
        "cute_row_smem_swizzled",
        "cute_row_cvectorized",
        "cute_row_cvectorized_swizzled",
        "cute_row_rvectorized",
        "cute_row_rvectorized_swizzled",
        "cute_row_rvectorized_swizzled_optimized",
    ),
    "controls": ("copy", "view"),
    "production": (
        *(f"{kind}_{size}" for kind in ("tile", "ragged") for size in (1, 2, 4, 8, 16)),
        *(f"permute_{size}" for size in (1, 2, 4, 8, 16)),
    ),
}
KERNELS = [entry for entry in CATALOGUE if isinstance(entry, Kernel)]


def test_families_and_their_kernels_stand_in_order() -> None:
    assert tuple(NAMES) == FAMILIES
    assert [entry.name for entry in CATALOGUE] == [name for names in NAMES.values() for name in names]
    for family, names in NAMES.items():
        assert tuple(entry.name for entry in in_family(family)) == names


def test_every_name_finds_its_entry() -> None:
    assert all(find(entry.name) is entry for entry in CATALOGUE)


def test_the_view_is_the_one_entry_that_is_no_kernel() -> None:
    assert [entry.name for entry in CATALOGUE if isinstance(entry, View)] == ["view"]


@pytest.mark.parametrize("entry", CATALOGUE, ids=lambda entry: entry.name)
def test_every_entry_has_its_lesson_in_one_sentence(entry: Kernel | View) -> None:
    assert entry.lesson.endswith(".") and ". " not in entry.lesson


TAUGHT = {kernel.source for kernel in KERNELS if kernel.family != "production"}


@pytest.mark.parametrize("source", sorted(TAUGHT, key=lambda source: source.file), ids=lambda source: source.file)
def test_a_source_teaches_exactly_the_entries_made_from_it(source: Source) -> None:
    made_from_it = {kernel.name for kernel in KERNELS if kernel.source == source}
    family = {kernel.family for kernel in KERNELS if kernel.source == source}.pop()
    assert set(lessons(source.text)) == made_from_it | {
        entry.name for entry in in_family(family) if isinstance(entry, View)
    }
    assert {kernel.entry for kernel in KERNELS if kernel.source == source} == set(source.entries)


@pytest.mark.parametrize(
    ("name", "suggestion"),
    [("tilled_32", "tiled_32"), ("F32_ROW2COL", "f32_row2col"), ("shared_paddings", "shared_padding")],
)
def test_an_unknown_kernel_is_answered_with_the_nearest(name: str, suggestion: str) -> None:
    with pytest.raises(UsageError, match=f"unknown kernel '{name}': did you mean '{suggestion}'"):
        find(name)


def test_a_name_like_no_other_is_answered_without_a_guess() -> None:
    with pytest.raises(UsageError, match="unknown kernel 'qqqq': `cornerturn list` shows them all"):
        find("qqqq")


def test_an_unknown_family_is_answered_with_the_families() -> None:
    with pytest.raises(UsageError, match=r"did you mean 'textbook'.*handwritten, textbook, cute, controls"):
        in_family("textbooks")
