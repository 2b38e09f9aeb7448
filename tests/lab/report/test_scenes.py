"""The explorer's record of a few blocks, held against the laboratory's own functions, and its formulas evaluated."""

import json
import re

import numpy as np
import pytest

from cornerturn.emulator.counting import WARP
from cornerturn.kernels.catalogue import CATALOGUE, find, in_family
from cornerturn.kernels.kernel import Kernel
from cornerturn.lab.footprint import footprints
from cornerturn.lab.observation import NONE, VARIABLE, run_block
from cornerturn.lab.report.scenes import BARRIER, scenes
from cornerturn.lab.tracing import trace
from cornerturn.toolchain import unavailable_reason

# Of the production kernels those of 1, 4 and 8 bytes: the other sizes show nothing new.
OTHER_SIZES = {entry.name for entry in in_family("production") if entry.element_bytes in (2, 16)}
KERNELS = [entry for entry in CATALOGUE if isinstance(entry, Kernel) and entry.name not in OTHER_SIZES]
SHAPES = [(256, 128), pytest.param((100, 36), marks=pytest.mark.long)]


@pytest.fixture(params=KERNELS, ids=lambda kernel: kernel.name)
def kernel(request):
    if reason := unavailable_reason(request.param.source):
        pytest.skip(reason)
    return request.param


def shape_for(kernel, shape):
    """That shape, or another that is square, or has whole sectors, or whole boxes, or a short side."""
    return next(
        each for each in (shape, (shape[0], shape[0]), (96, 176), (128, 128), (5, 4096)) if not kernel.refuses(*each)
    )


