"""What a user reads of the GPU planner: the table of candidates, and the same as numbers."""

import json
from dataclasses import fields, replace

import pytest

from cornerturn.kernels.production.device_code import Production
from cornerturn.op.gpu.candidates import Candidate
from cornerturn.op.gpu.choice import NAME_COLUMNS, WIDTH, Choice
from cornerturn.op.gpu.exact import exact_counts
from cornerturn.op.gpu.plan import choose
from cornerturn.op.gpu.traffic import NOTHING, ExactCounts, Traffic
from cornerturn.op.problem import canonical
from cornerturn.op.strided_view import c_order


def chosen(shape: tuple[int, ...], axes: tuple[int, ...], element: int, x: int = 0) -> Choice:
    source = c_order(shape, element).permuted(axes)
    y = c_order(source.shape, element)
    return choose(canonical(element, source.shape, source.strides, y.strides), x)


def make_nothing() -> Production:
    raise AssertionError


COUNTED = ExactCounts(Traffic(2, 8, 8), Traffic(4, 16, 8), NOTHING, NOTHING)


def counted() -> ExactCounts:
    return COUNTED


PATCHES = chosen((64, 3, 16, 14, 16, 14), (0, 2, 4, 3, 5, 1), 2)
MATRIX = chosen((8192, 8192), (1, 0), 4)
MANY_AXES = chosen((2,) * 24, tuple(range(23, -1, -1)), 4)
MEASURED = replace(
    MATRIX,
    candidates=(
        Candidate("turn 64 x 32", 2e-6, make_nothing, "measured at 0.98 of the copy", counted),
        Candidate("turn 32 x 32", 2e-3, make_nothing, "bound by memory, gathered from x itself", counted),
        Candidate("turn 32 x 32", 2e-3, make_nothing, "bound by memory, gathered from x itself", counted),
    ),
)
UNALIGNED = chosen((1000, 60), (1, 0), 4, x=1)


def rows(choice: Choice) -> list[str]:
    """The lines of the table below its headings."""
    _, table, *_ = str(choice).split("\n\n")
    return table.splitlines()[2:]


def test_it_says_what_moves_and_what_a_copy_takes() -> None:
    lines = str(PATCHES).splitlines()
    assert lines[0] == "moves   64 x 16 x 16 x 14 x 14 x 3 elements of 2 bytes; axes in y's order"
    assert lines[1] == "strides 301056, 6272, 28, 448, 2, 100352 -> 301056, 18816, 1176, 84, 6, 2 bytes"
    assert lines[2] == f"copy    {PATCHES.copy_seconds * 1e6:.1f} us for these 19,267,584 bytes"


def test_each_row_has_the_numbers_of_its_candidate_and_the_first_is_marked() -> None:
    expected = []
    for one in PATCHES.candidates:
        assert one.box is not None and one.counts is not None
        counts = one.counts
        numbers = [one.box.threads, f"{one.seconds * 1e6:.1f}", f"{PATCHES.copy_seconds / one.seconds:.2f}"]
        numbers += [f"{counts.blocks:,}", f"{counts.x_sectors:.2f}", f"{counts.y_sectors:.2f}"]
        numbers += [f"{counts.wavefronts / (one.box.volume * one.box.element) * 1024:.0f}"]
        expected.append(f"permute {' x '.join(map(str, one.box.chunks[::-1]))} {' '.join(map(str, numbers))} {one.why}")
    lines = rows(PATCHES)
    assert [" ".join(line[2:].split()) for line in lines] == list(dict.fromkeys(expected))
    assert [line[:2] for line in lines] == ["> ", *["  "] * (len(lines) - 1)]


def test_nothing_is_cut_off_however_many_axes() -> None:
    names = " ".join(word for line in rows(MANY_AXES) for word in line[2 : 2 + NAME_COLUMNS].split())
    for one in MANY_AXES.candidates:
        assert one.box is not None
        assert f"permute {' x '.join(map(str, one.box.chunks[::-1]))}" in names
    assert ", ".join(str(4 << axis) for axis in range(24)) in " ".join(str(MANY_AXES).split())


