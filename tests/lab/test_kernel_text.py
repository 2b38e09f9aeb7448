"""A kernel's own lines in its source, and the line that an inlined access belongs to."""

from dataclasses import replace

import pytest

from cornerturn.emulator import Access
from cornerturn.kernels.catalogue import CATALOGUE, find
from cornerturn.kernels.kernel import CudaSource, CuteSource, Kernel
from cornerturn.lab.kernel_text import instance, kernel_text

CUDA = """\
__device__ float load(const float* p) {
    return *p;
}

// A brace in a comment counts for nothing: }
template <int n>
__global__ void first(const float* x,
                      float* y) {
    if (n) {  // {
        y[0] = load(x);
    }
}

__global__ void second(float* y) { y[0] = 1; }
__global__ void third(float* y) {
    y[0] = 2;
}
"""

CUTE = """\
import cutlass.cute as cute


def helper(p):
    return p[0]


@cute.kernel
def first(x,
          y):
    y[0] = helper(x)

    y[1] = 0


def kernels(x, y):
    make("kernel_a", first)
"""


def access(line, *inlined_at):
    return Access(
        0, f"k:{line}", "", "global", "load", 4, requests=1, lanes=32, inlined_at=tuple(f"k:{n}" for n in inlined_at)
    )


@pytest.mark.parametrize(
    ("source", "line", "first", "last"),
    [
        pytest.param(CudaSource("k", CUDA, ()), 10, 6, 12, id="template and two-line signature"),
        pytest.param(CudaSource("k", CUDA, ()), 14, 14, 14, id="one line"),
        pytest.param(CudaSource("k", CUDA, ()), 16, 15, 17, id="last of the file"),
        pytest.param(CuteSource("k", CUTE, ()), 11, 8, 13, id="decorated function"),
        pytest.param(CuteSource("k", CUTE, ()), 5, 4, 5, id="plain function"),
    ],
)
def test_the_lines_of_the_function_around_an_access(source, line, first, last):
    text = kernel_text(source, (access(line),))
    assert (text.first, text.first + len(text.lines) - 1) == (first, last)
    assert text.lines == tuple(source.text.splitlines()[first - 1 : last])


def test_an_inlined_access_belongs_to_the_kernels_innermost_line():
    text = kernel_text(CudaSource("k", CUDA, ()), (access(2, 10),))
    assert text.first == 6
    assert text.line_of(access(2, 10)) == 10
    assert text.line_of(access(9, 11)) == 9  # a lambda's line lies inside of the kernel itself
    assert text.line_of(access(2, 9, 11)) == 9


def test_a_line_of_another_file_is_not_the_kernels():
    text = kernel_text(CudaSource("k", CUDA, ()), (access(10),))
    assert text.line_of(replace(access(10, 11), location="other:10")) == 11


def test_a_kernel_without_accesses_is_shown_whole():
    assert kernel_text(CudaSource("k", CUDA, ()), ()).lines == tuple(CUDA.splitlines())


def test_a_cute_source_says_how_a_kernel_is_made():
    assert instance(CuteSource("k", CUTE, ("kernel_a",)), "kernel_a") == 'make("kernel_a", first)'
    assert instance(find("tiled_16").source, "tiled<16>") == "tiled<16>"


@pytest.mark.parametrize("kernel", [each for each in CATALOGUE if isinstance(each, Kernel)], ids=lambda each: each.name)
def test_every_kernel_has_its_instance(kernel):
    assert instance(kernel.source, kernel.entry)
