"""Find the profile of a device by measurement: which candidates there are, and which of them wins.

A kind is one decision of the planner, for example the tile of large aligned matrices. Candidates for it are profiles
that differ in that decision alone; measured is the kernel that each makes of problems that the decision is for.
The device is behind the protocol `Bench`.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice, product
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from cornerturn.kernels.kernel import ELEMENT_SIZES
from cornerturn.kernels.production.axes import UNIT
from cornerturn.kernels.production.device_code import Production
from cornerturn.kernels.production.h200 import H200
from cornerturn.kernels.production.profile import Profile
from cornerturn.kernels.production.tile import HALO, WIDE_BYTES
from cornerturn.kernels.production.tile_shape import MAX_RESIDENT_THREADS, TileShape
from cornerturn.measure.cases import Case
from cornerturn.op.gpu.candidates import Candidate, by_tile
from cornerturn.op.gpu.move import Move
from cornerturn.op.problem import Problem, canonical
from cornerturn.op.strided_view import c_order

MARGIN = 0.01
"""Part of the default's time that a candidate must save, in the lower quartile of the rounds."""
ROUNDS = 7
FINALISTS = 3
"""Candidates that are checked, and measured in all rounds beside the default: the fastest of a first look."""

MICRO_ROWS = {1: (4, 8), 2: (2, 4), 4: (2, 4), 8: (1, 2), 16: (1,)}
"""Rows that a thread may turn at once: more take registers, fewer take stores."""
UNITS_DOWN, UNITS_ACROSS = (2, 4, 8, 16, 32, 64), (4, 8, 16, 32, 64)
THREADS = (64, 128, 256, 512)
LARGE_TILES, SMALL_TILES = (8 << 10, 32 << 10), (2 << 10, 8 << 10)
"""The fewest and the most bytes of a tile."""
LARGE_SHARE, SMALL_SHARE = (4, 8), (2, 4)
"""Units of a tile that a thread may read."""
GROUPS = (None, (8, 8), (16, 16), (2, 64), (4, 32), (8, 32), (32, 8))
HUGE = 8
"""Times a large problem that the largest one may be."""
REGISTERS = 65536
THREAD_REGISTERS = (40, 48, 64, 80)
"""What the blocks that should be resident may leave each thread of a multiprocessor's registers."""


@dataclass(frozen=True, slots=True)
class Scale:
    """How large the problems are that a device is measured on.

    Attributes:
        large: bytes of a matrix that keeps it busy, a power of two.
        small: bytes of one that it would not be busy with, were it cut in large tiles.
    """

    large: int
    small: int

    @classmethod
    def of(cls, l2_bytes: int, enough_blocks: int) -> "Scale":
        """Return the scale of a device, by the size of its L2 and the blocks that keep it busy."""
        power = 1 << (4 * l2_bytes).bit_length() - 1
        return cls(min(max(power, 32 << 20), 128 << 20), 2048 * enough_blocks)


class Bench(Protocol):
    """A device that can be asked for the time of a kernel.

    Attributes:
        room: bytes of the largest problem that has a place on it.
    """

    room: int

    def prepare(self, productions: Sequence[Production]) -> None:
        """Compile kernels that will be asked for."""

    def seconds(self, production: Production, problem: Problem) -> float | None:
        """Return the time of one launch; None where the kernel does not compile or the driver refuses it."""

    def is_right(self, production: Production, problem: Problem) -> bool:
        """Return whether one launch writes every bit of the problem, and nothing after them."""

    def copy_seconds(self, nbytes: int) -> float:
        """Return the time in which as many bytes are copied."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One decision of the planner.

    Attributes:
        name: shown to the user.
        by: yields the candidate whose kernel is decided on, or nothing where there is none.
        cases: problems that it is for, given an element size and a scale.
        stages: each gives candidates, given the best profile so far and an element size; later ones refine.
        show: what a profile decides for an element size, in a few words.
        elements: sizes for which there is something to decide.
    """

    name: str
    by: Callable[[Move, Profile], Iterator[Candidate]]
    cases: Callable[[int, Scale], Sequence[Case]]
    stages: tuple[Callable[[Profile, int], Iterable[Profile]], ...]
    show: Callable[[Profile, int], str]
    elements: tuple[int, ...] = ELEMENT_SIZES

    def problems(self, element: int, scale: Scale, profile: Profile) -> list[Problem]:
        """Return the problems of an element size, those omitted for which a profile has no such kernel."""
        found = [problem_of(case, element) for case in self.cases(element, scale)]
        return [problem for problem in found if any(self.by(Move.of(problem, 0, 0), profile))]

    def made(self, problem: Problem, profile: Profile) -> Production:
        """Return the kernel and launch that a profile makes of one of the `problems`."""
        [candidate] = self.by(Move.of(problem, 0, 0), profile)
        return candidate.make()


