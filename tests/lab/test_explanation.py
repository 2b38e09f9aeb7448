"""Counts by line, their sums, and the whole explanation as it is printed."""

import pytest

from cornerturn.emulator import Access
from cornerturn.errors import UsageError
from cornerturn.kernels.catalogue import CATALOGUE, find
from cornerturn.kernels.kernel import Kernel
from cornerturn.lab.counts import count
from cornerturn.lab.explanation import LineCount, count_lines, explain
from cornerturn.lab.kernel_text import KernelText
from cornerturn.lab.matrices import distinct
from cornerturn.lab.run import run_emulated
from cornerturn.lab.views.explanation import explanation_view
from cornerturn.toolchain import unavailable_reason

from .printing import printed

KERNELS = [entry for entry in CATALOGUE if isinstance(entry, Kernel)]


def test_accesses_are_summed_by_line_space_kind_and_width():
    text = KernelText("k.cu", 10, ("a", "b", "c"))

    def access(position, line, space="global", width=4, **counts):
        return Access(position, f"k.cu:{line}", "", space, "load", width, requests=2, lanes=50, **counts)

    assert count_lines(
        text,
        [
            access(0, 11, sectors=8, sectors_ideal=7),
            access(1, 11, sectors=60, sectors_ideal=7),
            access(2, 11, width=8, sectors=30, sectors_ideal=14),
            access(3, 10, "shared", wavefronts=64, wavefronts_ideal=2),
            access(4, 10, "local"),
        ],
    ) == (
        LineCount(10, "shared", "load", 4, 1, 2, 50, 64, 2),
        LineCount(10, "local", "load", 4, 1, 2, 50, 0, 0),
        LineCount(11, "global", "load", 4, 2, 4, 100, 68, 14),
        LineCount(11, "global", "load", 8, 1, 2, 50, 30, 14),
    )


def test_a_line_knows_its_share_and_its_waste():
    each = LineCount(1, "global", "store", 4, 1, requests=10, lanes=320, found=320, ideal=40)
    assert (each.used, each.waste) == (0.125, 8)
    assert LineCount(1, "local", "store", 4, 1, 10, 320).waste == 1


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
@pytest.mark.parametrize("shape", [(128, 128), (100, 100)], ids=str)
def test_the_lines_of_every_kernel_add_up_to_its_counters(kernel, shape):
    if reason := unavailable_reason(kernel.source):
        pytest.skip(reason)
    shape = next(each for each in (shape, (96, 176), (128, 128), (5, 4096)) if not kernel.refuses(*each))
    found = explain(kernel, *shape)
    counters = count(run_emulated(kernel, distinct(*shape, kernel.element_bytes)).emulation.accesses)
    assert found.faults == ()
    for traffic in counters.by_place():
        lines = [each for each in found.counts if f"{each.space} {each.kind}" == traffic.place]
        assert sum(each.requests for each in lines) == traffic.requests
        assert sum(each.found for each in lines) == traffic.found
        assert sum(each.ideal for each in lines) == traffic.ideal
    inside = range(found.text.first, found.text.first + len(found.text.lines))
    assert all(each.line in inside for each in found.counts)
    assert printed(explanation_view(found))


@pytest.mark.parametrize(
    ("kernel", "lines"),
    [
        (
            "shared_no_padding",
            {
                "tile[ty + k][tx] = x[(row0 + ty + k) * cols + col0 + tx];": [
                    ("global", "load", 4),
                    ("shared", "store", 4),
                ],
                "y[(col0 + ty + k) * rows + row0 + tx] = tile[tx][ty + k];": [
                    ("shared", "load", 4),
                    ("global", "store", 4),
                ],
            },
        ),
        (
            "f32x4_shared_col2row2d",  # load4 and store4 are inlined: what they do belongs to the lines that call them
            {
                "store4(&tile[row][col], load4(&x[(row0 + row) * cols + col0 + col]));": [
                    ("global", "load", 1),
                    ("shared", "store", 1),
                ],
                "store4(&y[(col0 + c) * rows + row0 + r],": [("global", "store", 1)],
                "make_float4(tile[r][c], tile[r + 1][c], tile[r + 2][c], tile[r + 3][c]));": [("shared", "load", 4)],
            },
        ),
        (
            "tiled_async",
            {
                "copy_async(&buffers[i % 2][ty + k][tx], &x[(row0 + ty + k) * cols + col0 + tx]);": [
                    ("global", "load", 8),
                    ("shared", "store", 8),
                ],
                "y[(col0 + ty + k) * rows + row0 + tx] = buffers[i % 2][tx][ty + k];": [
                    ("shared", "load", 4),
                    ("global", "store", 4),
                ],
            },
        ),
    ],
)
def test_each_access_stands_at_the_line_that_says_it(kernel, lines):
    found = explain(find(kernel), 64, 64)
    seen = {}
    for each in found.counts:
        line = found.text.lines[each.line - found.text.first].strip()
        seen.setdefault(line, []).append((each.space, each.kind, each.instructions))
    assert seen == lines


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"at": (2, 0)},
            "block 2,0 is outside the 2 x 3 blocks of this launch: x goes from 0 to 1 and y from 0 to 2",
        ),
        ({"at": (0, 3)}, "block 0,3 is outside the 2 x 3 blocks"),
        ({"warp": 32}, "a block of this launch has 32 warps, 0 to 31: got 32"),
    ],
)
def test_what_lies_outside_of_the_launch_is_refused(options, message):
    with pytest.raises(UsageError) as refused:
        explain(find("naive"), 96, 64, **options)
    assert message in str(refused.value)
