"""``cornerturn explain`` and ``trace`` from the command line."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from cornerturn.kernels.cute_family import CUTE
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
        ("trace naive --block 0,0", "Missing option '--thread'"),
        ("trace naive --block 0,0 --thread 0,0,0", "'0,0,0' is not X,Y"),
        ("trace naive --block 0,0 --thread 32,0 --size 8x8", "thread 32,0 is outside the 32 x 32 threads"),
    ],
)
def test_a_mistake_is_one_line_and_status_2(arguments, message):
    assert_refused(arguments.split(), message)


@pytest.mark.parametrize("guide", ["explain.md", "trace.md"])
def test_the_guides_show_what_the_commands_print(guide):
    text = (Path(__file__).parents[2] / "docs" / guide).read_text(encoding="utf-8")
    examples = re.findall(r"^```\n\$ cornerturn (.*)\n([^`]*)^```$", text, re.MULTILINE)
    assert len(examples) == 2
    for command, shown in examples:
        if "cute" in command and unavailable_reason(CUTE[0].source):
            continue
        printed = iter(run(*command.split()).stdout.splitlines())
        missing = [line for line in shown.splitlines() if line != "..." and line not in printed]
        assert missing == []
