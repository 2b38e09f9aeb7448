"""``cornerturn compare`` and ``transpose``: how fast transpose() is, and its use on a file."""

import re
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeVar

import click

from cornerturn.cli.options import PLOT, json_option
from cornerturn.cli.shell import or_else, progress_bar, say, show, write_json
from cornerturn.errors import MissingExtraError, UsageError
from cornerturn.files import check_outputs, replacing
from cornerturn.gpu import open_device
from cornerturn.lab.views import plots
from cornerturn.measure.cases import DTYPES, GPU_DTYPES, GROUPS, LARGE, Case, held_as, parse_case
from cornerturn.measure.compare import OURS, Comparison, compare_on_cpu, device_record, device_title
from cornerturn.measure.compare_gpu import compare_on_gpu, gpu_record, gpu_title
from cornerturn.measure.compare_views import compare_tables, draw
from cornerturn.measure.peers import CPU_PEERS
from cornerturn.measure.peers_gpu import GPU_PEERS
from cornerturn.op.file import DEFAULT_MEMORY, MIN_MEMORY, transpose_file

_ENGINES = list(dict.fromkeys([OURS, *(peer.name for peer in CPU_PEERS), *(peer.name for peer in GPU_PEERS)]))
_UNITS = {"": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "KB": 10**3, "MB": 10**6, "GB": 10**9}


def _parse_axes(_: click.Context, __: click.Parameter, text: str | None) -> list[int] | None:
    """``1,0`` -> ``[1, 0]``."""
    if text is None:
        return None
    if not re.fullmatch(r"-?[0-9]{1,9}(,-?[0-9]{1,9})*", text):
        raise click.BadParameter(f"{text!r} is not a list of axes such as 1,0")
    return [int(axis) for axis in text.split(",")]


def _parse_bytes(_: click.Context, __: click.Parameter, text: str | None) -> int:
    """``512MiB`` -> 536870912."""
    if text is None:
        return DEFAULT_MEMORY
    match = re.fullmatch(r"([0-9]{1,15})([KMG]i?B)?", text)
    if not match:
        raise click.BadParameter(f"{text!r} is not a number of bytes such as 512MiB or 2GB")
    memory = int(match[1]) * _UNITS[match[2] or ""]
    if memory < MIN_MEMORY:
        raise click.BadParameter(f"{text!r} is too little: give at least {MIN_MEMORY >> 20}MiB")
    return memory


@click.command()
@click.argument("source", metavar="IN.npy", type=click.Path(path_type=Path))
@click.argument("target", metavar="OUT.npy", type=click.Path(path_type=Path))
@click.option("--axes", metavar="A,B,...", callback=_parse_axes, help="Axis A becomes the first, and so on.")
@click.option("--force", is_flag=True, help="Replace OUT.npy if it exists.")
@click.option("--memory", metavar="BYTES", callback=_parse_bytes, help="Hold at most this, about: 1GiB by default.")
def transpose(source: Path, target: Path, axes: list[int] | None, force: bool, memory: int) -> None:
    """Transpose a file, also one far larger than memory.

    Without --axes the axes are reversed. OUT.npy appears when it is whole: an interrupted run leaves no half
    file, and what was there before stays.
    """
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


@click.command()
@click.option(
    "--case",
    "cases",
    multiple=True,
    metavar="CASE",
    callback=_parse_cases,
    help="large, small, a shape such as 8192x8192, or shape and axes such as 64x1024x1024:0,2,1; repeatable.",
)
@click.option(
    "--dtype",
    "dtypes",
    multiple=True,
    type=click.Choice(sorted(dict.fromkeys((*DTYPES, *GPU_DTYPES)), key=lambda dtype: held_as(dtype).itemsize)),
    help="One dtype; repeatable.",
)
@click.option(
    "--engine",
    "engines",
    multiple=True,
    type=click.Choice(_ENGINES),
    help="Measure this one and no other library; repeatable. cornerturn and the copy are always measured.",
)
@click.option("--device", type=click.Choice(["cpu", "gpu"]), default="cpu", show_default=True, help="Where to measure.")
@json_option("Write the results as JSON, anew after each case.")
@PLOT
def compare(
    cases: list[Case],
    dtypes: tuple[str, ...],
    engines: tuple[str, ...],
    device: str,
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
    contest = _contest_on_gpu(engines) if device == "gpu" else _contest_on_cpu(engines, dtypes)
    todo = [(case, dtype) for case in cases or contest.cases for dtype in dtypes or contest.dtypes]
    results: list[Comparison] = []
    try:
        with progress_bar(len(todo)) as advance:
            for index, (case, dtype) in enumerate(todo):
                advance(index, f"{case.name} {dtype}", 0)
                results += contest.compare(case, dtype)
                if json_path:  # after each case, so that a later failure loses nothing
                    valid = [row.to_json() for row in results if row.status == "valid"]
                    write_json(json_path, {"device": contest.record, "results": valid})
        if plot_path:
            with replacing(plot_path) as file:
                draw(results, file, plot_format)
    finally:  # a full disk costs the file, not what was measured
        if results:
            show(compare_tables(results, contest.missing, contest.title))
    if any(row.status == "wrong" or (row.engine, row.status) == (OURS, "failed") for row in results):
        raise click.exceptions.Exit(1)


class _Contest(NamedTuple):
    """What a device's comparison consists of."""

    compare: Callable[[Case, str], list[Comparison]]
    cases: Sequence[Case]
    dtypes: Sequence[str]
    missing: list[str]
    record: dict[str, object]
    title: str


def _contest_on_cpu(engines: Sequence[str], dtypes: Sequence[str]) -> _Contest:
    if lacking := set(dtypes) - set(DTYPES):
        raise UsageError(f"--dtype {lacking.pop()}: NumPy has no such dtype; choose float16, or --device gpu")
    peers, missing = _opened({peer.name: peer.open for peer in CPU_PEERS}, engines)
    return _Contest(
        compare=lambda case, dtype: compare_on_cpu(case, dtype, peers),
        cases=[case for group in GROUPS.values() for case in group],
        dtypes=DTYPES,
        missing=missing,
        record=device_record([peer for peer in CPU_PEERS if peer.name in peers]),
        title=device_title(),
    )


def _contest_on_gpu(engines: Sequence[str]) -> _Contest:
    with or_else("choose --device cpu"):
        device = open_device()
    libraries, missing = _opened({peer.name: partial(peer.open, device) for peer in GPU_PEERS}, engines)
    peers = {name: library.prepare for name, library in libraries.items()}
    return _Contest(
        compare=lambda case, dtype: compare_on_gpu(device, case, dtype, peers),
        cases=LARGE,
        dtypes=GPU_DTYPES,
        missing=missing,
        record=gpu_record(device, libraries),
        title=gpu_title(device),
    )


_Opened = TypeVar("_Opened")


def _opened(peers: Mapping[str, Callable[[], _Opened]], engines: Sequence[str]) -> tuple[dict[str, _Opened], list[str]]:
    """Return the installed peers, of those asked for or of all, and a line for each that is missing."""
    if elsewhere := set(engines) - {OURS, *peers}:
        raise UsageError(f"--engine {elsewhere.pop()}: it is not compared on this device; {', '.join(peers)} are")
    here, missing = {}, []
    for name, open_peer in peers.items():
        if engines and name not in engines:
            continue
        try:
            here[name] = open_peer()
        except MissingExtraError as error:
            missing.append(str(error))
    return here, missing