@dataclass(frozen=True, slots=True)
class Choice:
    """What was found for one kind and element size; times are those of all its problems together.

    Attributes:
        kind: its name.
        element: bytes.
        default: what the default decides.
        chosen: what is decided now.
        default_seconds: time of the default; None where it does not run here.
        seconds: time of what was chosen.
        copy_seconds: time in which as many bytes are copied.
        nbytes: bytes read and written.
    """

    kind: str
    element: int
    default: str
    chosen: str
    default_seconds: float | None
    seconds: float
    copy_seconds: float
    nbytes: int

    @property
    def gbps(self) -> float:
        """Speed of what was chosen, in GB/s."""
        return self.nbytes / self.seconds / 1e9

    @property
    def roof_share(self) -> float:
        """The same as a part of the copy's speed."""
        return self.copy_seconds / self.seconds

    @property
    def gain(self) -> float | None:
        """Part by which it is faster than the default: 0.05 is 5%."""
        return None if self.default_seconds is None else self.default_seconds / self.seconds - 1

    def to_json(self) -> dict[str, object]:
        """Return all of this under its names."""
        return asdict(self) | {"gbps": self.gbps, "roof_share": self.roof_share, "gain": self.gain}


def tune(
    profile: Profile, elements: Sequence[int], scale: Scale, bench: Bench, progress: Callable[[int, str, float], None]
) -> tuple[Profile, list[Choice]]:
    """Return the default with everything that beats it put in its place, and what was found.

    Args:
        profile: the default of the device.
        elements: sizes to decide for, in bytes.
        scale: of the problems.
        bench: the device.
        progress: told how many decisions are made, which one is at work, and what part of it is done.
    """
    choices = []
    for made, (element, kind) in enumerate(decisions(elements)):
        problems = [one for one in kind.problems(element, scale, profile) if one.nbytes <= bench.room]
        default, found = profile, None
        for stage, candidates in enumerate(kind.stages if problems else ()):
            progress(made, f"{element} bytes, {kind.name}", stage / len(kind.stages))
            found = _race(kind, [default, profile, *candidates(profile, element)], problems, bench) or found
            profile = found.profile if found else profile
        if found:
            moved = [problem.nbytes for problem in problems]
            copy = sum(map(bench.copy_seconds, moved))
            shown = kind.show(default, element), kind.show(profile, element)
            seconds = found.default_seconds, found.seconds
            choices.append(Choice(kind.name, element, *shown, *seconds, copy, 2 * sum(moved)))
    return profile, choices


def problem_of(case: Case, element: int) -> Problem:
    """Return the problem of a case for elements of ``element`` bytes."""
    source = c_order(case.shape, element).permuted(case.axes)
    return canonical(element, source.shape, source.strides, c_order(source.shape, element).strides)


def decisions(elements: Sequence[int]) -> list[tuple[int, Kind]]:
    """Return what there is to decide for element sizes, in the order in which it is decided."""
    return [(element, kind) for element in elements for kind in KINDS if element in kind.elements]


@dataclass(frozen=True, slots=True)
class _Found:
    profile: Profile
    default_seconds: float | None
    seconds: float


