"""What a comparison found: the measurements of all engines at many cases, and what they were made on."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from cornerturn.measure.compare import Measurement
from cornerturn.measure.summary import summarize
from cornerturn.showing import Shown
from cornerturn.wording import counted


class Drawn(NamedTuple):
    """Random moves: how many, the seed, and the least and the most bytes of one."""

    moves: int
    seed: int
    low: int
    high: int


@dataclass(frozen=True)
class Comparison(Shown):
    """What all engines did at all cases.

    Attributes:
        results: case by case, in the order of the engines.
        missing: a line for each library that is not installed.
        title: the device in a few words.
        record: the device, as JSON.
        drawn: how the cases were drawn, if they are random moves.
    """

    results: tuple[Measurement, ...]
    missing: tuple[str, ...]
    title: str
    record: Mapping[str, object] = field(default_factory=dict)
    drawn: Drawn | None = None

    def __repr__(self) -> str:
        cases = len({(row.case, row.dtype) for row in self.results})
        engines = counted(len({row.engine for row in self.results}), "engine")
        return f"<Comparison on {self.title}: {engines}, {counted(cases, 'case')}>"

    def __iter__(self) -> Iterator[Measurement]:
        return iter(self.results)

    def to_json(self) -> dict[str, object]:
        """The report of ``compare --json``."""
        report: dict[str, object] = {"device": dict(self.record)}
        if self.drawn:
            count, seed, low, high = self.drawn
            report["moves"] = {"count": count, "seed": seed, "bytes": [low, high]}
        report["results"] = [row.to_json() for row in self.results if row.status == "valid"]
        return report | ({"summary": summarize(self.results).to_json()} if self.drawn else {})
