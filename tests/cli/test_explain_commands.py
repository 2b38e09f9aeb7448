"""``cornerturn explain`` and ``trace`` from the command line."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from cornerturn.kernels.cute_family import CUTE
from cornerturn.kernels.production.h200 import H200
from cornerturn.op.gpu.engine import into_new
from cornerturn.op.gpu.plan import choose
from cornerturn.op.strided_view import c_order
from cornerturn.toolchain import unavailable_reason

from .command import assert_refused, run


def test_explain_shows_source_addresses_and_diagnosis():
    done = run("explain", "naive", "--size", "64x96", "--block", "2,1", "--warp", "3")
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.startswith("naive, x is 64 x 96: 3 x 2 x 1 blocks of 32 x 32 x 1 threads\n")
    for part in (
        "15 │     if (r < rows",
        "▸ global store",
        "Block 2,1, warp 3",
        "x[35, 64]  +13696",
        "Diagnosis\n- Bytes",
    ):
        assert part in done.stdout


def test_explain_draws_an_svg(tmp_path):
    path = tmp_path / "naive.svg"
    assert run("explain", "naive", "--size", "64x64", "--svg", path).exit_code == 0
    tree = ElementTree.parse(path).getroot()
    assert tree.find("{http://www.w3.org/2000/svg}title").text == "naive, 64 x 64, block 0,0, warp 0"


def test_explain_shows_what_a_move_could_take_without_a_gpu(tmp_path):
    path = tmp_path / "move.json"
    done = run("explain", "--move", "64x3x16x14x16x14:0,2,4,3,5,1", "--element-bytes", 2, "--json", path)
    assert (done.exit_code, done.stderr) == (0, "")
    choice = choose(*into_new(c_order((64, 3, 16, 14, 16, 14), 2).permuted((0, 2, 4, 3, 5, 1))), H200)
    assert done.stdout == f"{choice}\n"
    asked = {"move": "64x3x16x14x16x14:0,2,4,3,5,1", "element_bytes": 2, "device": "NVIDIA H200"}
    assert json.loads(path.read_text()) == json.loads(json.dumps(asked | choice.to_json()))


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        ("--move 300x400", "moves   400 x 300 elements of 4 bytes;"),
        ("--move 300x400:0,1", "moves   30000 elements of 16 bytes;"),
        ("--move 300x400[:,1:] --element-bytes 2", "moves   399 x 300 elements of 2 bytes;"),
        ("--move 300x400 --element-bytes 12", "moves   400 x 300 x 3 elements of 4 bytes;"),
        ("--move 1x1", "moves   1 element of 4 bytes;"),
    ],
)
def test_a_move_is_a_shape_a_part_of_it_and_axes(arguments, shown):
    assert run("explain", *arguments.split()).stdout.startswith(shown)


def test_trace_follows_a_thread():
    done = run("trace", "tiled_32", "--block", "1,0", "--thread", "3,2", "--size", "64x64")
    assert (done.exit_code, done.stderr) == (0, "")
    assert "Arrived where they belong: x[3, 34] at y[34, 3]." in done.stdout


def test_trace_takes_the_first_block_where_none_is_given():
    thread = ("--thread", "3,2", "--size", "64x64")
    assert run("trace", "naive", *thread).stdout == run("trace", "naive", "--block", "0,0", *thread).stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("explain nave", "unknown kernel 'nave': did you mean 'naive'?"),
        ("explain view", "view moves nothing: there is nothing to follow"),
        ("trace view --block 0,0 --thread 0,0", "view moves nothing"),
        ("explain naive --size 64", "'64' is not ROWSxCOLS, two positive integers"),
        ("explain naive --size 0x4", "'0x4' is not ROWSxCOLS"),
        ("explain naive --block 7", "'7' is not X,Y, two integers such as 3,2"),
        ("explain naive --block 0,-1", "'0,-1' is not X,Y"),
        ("explain naive --size 64x64 --block 2,0", "block 2,0 is outside the 2 x 2 blocks of this launch"),
        ("explain naive --size 64x64 --warp 32", "a block of this launch has 32 warps, 0 to 31: got 32"),
        ("explain f32x4_col2row --size 4x6", "f32x4_col2row refuses 4x6: cols must be a multiple of 4: got 6"),
        ("explain naive --size 9999999x9999999", "choose a smaller size"),
        ("explain naive --size 8x8 --svg nowhere/x.svg", "nowhere"),
        ("explain", "nothing to explain: give a KERNEL (`cornerturn list` shows them), or --move SHAPE:AXES"),
        ("explain naive --move 3x4", "KERNEL and --move exclude each other: give naive or --move 3x4, not both"),
        ("explain --move 3x4 --size 3x4", "--size is about a KERNEL, and --move names none: omit it"),
        ("explain --move 3x4 --block 0,0", "--block is about a KERNEL"),
        ("explain --move 3x4 --warp 0", "--warp is about a KERNEL"),
        ("explain --move 3x4 --svg x.svg", "--svg is about a KERNEL"),
        ("explain naive --element-bytes 4", "--element-bytes is about --move: give a move and no KERNEL, or omit it"),
        ("explain naive --json x.json", "--json is about --move"),
        ("explain --move 3x4 --json nowhere/x.json", "nowhere"),
        ("explain --move 3x4 --element-bytes 0", "0 is not in the range"),
        ("explain --move large", "unknown move: got 'large'; give a shape and axes"),
        ("explain --move 1048576x1048577 --element-bytes 1", "and at most 1 TiB is supported"),
        (f"explain --move {'2x' * 32}2", "x has 33 axes, and at most 32"),
        ("trace naive --block 0,0", "Missing option '--thread'"),
        ("trace naive --block 0,0 --thread 0,0,0", "'0,0,0' is not X,Y"),
        ("trace naive --block 0,0 --thread 32,0 --size 8x8", "thread 32,0 is outside the 32 x 32 threads"),
    ],
)
def test_a_mistake_is_one_line_and_status_2(arguments, message):
    assert_refused(arguments.split(), message)


def without_numbers(text):
    """The lines, each with its numbers alike: those of a move change whenever the planner learns more."""
    return [" ".join(re.sub(r"[0-9.,]*[0-9]", "#", line).split()) for line in text.splitlines()]


@pytest.mark.parametrize(("guide", "count"), [("explain.md", 3), ("trace.md", 2)])
def test_the_guides_show_what_the_commands_print(guide, count):
    text = (Path(__file__).parents[2] / "docs" / guide).read_text(encoding="utf-8")
    examples = re.findall(r"^```\n\$ cornerturn (.*)\n([^`]*)^```$", text, re.MULTILINE)
    assert len(examples) == count
    for command, shown in examples:
        if "cute" in command and unavailable_reason(CUTE[0].source):
            continue
        lines = without_numbers if "--move" in command else str.splitlines
        printed = iter(lines(run(*command.split()).stdout))
        missing = [line for line in lines(shown) if line != "..." and line not in printed]
        assert missing == []
