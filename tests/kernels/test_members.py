"""A family of kernels out of a table."""

import pytest

from cornerturn.kernels.grid import Tiled, cols_in_fours
from cornerturn.kernels.kernel import CudaSource
from cornerturn.kernels.members import Member, kernels_of
from cornerturn.kernels.source import lessons, read_source

FILE = "textbook.cu"


def test_each_member_is_a_kernel_of_one_source_with_its_own_lesson_and_rules():
    members = (
        Member("naive", Tiled(32, 32, (32, 32))),
        Member("tiled_8", Tiled(8, 4, (8, 8)), (cols_in_fours,), entry="tiled<8>"),
    )
    naive, tiled = kernels_of("tests", FILE, CudaSource, members)
    text = read_source(FILE)
    assert naive.source == tiled.source == CudaSource(FILE, text, ("naive", "tiled<8>"))
    assert [(each.name, each.family, each.entry, each.element_bytes) for each in (naive, tiled)] == [
        ("naive", "tests", "naive", 4),
        ("tiled_8", "tests", "tiled<8>", 4),
    ]
    assert (naive.lesson, tiled.lesson) == (lessons(text)["naive"], lessons(text)["tiled_8"])
    assert tiled.launch(16, 8).grid == Tiled(8, 4, (8, 8)).launch(16, 8).grid != naive.launch(16, 8).grid
    assert naive.refuses(16, 6) is None
    assert tiled.refuses(16, 6) == cols_in_fours(16, 6)
    assert naive.refuses(2**16, 2**15) == members[0].geometry.refuses(2**16, 2**15) is not None


def test_a_member_that_the_source_teaches_nothing_of_is_a_mistake():
    with pytest.raises(KeyError, match="nothing"):
        kernels_of("tests", FILE, CudaSource, (Member("nothing", Tiled(8, 8, (8, 8))),))
