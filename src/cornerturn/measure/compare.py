"""transpose() against other libraries and against the copy roof: one process, one run, every result checked.

For each case all engines run in turn, round after round, so that whatever else the machine does meets all of them
alike; an engine's time is the median of its rounds. Before the last round its output is filled with bits that are wrong
everywhere, and what that round leaves behind is compared, to the bit, with what the case asks for.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from statistics import median
from typing import Literal, Protocol

from cornerturn.measure.cases import Case
from cornerturn.measure.peers import first_line

ROUNDS = 9
OURS, ROOF = "cornerturn", "copy"

Status = Literal["valid", "wrong", "refused", "failed"]


@dataclass(frozen=True, slots=True)
class Measurement:
    """What one engine did with one case.

    Attributes:
        case: array and permutation.
        dtype: its name, NumPy's where NumPy has it.
        engine: a library, or ``copy``, the roof.
        bytes: read and written, twice the size of x.
        status: ``refused`` if the library does not do this, ``failed`` if it tried and raised an error.
        seconds: median of a call.
        roof_seconds: of the copy of the same number of bytes.
        refused: why it was refused or failed, to be read after the library's name.
        kernel: of this package's own plan, where it was asked for.
    """

    case: Case
    dtype: str
    engine: str
    bytes: int
    status: Status
    seconds: float | None = None
    roof_seconds: float | None = None
    refused: str | None = None
    kernel: str | None = None

    @property
    def gbps(self) -> float | None:
        """Bytes read and written per second, in 1e9 bytes/s."""
        return self.bytes / self.seconds / 1e9 if self.seconds else None

    @property
    def roof_share(self) -> float | None:
        """Speed as a share of the copy roof's."""
        return self.roof_seconds / self.seconds if self.seconds and self.roof_seconds else None

    def to_json(self) -> dict[str, object]:
        """The result with the keys of ``compare --json``, in their order."""
        more = {"name": self.case.label, "kernel": self.kernel}
        return {
            "case": self.case.name,
            "shape": list(self.case.shape),
            "axes": list(self.case.axes),
            "dtype": self.dtype,
            "bytes": self.bytes,
            "engine": self.engine,
            "seconds": self.seconds,
            "gbps": self.gbps,
            "roof_share": self.roof_share,
        } | {key: value for key, value in more.items() if value}


class Work(Protocol):
    """An engine's work at one case, warmed up."""

    def sample(self) -> float:
        """Do it, perhaps several times, and return the seconds of one transpose."""

    def spoil(self) -> None:
        """Fill the outputs of the next sample with bits that are wrong everywhere."""

    def is_right(self) -> bool:
        """Return whether the last sample left the right bits everywhere."""


PrepareWork = Callable[[], Work | str]
"""Makes an engine's work, or says why it cannot do it. May raise any exception: the engine has failed then."""


def compare(
    case: Case, dtype: str, nbytes: int, copies: Sequence[PrepareWork], engines: Mapping[str, PrepareWork]
) -> list[Measurement]:
    """Measure all engines at one case.

    Args:
        case: from `cornerturn.measure.cases`.
        dtype: name of it.
        nbytes: of x.
        copies: the ways to copy the same number of bytes; the fastest is the roof.
        engines: by name.

    Returns:
        What each did: the roof, and the engines in their order. An engine that raises an error has failed; the others
        are measured all the same.
    """
    roofs = [_Contender(prepare) for prepare in copies]
    others = {name: _Contender(prepare) for name, prepare in engines.items()}
    take_turns([*roofs, *others.values()])
    roof = min(roofs, key=lambda copy: copy.seconds or math.inf)

    def measurement(name: str, contender: _Contender) -> Measurement:
        seconds, roof_seconds = contender.seconds, roof.seconds if contender.seconds else None
        return Measurement(case, dtype, name, 2 * nbytes, contender.status, seconds, roof_seconds, contender.refused)

    return [measurement(name, contender) for name, contender in {ROOF: roof, **others}.items()]


def explained(results: Sequence[Measurement], kernel: Callable[[], str]) -> list[Measurement]:
    """Return the same results, this package's own with the kernel that it chose, if it is valid."""
    return [
        replace(result, kernel=kernel()) if (result.engine, result.status) == (OURS, "valid") else result
        for result in results
    ]


@dataclass(slots=True)
class _Contender:
    """What is known of one engine at one case.

    Attributes:
        prepare: makes its work.
        work: what is measured, unless the engine refused or has failed.
        refused: why it did.
        has_failed: it has raised an error.
        samples: seconds of a transpose, one per round.
        is_right: the last round's results are right to the bit.
    """

    prepare: PrepareWork
    work: Work | None = None
    refused: str | None = None
    has_failed: bool = False
    samples: list[float] = field(default_factory=list)
    is_right: bool = False

    def begin(self) -> None:
        """Make the work."""
        work = self.prepare()
        if isinstance(work, str):
            self.refused = work
        else:
            self.work = work

    def sample(self, is_last: bool) -> None:
        """Take the sample of a round."""
        assert self.work is not None
        if is_last:
            self.work.spoil()
        self.samples.append(self.work.sample())
        if is_last:
            self.is_right = self.work.is_right()

    def attempt(self, what: Callable[[], None]) -> None:
        """Do ``what``; an error in it is this engine's alone."""
        try:
            what()
        except Exception as error:  # whatever a library raises
            self.work, self.has_failed, self.refused = None, True, f"failed: {first_line(error)}"

    @property
    def status(self) -> Status:
        """How it ended."""
        if self.work is None:
            return "failed" if self.has_failed else "refused"
        return "valid" if self.is_right else "wrong"

    @property
    def seconds(self) -> float | None:
        """Median of the samples, if the result is right."""
        return median(self.samples) if self.status == "valid" else None


def take_turns(contenders: Sequence[_Contender]) -> None:
    """Prepare all contenders, sample them in turn, and check what each leaves behind."""
    for contender in contenders:
        contender.attempt(contender.begin)
    for round_ in range(ROUNDS):
        for contender in contenders:
            if contender.work is not None:
                contender.attempt(partial(contender.sample, round_ == ROUNDS - 1))