@pytest.mark.parametrize("choice", [PATCHES, MATRIX, MEASURED, MANY_AXES, UNALIGNED])
def test_it_fits_on_a_page_and_is_plain_text(choice: Choice) -> None:
    assert str(choice).isascii()
    assert max(map(len, str(choice).splitlines())) <= WIDTH + 6


def test_what_was_not_counted_has_no_counts_and_long_reasons_go_on_in_the_next_line() -> None:
    first, second, third = rows(MEASURED)  # candidates that look the same are shown once
    share = f"{MEASURED.copy_seconds / 2e-6:.2f}"
    assert " ".join(first.split()) == f"> turn 64 x 32 2.00 {share} measured at 0.98 of the copy"
    assert " ".join(second.split()).startswith("turn 32 x 32 2,000.0 0.07 bound by memory")
    place = second.index("bound by memory, gathered")
    assert (third[:place].strip(), third[place:]) == ("", "from x itself")


def test_elements_that_move_in_parts_are_said_to() -> None:
    assert str(UNALIGNED).startswith(
        "moves   60 x 1000 elements of 4 bytes, which are not aligned and move as parts of 1 byte; axes in y's order\n"
    )
    assert "parts" not in str(MATRIX)


def test_the_predictions_are_called_so() -> None:
    assert "predicted with the rates of an H200, not measured" in str(MATRIX)


def test_the_kernel_is_that_of_the_first_candidate() -> None:
    assert (MEASURED.kernel, PATCHES.kernel) == ("turn", PATCHES.candidates[0].name.split()[0])


def test_the_json_has_every_number() -> None:
    found = json.loads(json.dumps(MANY_AXES.to_json()))
    assert found["problem"]["shape"] == list(MANY_AXES.problem.shape)
    assert found["copy_seconds"] == MANY_AXES.copy_seconds
    assert [one["seconds"] for one in found["candidates"]] == [one.seconds for one in MANY_AXES.candidates]
    first, best = found["candidates"][0], MANY_AXES.candidates[0]
    assert best.box is not None and best.counts is not None and best.cost is not None
    assert (first["kernel"], first["name"], first["why"]) == ("permute", best.name, best.why)
    assert first["copy_share"] == MANY_AXES.copy_seconds / best.seconds
    assert (first["box"], first["threads"]) == (list(best.box.chunks[::-1]), best.box.threads)
    assert (first["counts"]["wavefronts"], first["cost"]["memory"]) == (best.counts.wavefronts, best.cost.memory)
    not_counted = json.loads(json.dumps(MEASURED.to_json()))["candidates"][0]
    assert [not_counted[name] for name in ("box", "threads", "counts", "cost")] == [None] * 4


def test_what_is_taken_is_counted_exactly() -> None:
    box = PATCHES.candidates[0].box
    assert box is not None
    counts = exact_counts(box)
    heading, *lines = str(PATCHES).split("\n\n")[-1].splitlines()
    assert heading == "permute 1 x 1 x 8 x 14 x 14 x 3 counts exactly (per request: found/ideal)"
    assert [line.split()[:3] for line in lines] == [
        [*field.name.split("_"), f"{getattr(counts, field.name).requests:,}"] for field in fields(counts)
    ]
    requests, found, ideal = counts.shared_load
    assert lines[2].split()[3:] == ["requests", f"{found / requests:.3g}/{ideal / requests:.3g}", "wavefronts"]
    written = json.loads(json.dumps(PATCHES.to_json()))["candidates"][0]["exact"]
    assert written["shared_load"] == {"requests": requests, "found": found, "ideal": ideal}


def test_each_candidate_has_its_exact_counts() -> None:
    assert str(MEASURED).splitlines()[-3:] == [
        "turn 64 x 32 counts exactly (per request: found/ideal)",
        "  global load                 2 requests        4/4 sectors",
        "  global store                4 requests        4/2 sectors",
    ]
    for one in MEASURED.to_json()["candidates"]:  # type: ignore[attr-defined]
        assert one["exact"]["global_store"] == {"requests": 4, "found": 16, "ideal": 8}


def test_a_tile_is_counted_too() -> None:
    tile = next(one for one in MATRIX.candidates if one.name.startswith("tile"))
    assert tile.exact().global_load.found == 8192 * 8192 * 4 // 32
