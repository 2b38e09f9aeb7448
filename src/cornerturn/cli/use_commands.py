"""``cornerturn compare`` and ``transpose``: how fast transpose() is, and its use on a file."""

import re
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

import click

from cornerturn.cli.options import FILE_PATH, PLOT, json_option
from cornerturn.cli.shell import say, show, write_json
from cornerturn.errors import UsageError
from cornerturn.files import check_outputs, replacing
from cornerturn.lab.views import plots
from cornerturn.measure.cases import DTYPES, GPU_DTYPES, Case, held_as
from cornerturn.measure.compare import OURS, Measurement
from cornerturn.measure.compare_views import draw
from cornerturn.measure.comparison import Drawn
from cornerturn.measure.contest import ENGINES, contest_on
from cornerturn.measure.groups import parse_case
from cornerturn.op.file import DEFAULT_MEMORY, HONOURED_MEMORY, MIN_MEMORY, OWN_MEMORY, transpose_file
from cornerturn.progress import progress_bar

_UNITS = {"": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "KB": 10**3, "MB": 10**6, "GB": 10**9}


def _parse_axes(_: click.Context, __: click.Parameter, text: str | None) -> list[int] | None:
    """``1,0`` -> ``[1, 0]``."""
    if text is None:
        return None
    if not re.fullmatch(r"-?[0-9]{1,9}(,-?[0-9]{1,9})*", text):
        raise click.BadParameter(f"{text!r} is not a list of axes such as 1,0")
    return [int(axis) for axis in text.split(",")]


def _bytes(text: str) -> int:
    """``512MiB`` -> 536870912."""
    match = re.fullmatch(r"([0-9]{1,15})([KMG]i?B)?", text)
    if not match:
        raise click.BadParameter(f"{text!r} is not a number of bytes such as 512MiB or 2GB")
    return int(match[1]) * _UNITS[match[2] or ""]


def _parse_bytes(_: click.Context, __: click.Parameter, text: str | None) -> int:
    if text is None:
        return DEFAULT_MEMORY
    memory = _bytes(text)
    if memory < MIN_MEMORY:
        raise click.BadParameter(f"{text!r} is too little: give at least {MIN_MEMORY >> 20}MiB")
    return memory


@click.command()
@click.argument("source", metavar="IN.npy", type=FILE_PATH)
@click.argument("target", metavar="OUT.npy", type=FILE_PATH)
@click.option("--axes", metavar="A,B,...", callback=_parse_axes, help="Axis A becomes the first, and so on.")
@click.option("--force", is_flag=True, help="Replace OUT.npy if it exists.")
@click.option(
    "--memory", metavar="BYTES", callback=_parse_bytes, help="Hold at most this, from 256MiB on: 1GiB by default."
)
def transpose(source: Path, target: Path, axes: list[int] | None, force: bool, memory: int) -> None:
    """Transpose a file, also one far larger than memory.

    Without --axes the axes are reversed. OUT.npy appears when it is whole: an interrupted run leaves no half
    file, and what was there before stays.
    """
    if memory < HONOURED_MEMORY:
        say(
            f"Python and the compiled engine take about {OWN_MEMORY >> 20}MiB in any case: --memory bounds the process "
            f"from {HONOURED_MEMORY >> 20}MiB on"
        )
    start = time.perf_counter()
    with progress_bar(1) as advance:
        written = transpose_file(
            source, target, axes, force=force, memory=memory, step=lambda done: advance(0, target.name, done)
        )
    shape = "x".join(map(str, written.shape)) or "one element"
    say(f"{target}: {shape} {written.dtype}, {written.nbytes:,} bytes, {time.perf_counter() - start:.2f} s")


def _parse_cases(_: click.Context, __: click.Parameter, texts: Sequence[str]) -> list[Case]:
    """Each case once, in the order given."""
    return list(dict.fromkeys(case for text in texts for case in parse_case(text)))