def _race(kind: Kind, profiles: Sequence[Profile], problems: Sequence[Problem], bench: Bench) -> _Found | None:
    """Return the fastest of profiles; the first, which is the default, unless another is faster by more than MARGIN.

    Those that make the same are one. None when none of them runs and is right.
    """
    entrants: dict[object, tuple[Profile, list[Production]]] = {}
    for profile in profiles:
        plans = [kind.made(problem, profile) for problem in problems]
        entrants.setdefault(tuple(map(identity, plans)), (profile, plans))
    field = list(entrants.values())
    bench.prepare([production for _, plans in field for production in plans])

    def times(place: int) -> list[float]:
        found = [bench.seconds(*work) for work in zip(field[place][1], problems, strict=True)]
        return [math.inf if seconds is None else seconds for seconds in found]

    def is_right(place: int) -> bool:
        return all(bench.is_right(*work) for work in zip(field[place][1], problems, strict=True))

    look = [np.log(times(place)).mean() for place in range(len(field))]
    ran = sorted((place for place in range(len(field)) if look[place] < math.inf), key=look.__getitem__)
    finalists = [0] if 0 in ran and is_right(0) else []
    finalists += islice((place for place in ran if place and is_right(place)), FINALISTS)
    if not finalists:
        return None
    rounds = np.array([[times(place) for place in finalists] for _ in range(ROUNDS)])  # interleaved: all drift alike
    best = fastest(rounds, has_default=finalists[0] == 0)
    totals = np.median(rounds.sum(axis=2), axis=0).tolist()
    return _Found(field[finalists[best]][0], totals[0] if finalists[0] == 0 else None, totals[best])


def fastest(rounds: NDArray[Any], has_default: bool) -> int:
    """Return which entrant wins: one whose lower quartile saves more than MARGIN of the default's time, if any.

    Args:
        rounds: seconds, by round, entrant and problem; problems count alike.
        has_default: whether the first entrant is the default, which stays in doubt.
    """
    scores = np.log(rounds).mean(axis=2)
    best = int(np.median(scores, axis=0).argmin())
    saved = scores[:, 0] - scores[:, best]
    return best if not has_default or np.quantile(saved, 0.25) > MARGIN else 0


def identity(production: Production) -> tuple[object, ...]:
    """Return what tells a launch from others: its kernel and all its arguments."""
    arguments = (item if isinstance(item, str) else item.tobytes() for item in production.launch.arguments)
    return (production.source, *production.launch.grid, *arguments)