def requests_of(record, steps):
    """Each request of a warp with its numbers put together, as the page does."""
    for step in steps:
        if step[0] == BARRIER:
            continue
        instruction, picture = record["instructions"][step[0]], record["pictures"][step[1]]
        _, _, base, formula, values, first, *writers = step
        yield {
            **instruction,
            "picture": picture,
            "formula": record["formulas"][formula],
            "offsets": [base + offset for offset in record["series"][picture["offsets"]]],
            "values": [first + value for value in record["series"][values]],
            "writers": [writers[1] + thread for thread in record["series"][writers[0]]] if writers else None,
        }


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_record_says_what_footprint_and_trace_say(kernel, shape):
    rows, cols = shape_for(kernel, shape)
    record = scenes(kernel, rows, cols)
    json.dumps(record, allow_nan=False)
    for block in (record["blocks"][0], record["blocks"][-1]):
        run = run_block(kernel, rows, cols, tuple(block["at"]))
        warp = len(block["warps"]) - 1
        alike = footprints(run, warp)
        found = list(requests_of(record, block["warps"][warp]))
        expected = [(each.first.line, each.first.passes, each.first.ideal) for each in alike for _ in each.offsets]
        assert sorted((each["line"], each["picture"]["passes"], each["picture"]["ideal"]) for each in found) == sorted(
            expected
        )
        number = warp * WARP
        width = run.block[0]
        steps = trace(kernel, rows, cols, tuple(block["at"]), (number % width, number // width)).steps
        mine = [each for each in found if 0 in each["picture"]["lanes"]]
        assert [(each["kind"], each["memory"], each["line"], each["offsets"][0]) for each in mine] == [
            (step.kind, step.memory, step.line, step.offset) for step in steps
        ]
        for each, step in zip(mine, steps, strict=True):
            count = each["width"] // kernel.element_bytes
            values = each["values"][: max(1, count)]
            assert [None if value == NONE else divmod(value, cols) for value in values] == list(step.values)
            if step.writers:
                assert [run.thread(thread) for thread in each["writers"][:count]] == list(step.writers)


def evaluate(formula, names):
    return eval(formula.replace(" / ", " // "), {}, names)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_every_formula_gives_the_very_addresses(kernel, shape):
    rows, cols = shape_for(kernel, shape)
    record = scenes(kernel, rows, cols)
    width = kernel.launch(rows, cols).block[0]
    for block in record["blocks"]:
        for warp, steps in enumerate(block["warps"]):
            for each in requests_of(record, steps):
                if not each["formula"] and kernel.name.startswith("ragged"):
                    continue  # rounded down to whole units, or whole sectors
                assert each["formula"], f"line {each['line']}: no formula for {each['kind']} {each['memory']}"
                number = np.array(each["picture"]["lanes"]) + WARP * warp
                bx, by = block["at"]
                names = {"tx": number % width, "ty": number // width, "bx": bx, "by": by, "rows": rows, "cols": cols}
                if each["memory"] in ("shared", VARIABLE):
                    assert (evaluate(each["formula"], names) == np.array(each["offsets"])).all()
                    continue
                place, _, index = each["formula"].partition(" with i = ")
                if index:
                    names["i"] = evaluate(index, names)
                row, col = re.fullmatch(r"\w\[(.*), (.*)\]", place).groups()
                flat = evaluate(row, names) * record["pitch"][each["memory"]] + evaluate(col, names)
                assert (flat * kernel.element_bytes == np.array(each["offsets"])).all()


def test_cells_show_who_uses_a_word_and_what_is_moved_for_nothing():
    record = scenes(find("naive"), 64, 64)
    load, store = requests_of(record, record["blocks"][0]["warps"][0])
    assert load["picture"]["rows"] == [[0, "0123456789abcdefghijklmnopqrstuv"]]
    assert store["picture"]["rows"][:2] == [[0, "0-------" + 24 * "."], [256, "1-------" + 24 * "."]]
    assert (store["picture"]["passes"], store["picture"]["ideal"]) == (32, 4)


def test_wavefronts_of_a_conflict_lie_above_each_other_in_one_bank():
    record = scenes(find("shared_no_padding"), 64, 64)
    takes = [each for each in requests_of(record, record["blocks"][0]["warps"][3]) if each["writers"]]
    rows = takes[0]["picture"]["rows"]
    assert [row[:2] for row in rows] == [[0, 31]] * 32
    assert {row[2].strip(".") for row in rows} == set("0123456789abcdefghijklmnopqrstuv")
    assert {len(row[2]) - len(row[2].lstrip(".")) for row in rows} == {3}


def phases(name, warp=0):
    record = scenes(find(name), 256, 256)
    for step in record["blocks"][0]["warps"][warp]:
        if step[0] == BARRIER:
            yield "barrier"
        else:
            instruction = record["instructions"][step[0]]
            yield f"{instruction['kind']} {instruction['memory']}"


def test_a_barrier_stands_where_the_warp_waits():
    assert list(phases("naive")) == ["load x", "store y"]
    assert list(phases("tiled_32")) == ["load x", "store shared", "barrier", "load shared", "store y"]


def test_in_a_loop_every_turn_has_its_barriers():
    seen = list(phases("tiled_async"))
    assert seen[:2] == ["load x", "store shared"]
    stages, turns = 4 * 4, 4
    assert (seen.count("store shared"), seen.count("load shared")) == (stages, stages)
    assert seen.count("barrier") == 2 * turns - 1  # data has arrived, buffer is free again; none after the last turn
    assert all("barrier" in seen[: n + 1] for n, each in enumerate(seen) if each == "load shared")


def test_the_barrier_is_on_its_line():
    record = scenes(find("tiled_32"), 64, 64)
    line = next(step[1] for step in record["blocks"][0]["warps"][0] if step[0] == BARRIER)
    text = find("tiled_32").source.text.splitlines()
    assert "__syncthreads()" in text[line - 1]


def test_the_blocks_are_the_first_its_neighbours_and_the_last():
    at = lambda name, *shape: [block["at"] for block in scenes(find(name), *shape)["blocks"]]  # noqa: E731
    assert at("naive", 96, 128) == [(0, 0), (1, 0), (0, 1), (3, 2)]
    assert at("naive", 32, 32) == [(0, 0)]
    assert at("f32_col2row", 32, 64) == [(0, 0), (1, 0), (7, 0)]


def test_where_no_formula_holds_for_all_blocks_each_has_its_own():
    record = scenes(find("f32_diagonal2d"), 64, 64)
    loads = [next(requests_of(record, block["warps"][0]))["formula"] for block in record["blocks"]]
    assert loads == ["x[tx, ty]", "x[tx + 16, ty + 16]", "x[tx, ty + 16]", "x[tx + 48, ty + 32]"]
