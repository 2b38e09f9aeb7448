"""Counts by line, their sums, and the whole explanation as it is printed."""

import pytest
from rich.console import Console

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

KERNELS = [entry for entry in CATALOGUE if isinstance(entry, Kernel)]


def printed(found):
    console = Console(width=120)
    with console.capture() as shown:
        console.print(explanation_view(found))
    return [line.rstrip() for line in shown.get().splitlines()]


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
    shape = next(each for each in (shape, (96, 176), (5, 4096)) if not kernel.refuses(*each))
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
    assert printed(found)


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


def test_the_naive_transpose_explained():
    lines = printed(explain(find("naive"), 1024, 1024, at=(2, 1), warp=3))
    source = lines.index("15 │     if (r < rows && c < cols) y[c * rows + r] = x[r * cols + c];")
    assert [" ".join(line.split()) for line in lines[source + 1 : source + 3]] == [
        "▸ global load 4 B 32,768 requests 4/4 sectors 100% of their bytes used",
        "▸ global store 4 B 32,768 requests 32/4 sectors 12.5% of their bytes used",
    ]
    first = 35 * 1024 + 64  # row 32 + 3, column 64
    assert f"   0   x[35, 64]  +{4 * first}   y[64, 35]  +{4 * (64 * 1024 + 35)}" in lines
    assert f"  31   x[35, 95]  +{4 * first + 124}   y[95, 35]  +{4 * (95 * 1024 + 35)}" in lines
    assert "    x[35, 64] │01234567│89abcdef│ghijklmn│opqrstuv│" in lines
    assert "    y[64, 32] │···0····│        │        │        │" in lines


def test_a_bank_conflict_explained():
    lines = printed(explain(find("shared_no_padding"), 64, 64))
    (note,) = (" ".join(line.split()) for line in lines if "▸ shared load" in line)
    assert note == "▸ shared load 4 B x4 128 requests 32/1 wavefronts 32-way conflict"
    assert "    lanes 0-31 │0       │        │        │        │" in lines
    assert "    lanes 0-31 │v       │        │        │        │" in lines
    assert "             ⋮  30 more like it" in lines
    assert "    3 more of this pattern, lane 0 at +32, +64, +96" in lines


def test_addresses_fit_80_columns():
    lines = printed(explain(find("f32x4_shared_bcf_col2row2d"), 1024, 1024, at=(15, 63), warp=7))
    lanes = [line for line in lines if line.startswith(("lane ", "  31 "))]
    assert len(lanes) == 6  # three tables
    assert max(map(len, lanes)) <= 80


def test_a_warp_outside_of_the_matrix_is_said_to_be_idle():
    lines = printed(explain(find("naive"), 3, 5, warp=7))
    assert "No lane of this warp touches memory: it is outside the matrix." in lines


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