def tiles(element: int, ragged: bool, size: tuple[int, int], shares: tuple[int, int]) -> Iterator[TileShape]:
    """Yield tile shapes that the kernel takes, none of them longer than twice its width.

    Args:
        element: bytes.
        ragged: whether windows begin before tiles.
        size: fewest and most bytes of a tile.
        shares: units that a thread may read.
    """
    unit = UNIT // element
    for down, across, micro_rows, threads in product(UNITS_DOWN, UNITS_ACROSS, MICRO_ROWS[element], THREADS):
        share, rest = divmod(down * unit * across, threads)
        if rest or share not in shares or not 0.5 <= down / across <= 2:
            continue
        resident = max(1, REGISTERS // (64 * threads)) if ragged else 1
        shape = TileShape(down * unit, across * unit, micro_rows, threads, resident=resident)
        if size[0] <= UNIT * unit * down * across <= size[1] and not shape.broken_rule(element, HALO if ragged else 0):
            yield shape


def _tile_stage(table: str, large: bool) -> Callable[[Profile, int], Iterator[Profile]]:
    """Return the stage that tries tiles in the first place of a table, or else in the place of all others."""
    ragged = table == "ragged"
    size, shares = (LARGE_TILES, LARGE_SHARE) if large else (SMALL_TILES, SMALL_SHARE)

    def candidates(profile: Profile, element: int) -> Iterator[Profile]:
        first, *rest = getattr(profile, table)[element]
        if not large:
            yield _with(profile, table, element, (first,))
        for shape in tiles(element, ragged, size, shares):
            if not large and shape.rows * shape.cols >= first.rows * first.cols:  # would never be taken
                continue
            shape = replace(shape, wide=first.wide)
            yield _with(profile, table, element, (shape, *rest) if large else (first, shape))

    return candidates


def _refine_stage(table: str) -> Callable[[Profile, int], Iterator[Profile]]:
    """Return the stage that tries prefetches and numbers of resident blocks for the first tile of a table."""

    def candidates(profile: Profile, element: int) -> Iterator[Profile]:
        first, *rest = getattr(profile, table)[element]
        residents = {1, *(max(1, REGISTERS // (registers * first.threads)) for registers in THREAD_REGISTERS)}
        never_wide = table == "ragged" and element in profile.loose_narrow
        for wide, resident in product((False,) if never_wide else (True, False), sorted(residents)):
            if resident * first.threads <= MAX_RESIDENT_THREADS:
                yield _with(profile, table, element, (replace(first, wide=wide, resident=resident), *rest))

    return candidates


def _group_stage(profile: Profile, element: int) -> Iterator[Profile]:
    for group in GROUPS:
        others = {size: pair for size, pair in profile.groups.items() if size != element}
        yield replace(profile, groups=others | ({element: group} if group else {}))


def _with(profile: Profile, table: str, element: int, value: object) -> Profile:
    changed: dict[str, Any] = {table: {**getattr(profile, table), element: value}}
    return replace(profile, **changed)


def _sides(nbytes: int, element: int) -> tuple[int, int]:
    """Return rows and columns of a matrix of ``nbytes`` bytes; all of them are powers of two."""
    power = (nbytes // element).bit_length() - 1
    return 1 << (power + 1) // 2, 1 << power // 2


def _batch(element: int, scale: Scale) -> int:
    """Return how many matrices of 1024 x 1024 are large."""
    return max(1, scale.large >> 20) // element or 1


def _aligned(element: int, scale: Scale) -> list[Case]:
    """Rows a power of two apart, rows that are not, and a batch; all begin where a wide read does."""
    rows, cols = _sides(scale.large, element)
    return [
        Case((rows, cols), (1, 0)),
        Case((rows - 160, cols + 3 * WIDE_BYTES // element), (1, 0)),
        Case((_batch(element, scale), 1024, 1024), (0, 2, 1)),
    ]


def _aligned_huge(element: int, scale: Scale) -> list[Case]:
    """A matrix that tiles are grouped in, if there is room."""
    side = H200.group_pitch // element
    return [Case((side, side), (1, 0))] if side * side * element <= HUGE * scale.large else []


def _aligned_small(element: int, scale: Scale) -> list[Case]:
    sides = [math.isqrt(times * scale.small // element) // 32 * 32 for times in (1, 3)]
    return [Case((side, side), (1, 0)) for side in sides]


def _ragged(element: int, scale: Scale) -> list[Case]:
    rows, cols = _sides(scale.large, element)
    return [Case((rows - 1, cols + 1), (1, 0)), Case((_batch(element, scale), 1023, 1025), (0, 2, 1))]


def _ragged_small(element: int, scale: Scale) -> list[Case]:
    return [
        Case((rows - 1, cols + 1), (1, 0)) for rows, cols in (case.shape for case in _aligned_small(element, scale))
    ]


def _show_tile(shape: TileShape) -> str:
    parts = [f"{shape.rows}x{shape.cols}x{shape.micro_rows}", f"{shape.threads} threads"]
    parts += ["wide reads"] if shape.wide else []
    parts += [f"{shape.resident} resident"] if shape.resident > 1 else []
    return ", ".join(parts)


def _show_tiles(table: str, large: bool) -> Callable[[Profile, int], str]:
    def show(profile: Profile, element: int) -> str:
        first, *rest = getattr(profile, table)[element]
        return "; ".join(map(_show_tile, [first] if large else rest)) or "as large"

    return show


def _show_group(profile: Profile, element: int) -> str:
    group = profile.groups.get(element)
    return f"groups of {group[0]}x{group[1]} tiles" if group else "no groups"


KINDS = (
    Kind(
        "aligned",
        by_tile,
        _aligned,
        (_tile_stage("aligned", True), _refine_stage("aligned")),
        _show_tiles("aligned", True),
    ),
    Kind("aligned, huge", by_tile, _aligned_huge, (_group_stage,), _show_group, (16,)),
    Kind("aligned, small", by_tile, _aligned_small, (_tile_stage("aligned", False),), _show_tiles("aligned", False)),
    Kind(
        "ragged", by_tile, _ragged, (_tile_stage("ragged", True), _refine_stage("ragged")), _show_tiles("ragged", True)
    ),
    Kind("ragged, small", by_tile, _ragged_small, (_tile_stage("ragged", False),), _show_tiles("ragged", False)),
)
"""Every decision; those further down build on those above."""