def _parse_range(_: click.Context, __: click.Parameter, text: str | None) -> tuple[int, int] | None:
    """``64KiB:16MiB`` -> ``(65536, 16777216)``."""
    if text is None:
        return None
    low, colon, high = text.partition(":")
    if not colon:
        raise click.BadParameter(f"{text!r} is not a range of bytes such as 64KiB:16MiB")
    return _bytes(low), _bytes(high)


@click.command()
@click.option(
    "--case",
    "cases",
    multiple=True,
    metavar="CASE",
    callback=_parse_cases,
    help="large, small, models, a shape such as 8192x8192, a part such as 8192x8192[:,1:], or one of these with axes "
    "such as 64x1024x1024:0,2,1; repeatable.",
)
@click.option(
    "--dtype",
    "dtypes",
    multiple=True,
    type=click.Choice(sorted(dict.fromkeys((*DTYPES, *GPU_DTYPES)), key=lambda dtype: held_as(dtype).itemsize)),
    help="One dtype; repeatable. Cases of models have their own.",
)
@click.option(
    "--engine",
    "engines",
    multiple=True,
    type=click.Choice(ENGINES),
    help="Measure this one and no other library; repeatable. cornerturn and the copy are always measured.",
)
@click.option("--device", type=click.Choice(["cpu", "gpu"]), default="cpu", show_default=True, help="Where to measure.")
@click.option("--moves", type=click.IntRange(1), metavar="N", help="Measure N random moves instead of cases.")
@click.option("--seed", type=click.IntRange(0), metavar="S", help="Draw these moves and no others: 0 by default.")
@click.option(
    "--bytes",
    "sizes",
    metavar="LO:HI",
    callback=_parse_range,
    help="Of a random move; by default 4KiB:128MiB, on a GPU 32MiB:256MiB.",
)
@click.option(
    "--compiled",
    type=click.IntRange(0),
    metavar="K",
    help="Let torch.compile do the first K random moves, as each takes it seconds: 50 by default.",
)
@json_option("Write the results as JSON, anew after each case.")
@PLOT
def compare(
    cases: list[Case],
    dtypes: tuple[str, ...],
    engines: tuple[str, ...],
    device: str,
    moves: int | None,
    seed: int | None,
    sizes: tuple[int, int] | None,
    compiled: int | None,
    json_path: Path | None,
    plot_path: Path | None,
) -> None:
    """Measure transpose() against other libraries and the copy roof.

    All engines run in turn in one process; times are medians, and every result is checked. The libraries compared
    are those installed: pip install 'cornerturn[compare]' brings them, for a GPU 'cornerturn[gpu,compare-gpu]'. An
    interrupted run shows what it has measured.
    """
    check_outputs({"--json": json_path, "--plot": plot_path})
    plot_format = plots.file_format(plot_path) if plot_path else ""
    _check_moves(
        moves, {"--seed": seed, "--bytes": sizes, "--compiled": compiled}, {"--case": cases, "--dtype": dtypes}
    )
    contest = contest_on(device, engines, dtypes, many=bool(moves))
    drawn = Drawn(moves, seed or 0, *(sizes or contest.sizes)) if moves else None
    todo = contest.draw(drawn) if drawn else contest.pairs(cases, dtypes)
    results: list[Measurement] = []
    try:
        with closing(contest.run(todo, drawn, compiled)) as measured:
            for found in measured:
                results += found
                if json_path:  # each time: what was measured shall not be lost with what comes after it
                    write_json(json_path, contest.comparison(results, drawn).to_json())
        if plot_path:
            with replacing(plot_path) as file:
                draw(results, file, plot_format)
    finally:  # a full disk costs the file, not what was measured
        if results:
            show(contest.comparison(results, drawn))
    if any(row.status == "wrong" or (row.engine, row.status) == (OURS, "failed") for row in results):
        raise click.exceptions.Exit(1)


def _check_moves(moves: int | None, needing: Mapping[str, object], excluded: Mapping[str, object]) -> None:
    for option, value in needing.items():
        if value is not None and not moves:
            raise UsageError(f"{option} is about random moves: give --moves N too")
    for option, value in excluded.items():
        if value and moves:
            raise UsageError(f"--moves and {option} exclude each other: random moves have shapes of their own")
