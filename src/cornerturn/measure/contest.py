"""The comparison as a whole: who takes part on a device, at which cases, and the loop over them."""

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np

from cornerturn.errors import DeviceError, MissingExtraError, UsageError
from cornerturn.gpu import open_device
from cornerturn.measure.cases import DTYPES, GPU_DTYPES, Case, held_as
from cornerturn.measure.compare import OURS, Measurement
from cornerturn.measure.compare_cpu import compare_on_cpu, cpu_record, cpu_title
from cornerturn.measure.compare_gpu import compare_on_gpu, gpu_record
from cornerturn.measure.comparison import Comparison, Drawn
from cornerturn.measure.groups import LARGE, SMALL, for_cpu, parse_case
from cornerturn.measure.moves import random_moves
from cornerturn.measure.peers import Library
from cornerturn.measure.peers_cpu import CPU_PEERS
from cornerturn.measure.peers_gpu import GPU_PEERS
from cornerturn.measure.stage import Pools
from cornerturn.progress import progress_bar
from cornerturn.version import package_version

ENGINES = list(dict.fromkeys([OURS, *(peer.name for peer in CPU_PEERS), *(peer.name for peer in GPU_PEERS)]))
"""Names of all that can be measured."""
_COMPILED = 50
_AT_MOVES = ("NumPy", "PyTorch", "OpenCV", "MKL", "torch.compile", "cuTENSOR")
"""Libraries that random moves are compared with by default: each prepares hundreds of them in little time."""

_Prepare = TypeVar("_Prepare")
Pair = tuple[Case, str]
"""A case and a dtype."""


def compare(
    *cases: str,
    dtypes: Sequence[str] = (),
    engines: Sequence[str] = (),
    device: str = "cpu",
    moves: int | None = None,
    seed: int = 0,
    sizes: tuple[int, int] | None = None,
) -> Comparison:
    """Measure ``cornerturn.transpose`` against other libraries and the copy roof, as ``cornerturn compare`` does.

    Args:
        cases: as its ``--case`` takes them, such as ``8192x8192`` or ``64x1024x1024:0,2,1``; a list of its own without.
        dtypes: names; all without.
        engines: libraries; all that are installed without.
        device: ``cpu`` or ``gpu``.
        moves: measure so many random moves in place of cases.
        seed: draws these moves and no others.
        sizes: least and most bytes of a random move.

    Raises:
        UsageError: a case, a dtype or an engine is none.
        DeviceError: there is no GPU to measure on.

    Example:
        >>> compare("64x48", dtypes=["float32"], engines=["NumPy"])    # doctest: +ELLIPSIS
        <Comparison on ...: 3 engines, 1 case>
    """
    contest = contest_on(device, engines, dtypes, many=bool(moves))
    drawn = Drawn(moves, seed, *(sizes or contest.sizes)) if moves else None
    asked = list(dict.fromkeys(case for text in cases for case in parse_case(text)))
    todo = contest.draw(drawn) if drawn else contest.pairs(asked, dtypes)
    return contest.comparison([row for found in contest.run(todo, drawn) for row in found], drawn)


@dataclass(frozen=True)
class Contest:
    """Who takes part on a device.

    Attributes:
        compare: measures all of them at one case.
        peers: what prepares each library, by its name.
        cases: that are measured unless others are asked for.
        adapted: a case as the device takes it.
        dtypes: all that are measured on the device.
        sizes: least and most bytes of a random move.
        missing: a line for each library that is not installed.
        record: the device, as JSON.
        title: the device in a few words.
    """

    compare: Callable[[Case, str, Mapping[str, Any], bool], list[Measurement]]
    peers: Mapping[str, Any]
    cases: Sequence[Case]
    adapted: Callable[[Case], Case]
    dtypes: Sequence[str]
    sizes: tuple[int, int]
    missing: Sequence[str]
    record: Mapping[str, object]
    title: str

    def pairs(self, cases: Sequence[Case], dtypes: Sequence[str]) -> list[Pair]:
        """Each case with its own dtype, or with each of those asked for or of all."""
        adapted = [self.adapted(case) if case.dtype else case for case in cases or self.cases]
        return [(case, dtype) for case in adapted for dtype in ([case.dtype] if case.dtype else dtypes or self.dtypes)]

    def draw(self, drawn: Drawn) -> list[Pair]:
        """Random moves, each with the dtype of its element."""
        of_size = {held_as(dtype).itemsize: dtype for dtype in reversed(self.dtypes)}
        return [(case, of_size[element]) for case, element in random_moves(*drawn)]

    def run(
        self, todo: Sequence[Pair], drawn: Drawn | None = None, compiled: int | None = None
    ) -> Generator[list[Measurement]]:
        """Measure case by case, and yield what all did at one.

        Args:
            todo: cases and dtypes.
            drawn: how they were drawn, if they are random moves.
            compiled: let torch.compile do so many of these, as each takes it seconds; 50 by default.
        """
        last_compiled = len(todo) if not drawn else _COMPILED if compiled is None else compiled
        with progress_bar(len(todo)) as advance:
            for index, (case, dtype) in enumerate(todo):
                advance(index, f"{case.name} {dtype}", 0)
                may_compile = index < last_compiled
                peers = {name: peer for name, peer in self.peers.items() if may_compile or "compile" not in name}
                yield self.compare(case, dtype, peers, bool(drawn or case.dtype))

    def comparison(self, results: Sequence[Measurement], drawn: Drawn | None = None) -> Comparison:
        """Return what was found so far."""
        return Comparison(tuple(results), tuple(self.missing), self.title, self.record, drawn)


def contest_on(device: str, engines: Sequence[str], dtypes: Sequence[str], many: bool) -> Contest:
    """Return who takes part.

    Args:
        device: ``cpu`` or ``gpu``.
        engines: libraries asked for, or none for all that are installed.
        dtypes: that will be measured.
        many: whether many moves will be measured, and libraries that prepare slowly are omitted.

    Raises:
        UsageError: an engine or a dtype is none of the device's.
        DeviceError: there is no GPU to measure on.
    """
    if device not in ("cpu", "gpu"):
        raise UsageError(f"device must be cpu or gpu: got {device!r}")
    if device == "gpu":
        return _on_gpu(engines, many)
    if lacking := set(dtypes) - set(DTYPES):
        raise UsageError(f"--dtype {lacking.pop()}: NumPy has no such dtype; choose float16, or --device gpu")
    return _on_cpu(engines, many)


def _on_cpu(engines: Sequence[str], many: bool) -> Contest:
    libraries, missing = _opened({peer.name: peer.open for peer in CPU_PEERS}, engines, many)
    return Contest(
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


def _on_gpu(engines: Sequence[str], many: bool) -> Contest:
    try:
        device = open_device()
    except DeviceError as error:
        raise DeviceError(f"{error}: choose --device cpu") from error
    with device.current():
        libraries, missing = _opened({peer.name: partial(peer.open, device) for peer in GPU_PEERS}, engines, many)
    return Contest(
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


def _opened(
    peers: Mapping[str, Callable[[], Library[_Prepare]]], engines: Sequence[str], many: bool
) -> tuple[dict[str, Library[_Prepare]], list[str]]:
    """Return the libraries that are here, of those asked for or of all, and a line for each that is not."""
    if elsewhere := set(engines) - {OURS, *peers}:
        raise UsageError(f"--engine {elsewhere.pop()}: it is not compared on this device; {', '.join(peers)} are")
    wanted = engines or [name for name in peers if not many or name in _AT_MOVES]
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
    return {OURS: package_version(), "NumPy": np.__version__, **others}
