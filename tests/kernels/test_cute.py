"""What the CuTe family must show: right at every shape it accepts, and the counts of its structure and no others."""

import doctest
from dataclasses import astuple
from pathlib import Path

import pytest

from cornerturn.kernels.catalogue import find, in_family
from cornerturn.kernels.cute_family import CUTE
from cornerturn.kernels.kernel import Kernel
from cornerturn.lab.counts import Counters, count
from cornerturn.lab.matrices import distinct
from cornerturn.lab.run import run_emulated
from cornerturn.toolchain import unavailable_reason

pytestmark = pytest.mark.skipif(
    unavailable_reason(CUTE[0].source) is not None, reason="needs the CuTe DSL: pip install 'cornerturn[cute]'"
)

SCALAR = [kernel for kernel in CUTE if kernel.refuses(1, 7) is None]
SWIZZLED = [kernel for kernel in CUTE if "swizzled" in kernel.name]


def counters(name: str, rows: int, cols: int) -> Counters:
    kernel = find(name)
    assert isinstance(kernel, Kernel)
    emulation = run_emulated(kernel, distinct(rows, cols)).emulation
    assert emulation is not None
    return count(emulation.accesses)


def test_the_family_has_eleven_kernels_of_which_six_take_any_shape() -> None:
    assert in_family("cute") == CUTE
    assert len(CUTE) == 11
    assert [kernel.name for kernel in SCALAR] == [kernel.name for kernel in CUTE[:6]]


@pytest.mark.parametrize("shape", [(1024, 1024), (512, 2048)], ids=str)
@pytest.mark.parametrize("kernel", CUTE, ids=lambda kernel: kernel.name)
def test_every_kernel_is_valid(kernel: Kernel, shape: tuple[int, int]) -> None:
    assert run_emulated(kernel, distinct(*shape)).valid


@pytest.mark.parametrize("shape", [(1000, 1000), (33, 65), (1, 7), (7, 1), (1, 1)], ids=str)
@pytest.mark.parametrize("kernel", SCALAR, ids=lambda kernel: kernel.name)
def test_one_element_a_thread_is_valid_at_every_shape(kernel: Kernel, shape: tuple[int, int]) -> None:
    assert run_emulated(kernel, distinct(*shape)).valid


@pytest.mark.parametrize("shape", [(1024, 1024), (1000, 1000), (33, 65), (1, 7), (200, 3)], ids=str)
@pytest.mark.parametrize(
    ("cute", "handwritten"), [("cute_row2col_reg", "f32_row2col2d"), ("cute_col2row_reg", "f32_col2row2d")]
)
def test_one_structure_has_one_count_however_it_is_written(cute: str, handwritten: str, shape: tuple[int, int]) -> None:
    assert counters(cute, *shape) == counters(handwritten, *shape)


@pytest.mark.parametrize("kernel", SWIZZLED, ids=lambda kernel: kernel.name)
def test_a_swizzle_leaves_no_bank_conflict(kernel: Kernel) -> None:
    _, _, *shared = counters(kernel.name, 256, 512).by_place()
    assert [traffic.found for traffic in shared] == [traffic.ideal for traffic in shared]
    assert all(traffic.found for traffic in shared)


@pytest.mark.parametrize("kernel", SWIZZLED[:-1], ids=lambda kernel: kernel.name)
def test_without_its_swizzle_a_kernel_differs_in_wavefronts_only(kernel: Kernel) -> None:
    swizzled, plain = (counters(name, 256, 512) for name in (kernel.name, kernel.name.removesuffix("_swizzled")))
    differing = {
        name
        for name, one, other in zip(Counters.__annotations__, astuple(swizzled), astuple(plain), strict=True)
        if one != other
    }
    assert len(differing) == 1
    assert differing < {"shared_load_wavefronts", "shared_store_wavefronts"}


def test_the_numbers_of_the_guide_hold() -> None:
    pytest.importorskip("tensor_layouts")
    guide = Path(__file__).parents[2] / "docs" / "cute.md"
    done = doctest.testfile(str(guide), module_relative=False)
    assert done.attempted > 10 and done.failed == 0
