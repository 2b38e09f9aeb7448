"""``cornerturn compare`` and ``transpose``: how fast transpose() is, and its use on a file."""

import re
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import click
import numpy as np

from cornerturn import __version__
from cornerturn.cli.options import FILE_PATH, PLOT, json_option
from cornerturn.cli.shell import or_else, progress_bar, say, show, write_json
from cornerturn.errors import MissingExtraError, UsageError
from cornerturn.files import check_outputs, replacing
from cornerturn.gpu import open_device
from cornerturn.lab.views import plots
from cornerturn.measure.cases import DTYPES, GPU_DTYPES, Case, held_as
from cornerturn.measure.compare import OURS, Measurement
from cornerturn.measure.compare_cpu import compare_on_cpu, cpu_record, cpu_title
from cornerturn.measure.compare_gpu import compare_on_gpu, gpu_record
from cornerturn.measure.compare_views import compare_tables, draw, moves_tables
from cornerturn.measure.groups import LARGE, SMALL, for_cpu, parse_case
from cornerturn.measure.moves import random_moves
from cornerturn.measure.peers import Library
from cornerturn.measure.peers_cpu import CPU_PEERS
from cornerturn.measure.peers_gpu import GPU_PEERS
from cornerturn.measure.stage import Pools
from cornerturn.measure.summary import summarize
from cornerturn.op.file import DEFAULT_MEMORY, HONOURED_MEMORY, MIN_MEMORY, OWN_MEMORY, transpose_file

_ENGINES = list(dict.fromkeys([OURS, *(peer.name for peer in CPU_PEERS), *(peer.name for peer in GPU_PEERS)]))
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
    type=click.Choice(_ENGINES),
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
    contest = _contest_on_gpu(engines, moves) if device == "gpu" else _contest_on_cpu(engines, dtypes, moves)
    report: dict[str, object] = {"device": contest.record}
    low, high = sizes or contest.sizes
    if moves:
        todo = [(case, contest.dtype_of(element)) for case, element in random_moves(moves, seed or 0, low, high)]
        report["moves"] = {"count": moves, "seed": seed or 0, "bytes": [low, high]}
    else:
        todo = [pair for case in cases or contest.cases for pair in contest.pairs(case, dtypes)]
    last_compiled = len(todo) if not moves else _COMPILED if compiled is None else compiled
    results: list[Measurement] = []
    try:
        with progress_bar(len(todo)) as advance:
            for index, (case, dtype) in enumerate(todo):
                advance(index, f"{case.name} {dtype}", 0)
                may_compile = index < last_compiled
                peers = {name: peer for name, peer in contest.peers.items() if may_compile or "compile" not in name}
                results += contest.compare(case, dtype, peers, bool(moves or case.dtype))
                if json_path:  # each time: what was measured shall not be lost with what comes after it
                    report["results"] = [row.to_json() for row in results if row.status == "valid"]
                    write_json(json_path, report | ({"summary": summarize(results).to_json()} if moves else {}))
        if plot_path:
            with replacing(plot_path) as file:
                draw(results, file, plot_format)
    finally:  # a full disk costs the file, not what was measured
        if results and moves:
            title = f"{moves} random moves, seed {seed or 0}, {low:,} to {high:,} bytes, {contest.title}"
            show(moves_tables(results, contest.missing, title))
        elif results:
            show(compare_tables(results, contest.missing, contest.title))
    if any(row.status == "wrong" or (row.engine, row.status) == (OURS, "failed") for row in results):
        raise click.exceptions.Exit(1)


_COMPILED = 50
_AT_MOVES = ("NumPy", "PyTorch", "OpenCV", "MKL", "torch.compile", "cuTENSOR")
"""Libraries that random moves are compared with by default: each prepares hundreds of them in little time."""


def _check_moves(moves: int | None, needing: Mapping[str, object], excluded: Mapping[str, object]) -> None:
    for option, value in needing.items():
        if value is not None and not moves:
            raise UsageError(f"{option} is about random moves: give --moves N too")
    for option, value in excluded.items():
        if value and moves:
            raise UsageError(f"--moves and {option} exclude each other: random moves have shapes of their own")


class _Contest(NamedTuple):
    """What a device's comparison consists of."""

    compare: Callable[[Case, str, Mapping[str, Any], bool], list[Measurement]]
    peers: Mapping[str, Any]
    cases: Sequence[Case]
    adapted: Callable[[Case], Case]
    dtypes: Sequence[str]
    sizes: tuple[int, int]
    missing: list[str]
    record: dict[str, object]
    title: str

    def dtype_of(self, element: int) -> str:
        """The dtype of elements of ``element`` bytes."""
        return next(dtype for dtype in self.dtypes if held_as(dtype).itemsize == element)

    def pairs(self, case: Case, dtypes: Sequence[str]) -> list[tuple[Case, str]]:
        """A case with its own dtype, or with each of those asked for or of all."""
        if not case.dtype:
            return [(case, dtype) for dtype in dtypes or self.dtypes]
        case = self.adapted(case)
        return [(case, case.dtype)]


def _contest_on_cpu(engines: Sequence[str], dtypes: Sequence[str], moves: int | None) -> _Contest:
    if lacking := set(dtypes) - set(DTYPES):
        raise UsageError(f"--dtype {lacking.pop()}: NumPy has no such dtype; choose float16, or --device gpu")
    libraries, missing = _opened({peer.name: peer.open for peer in CPU_PEERS}, engines, moves)
    return _Contest(
        compare=compare_on_cpu,
        peers={name: library.prepare for name, library in libraries.items()},
        cases=[*LARGE, *SMALL],
        adapted=for_cpu,
        dtypes=DTYPES,
        sizes=(4 << 10, 128 << 20),
        missing=missing,
        record=cpu_record(_versions(libraries)),
        title=cpu_title(),
    )


def _contest_on_gpu(engines: Sequence[str], moves: int | None) -> _Contest:
    with or_else("choose --device cpu"):
        device = open_device()
    with device.current():
        libraries, missing = _opened({peer.name: partial(peer.open, device) for peer in GPU_PEERS}, engines, moves)
    return _Contest(
        compare=partial(compare_on_gpu, Pools(device)),
        peers={name: library.prepare for name, library in libraries.items()},
        cases=LARGE,
        adapted=lambda case: case,
        dtypes=GPU_DTYPES,
        sizes=(32 << 20, 256 << 20),
        missing=missing,
        record=gpu_record(device, _versions(libraries)),
        title=device.facts.title,
    )


_Prepare = TypeVar("_Prepare")


def _opened(
    peers: Mapping[str, Callable[[], Library[_Prepare]]], engines: Sequence[str], moves: int | None
) -> tuple[dict[str, Library[_Prepare]], list[str]]:
    """Return the libraries that are here, of those asked for or of all, and a line for each that is not."""
    if elsewhere := set(engines) - {OURS, *peers}:
        raise UsageError(f"--engine {elsewhere.pop()}: it is not compared on this device; {', '.join(peers)} are")
    wanted = engines or [name for name in peers if not moves or name in _AT_MOVES]
    here, missing = {}, []
    for name, open_peer in peers.items():
        if name not in wanted:
            continue
        try:
            here[name] = open_peer()
        except MissingExtraError as error:
            missing.append(str(error))
    return here, missing


def _versions(libraries: Mapping[str, Library[Any]]) -> dict[str, str]:
    """Of this package and of all that it is compared with."""
    others = {name: library.version for name, library in libraries.items()}
    return {OURS: __version__, "NumPy": np.__version__, **others}
