"""The executable textbook: claims about memory access, each with its evidence computed on the spot.

No verdict is written down: it follows from counts, which are exact, and from times where there is a GPU.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from cornerturn.errors import CornerturnError
from cornerturn.kernels.catalogue import find
from cornerturn.kernels.kernel import Kernel
from cornerturn.lab.evidence import Fact, Numbers
from cornerturn.showing import Shown
from cornerturn.toolchain import unavailable_reason
from cornerturn.wording import counted

Verdict = Literal["holds", "holds in counts", "does not hold here", "needs a GPU", "not installed", "no evidence"]
Facts = Iterator[Fact]


@dataclass(frozen=True)
class Lesson:
    """One claim.

    Attributes:
        name: unique among the lessons.
        claim: a sentence.
        kernels: of the catalogue, that the evidence is about.
        evidence: its facts, from the numbers of one size.
        timed: whether the claim speaks of time, so that counts alone do not settle it.
        pictured: whether the claim speaks of accesses, so that a picture of requests shows it.
    """

    name: str
    claim: str
    kernels: tuple[str, ...]
    evidence: Callable[[Numbers], Facts]
    timed: bool = False
    pictured: bool = True


@dataclass(frozen=True)
class Finding(Shown):
    """A lesson, tried at one size.

    Attributes:
        facts: the evidence.
        reason: why there is no evidence, for verdicts without a judgement.
    """

    lesson: Lesson
    facts: tuple[Fact, ...]
    verdict: Verdict
    reason: str = ""

    def __repr__(self) -> str:
        return f"<Finding {self.lesson.name}: {self.verdict}>"

    def to_json(self) -> dict[str, object]:
        """The finding with the keys of ``lessons --json``."""
        return {
            "name": self.lesson.name,
            "claim": self.lesson.claim,
            "kernels": list(self.lesson.kernels),
            "verdict": self.verdict,
            "reason": self.reason or None,
            "evidence": [{"text": fact.text, "holds": fact.holds, "timed": fact.timed} for fact in self.facts],
        }


@dataclass(frozen=True)
class Findings(Shown):
    """Lessons, tried at one size on one device.

    Attributes:
        all: in the order of the book.
        rows, cols: of x.
        record: the device, as JSON.
        title: the device in a few words.
    """

    all: tuple[Finding, ...]
    rows: int
    cols: int
    record: Mapping[str, object]
    title: str

    def __repr__(self) -> str:
        holding = sum(finding.verdict.startswith("holds") for finding in self.all)
        return f"<Findings: {holding} of {counted(len(self.all), 'lesson')} hold at {self.rows} x {self.cols}>"

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.all)

    def to_json(self) -> dict[str, object]:
        """The report of ``lessons --json``."""
        lessons = [finding.to_json() for finding in self.all]
        return {"device": dict(self.record), "rows": self.rows, "cols": self.cols, "lessons": lessons}


def learn(lesson: Lesson, numbers: Numbers) -> Finding:
    """Gather a lesson's evidence and judge it: it holds when every fact does."""
    for name in lesson.kernels:
        kernel = find(name)
        if not isinstance(kernel, Kernel):
            continue
        if reason := unavailable_reason(kernel.source):
            return Finding(lesson, (), "not installed", reason)
        if reason := kernel.refuses(numbers.rows, numbers.cols):
            return Finding(lesson, (), "no evidence", f"{name} refuses {numbers.rows}x{numbers.cols}: {reason}")
    try:
        facts = tuple(lesson.evidence(numbers))
    except CornerturnError as error:
        return Finding(lesson, (), "no evidence", str(error))
    if not facts:
        return Finding(lesson, (), "needs a GPU", "the evidence is in times alone")
    if not all(fact.holds for fact in facts):
        return Finding(lesson, facts, "does not hold here")
    settled = not lesson.timed or any(fact.timed for fact in facts)
    return Finding(lesson, facts, "holds" if settled else "holds in counts")
