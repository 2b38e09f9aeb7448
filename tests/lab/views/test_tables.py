import io
import re
from dataclasses import replace

import pytest
from rich.console import Console

from cornerturn.gpu import Timing
from cornerturn.kernels.catalogue import CATALOGUE
from cornerturn.lab.counts import Counters
from cornerturn.lab.measuring import Bench, Result
from cornerturn.lab.views import tables
from cornerturn.lab.views.tables import bench_view, catalogue_table, pairs_table


def tables_of(results, title):
    return bench_view(Bench(tuple(results), {}, title))


COUNTERS = Counters(10, 40, 40, 10, 320, 40, 0, 0, 0, 10, 15, 10)
LONGEST = "f32x4_shared_bcf_merge_write_row2col2d"


def emulated(kernel="naive", rows=32, cols=32, status="valid", **fields):
    return Result(kernel, "textbook", rows, cols, 8 * rows * cols, "emulator", status, **fields)


def timed(kernel, median, roof):
    timing = Timing(median, 0.9 * median, 1.1 * median, 50)
    return Result(kernel, "textbook", 1000, 1000, 8_000_000, "gpu", "valid", timing=timing, roof_seconds=roof)


def render(table, width=120, colours=False):
    console = Console(
        file=io.StringIO(), width=width, force_terminal=colours, color_system="truecolor" if colours else None
    )
    console.print(table)
    return console.file.getvalue()


def row_of(text, kernel):
    return next(line.split() for line in text.splitlines() if line.startswith(kernel))


def test_emulated_counts_stand_beside_their_ideals():
    text = render(tables_of([emulated(counters=COUNTERS, instructions=320)], "emulator"))
    assert "32 x 32, 4-byte elements, emulator" in text
    assert row_of(text, "naive") == ["naive", "4/4", "32/4", "-", "1.5/1", "10", "valid"]


def test_waste_is_coloured_and_the_ideal_is_dim():
    text = render(tables_of([emulated(counters=COUNTERS, instructions=320)], "emulator"), colours=True)
    for style, cell in (("1;31", "32/4"), ("33", "1.5/1"), ("2", "4/4")):
        assert re.search(rf"\x1b\[{style}m *{cell}", text)


def test_gpu_rows_show_time_spread_speed_and_share():
    text = render(tables_of([timed("naive", 20e-6, 4e-6), timed("copy", 4e-6, 4e-6)], "GPU"))
    assert row_of(text, "naive") == ["naive", "20.00", "18.00", "-", "22.00", "400", "20%", "valid"]
    assert row_of(text, "copy") == ["copy", "4.00", "3.60", "-", "4.40", "2,000", "100%", "valid"]
    assert "2,000 GB/s" in text


def test_long_times_have_no_decimals():
    text = render(tables_of([timed("naive", 1234.5e-6, 1e-3)], "GPU"))
    assert row_of(text, "naive")[1:5] == ["1,234", "1,111", "-", "1,358"]


def test_rows_that_did_not_run_say_why():
    results = [
        emulated("first", status="refused", refused="cols must be even: got 3"),
        emulated(
            "second", status="wrong", faults=("one of 9 elements is wrong", "k.cu:3: misaligned"), counters=COUNTERS
        ),
        emulated("stuck", status="failed", faults=("k.cu:4: still looping",)),
        emulated("third", status="refused", refused="cols must be even: got 3"),
        emulated("view", status="not materialised", refused="a view moves nothing"),
    ]
    text = render(tables_of(results, "emulator"))
    assert row_of(text, "first") == ["first", "refused"]
    assert "failed: stuck: k.cu:4: still looping\n" in text
    assert row_of(text, "stuck") == ["stuck", "failed"]
    assert row_of(text, "view") == ["view", "a", "view"]
    assert "refused: cols must be even: got 3: first, third\n" in text
    assert "wrong: second: one of 9 elements is wrong\n" in text
    assert "wrong: second: k.cu:3: misaligned\n" in text


