"""What many moves come to: shares of the copy roof, by the size of an element, and how often a library is ahead."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import geometric_mean

import numpy as np

from cornerturn.measure.cases import held_as
from cornerturn.measure.compare import OURS, ROOF, Measurement

MARGINS = (0.02, 0.05, 0.25)
"""A library is ahead where this package takes longer by more than one of these."""
WORST = 10


@dataclass(frozen=True, slots=True)
class Shares:
    """Speeds of several moves as shares of the copy roof's.

    Attributes:
        moves: how many.
        mean: geometric.
        p5, p10: percentiles.
        worst: the lowest.
    """

    moves: int
    mean: float
    p5: float
    p10: float
    worst: float

    @classmethod
    def of(cls, shares: Sequence[float]) -> "Shares":
        """Return the figures of at least one share."""
        p5, p10 = (float(value) for value in np.quantile(shares, [0.05, 0.1]))
        return cls(len(shares), geometric_mean(shares), p5, p10, min(shares))


@dataclass(frozen=True, slots=True)
class Rival:
    """A library beside this package, at the moves that both did.

    Attributes:
        engine: the library.
        moves: how many.
        mean: geometric, of its own shares of the copy roof.
        ours: the same of this package.
        ahead: how often it is ahead by more than each of `MARGINS`.
    """

    engine: str
    moves: int
    mean: float
    ours: float
    ahead: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Summary:
    """Figures of a run.

    Attributes:
        whole: of this package at all moves; None if none was valid.
        elements: the same by bytes of an element.
        rivals: the libraries.
        worst: of this package's results, the lowest share first.
        invalid: moves at which this package was wrong or failed.
    """

    whole: Shares | None
    elements: dict[int, Shares]
    rivals: list[Rival]
    worst: list[Measurement]
    invalid: int

    def to_json(self) -> dict[str, object]:
        """The figures as JSON."""
        return {
            "shares": asdict(self.whole) if self.whole else None,
            "elements": {str(element): asdict(shares) for element, shares in self.elements.items()},
            "rivals": [
                {"engine": rival.engine, "moves": rival.moves, "mean": rival.mean, "ours": rival.ours}
                | {f"ahead_{round(100 * margin)}": n for margin, n in zip(MARGINS, rival.ahead, strict=True)}
                for rival in self.rivals
            ],
            "worst": [row.to_json() for row in self.worst],
            "invalid": self.invalid,
        }


def summarize(results: Sequence[Measurement]) -> Summary:
    """Return the figures of what was measured at many moves."""
    ours = [row for row in results if row.engine == OURS]
    valid = [(row, row.roof_share) for row in ours if row.roof_share]
    by_element: dict[int, list[float]] = {}
    for row, share in valid:
        by_element.setdefault(held_as(row.dtype).itemsize, []).append(share)
    engines = dict.fromkeys(row.engine for row in results if row.engine not in (OURS, ROOF))
    rivals = (_rival(engine, results) for engine in engines)
    return Summary(
        whole=Shares.of([share for _, share in valid]) if valid else None,
        elements={element: Shares.of(by_element[element]) for element in sorted(by_element)},
        rivals=[rival for rival in rivals if rival],
        worst=[row for row, _ in sorted(valid, key=lambda pair: pair[1])[:WORST]],
        invalid=sum(row.status in ("wrong", "failed") for row in ours),
    )


def _rival(engine: str, results: Sequence[Measurement]) -> Rival | None:
    mine = {(row.case, row.dtype): row for row in results if row.engine == OURS and row.roof_share}
    pairs = [
        (row, mine[row.case, row.dtype])
        for row in results
        if row.engine == engine and row.roof_share and (row.case, row.dtype) in mine
    ]
    if not pairs:
        return None
    mean, ours = (geometric_mean([row.roof_share or 0 for row in side]) for side in zip(*pairs, strict=True))
    longer = [(own.seconds or 0) / (row.seconds or 1) for row, own in pairs]
    ahead = tuple(sum(ratio > 1 + margin for ratio in longer) for margin in MARGINS)
    return Rival(engine, len(pairs), mean, ours, ahead)