def test_kernels_without_their_compiler_say_what_brings_it():
    reason = "CuTe kernels need a compiler; install it with: pip install 'cornerturn[cute]'"
    results = [emulated(kernel, status="not installed", refused=reason) for kernel in ("first", "second")]
    text = render(tables_of(results, "emulator"), width=140)
    assert row_of(text, "first") == ["first", "not", "installed"]
    assert f"not installed: {reason}: first, second\n" in text


def test_brackets_in_text_are_no_markup():
    results = [emulated("k", status="wrong", faults=("y[0, 1] is [red] wrong",))]
    assert "y[0, 1] is [red] wrong" in render(tables_of(results, "a [bold] device"))
    assert "a [bold] device" in render(tables_of(results, "a [bold] device"))


def test_each_element_size_has_a_table_and_a_roof_of_its_own():
    def sized(kernel, size, roof):
        return replace(timed(kernel, 20e-6, roof), bytes=2 * size * 1000 * 1000)

    text = render(tables_of([sized("one", 1, 4e-6), sized("eight", 8, 8e-6), sized("more", 1, 4e-6)], "GPU"))
    ones, eights = text.index("1000 x 1000, 1-byte elements, GPU"), text.index("1000 x 1000, 8-byte elements, GPU")
    assert ones < text.index("\none") < text.index("\nmore") < text.index(" 500 GB/s") < eights
    assert eights < text.index("\neight") < text.index(" 2,000 GB/s")


def test_there_is_one_table_a_size_in_the_order_given():
    results = [emulated(rows=rows, counters=COUNTERS, instructions=1) for rows in (64, 32)]
    text = render(tables_of(results, "emulator"))
    assert text.index("64 x 32") < text.index("32 x 32")


@pytest.mark.parametrize("width", [80, 120, 200])
def test_tables_fit_the_terminal_and_lose_no_text(width):
    odd = Counters(7, 29 * 7 + 2, 4 * 7 - 1, 7, 207, 27, 7, 224, 7, 7, 15, 7)
    view = emulated("view", 1000, 1000, "not materialised", refused="a view moves nothing")
    results = [emulated(LONGEST, 1000, 1000, counters=odd, instructions=10**6), timed(LONGEST, 1.5e-2, 1e-2)]
    for result in results:
        text = render(tables_of([result, view], "device"), width)
        assert all(len(line) <= width for line in text.splitlines())
        for word in ("valid", "a view", "f32x4_shared_bcf_merge_"):
            assert re.search(rf"\b{word}", text)
        assert (LONGEST in text) == (width > 80)


@pytest.mark.parametrize("width", range(60, 90))
def test_a_name_is_broken_between_its_words(width):
    text = render(tables_of([emulated(LONGEST, counters=COUNTERS, instructions=320)], "emulator"), width)
    pieces = [line.split()[0] for line in text.partition("─\n")[2].splitlines() if line and line.split()[0] in LONGEST]
    assert "".join(pieces) == LONGEST
    assert all(piece.endswith("_") for piece in pieces[:-1])


def test_no_number_is_cut_or_broken_at_any_width_that_is_enough():
    table = tables_of([timed(LONGEST, 1.5, 1e-2)], "device")
    needed = Console(width=10_000).measure(table).minimum
    for width in range(needed, 120):
        assert "1,500,000 1,350,000 - 1,650,000  " in render(table, width)


def test_the_catalogue_lists_every_entry_in_order():
    text = render(catalogue_table(CATALOGUE), width=80)
    positions = [text.index(f"\n  {entry.name} ") for entry in CATALOGUE]
    assert positions == sorted(positions)
    for family in ("handwritten", "textbook", "cute", "controls", "production"):
        assert text.count(f"\n{family}") == 1
    assert all(len(line) <= 80 for line in text.splitlines())


def test_the_catalogue_says_which_family_cannot_be_compiled(monkeypatch):
    def reason(source):
        return "no compiler for it" if source.file == "cute.py" else None

    monkeypatch.setattr(tables, "unavailable_reason", reason)
    text = render(catalogue_table(CATALOGUE))
    assert re.search(r"\ncute +no compiler for it *\n", text)
    assert text.count("no compiler for it") == 1


def test_facts_are_one_a_line():
    assert render(pairs_table([("python", "3.11"), ("cache", "here")])).split() == ["python", "3.11", "cache", "here"]
