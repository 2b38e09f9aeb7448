"""The geometry of one move by boxes: what ``permute.cu`` is specialised on, and how its threads walk.

A *box* has a chunk of each axis of the array; a block of threads moves one. Its footprint is a set of contiguous *runs*
in x and another one in y. Threads read *units* along runs of x into shared memory, and gather units of y from there.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from cornerturn.kernels.production.axes import UNIT, MoveAxis

WORD = 4
"""Bytes of a bank of shared memory."""
BATCH = 10
"""Reads that a thread has in flight: with 16 bytes each they leave registers for the rest."""
FULL_WARPS = 0.85
"""Threads of which this part of their warps works are better than more threads with more idle lanes."""

Digit = tuple[int, int, int]
"""A digit of a mixed-radix number: the axis of the box that it counts along, its radix, and the elements of a step."""


@dataclass(frozen=True)
class Phase:
    """How the threads of a block walk over its box, to read it or to write it.

    Attributes:
        unit: elements that a thread takes at once.
        thread: what a thread's number means, the fastest digit first; the first elements make its unit.
        step: the same of a step's number.
        run_units: units of a run of y that does not divide into units: the thread's number begins with the unit's, and
            the last one goes beyond the run. 0: runs divide into units.
    """

    unit: int
    thread: tuple[Digit, ...]
    step: tuple[Digit, ...]
    run_units: int = 0

    @property
    def threads(self) -> int:
        """Threads at work."""
        count = math.prod(radix for _, radix, _ in self.thread)
        return count * self.run_units if self.run_units else count // self.unit

    @property
    def steps(self) -> int:
        """Units that each of them takes, one after the other."""
        return math.prod(radix for _, radix, _ in self.step)


@dataclass(frozen=True)
class Box:
    """One way to move an array, box by box.

    Attributes:
        element: bytes, 1 to 16.
        axes: of the array, in y's order, the fastest first.
        chunks: the elements of a box along each axis.
        x, y: addresses of the first elements modulo 32.
        most_threads: of a block.
        pad: bytes that are inserted in shared memory after every so many elements of x.
        padded: the axes of x's order that those elements lie along; None: a run of x.
        skew: bytes by which each further unit of y's first axis is moved along in shared memory.
        read_shifted: read runs of x by aligned units, which are shifted; None: where their own units are less than
            a word.
        write_shifted: likewise, write runs of y by aligned units, from a second place in shared memory.
        direct: gather units of y from x itself, not through shared memory.
        kept: L2 keeps lines of x longer than those of y.
        along_x: number blocks as x lies in memory, not as y does.
    """

    element: int
    axes: tuple[MoveAxis, ...]
    chunks: tuple[int, ...]
    x: int = 0
    y: int = 0
    most_threads: int = 256
    pad: int = 0
    padded: int | None = None
    skew: int = 0
    read_shifted: bool | None = None
    write_shifted: bool | None = None
    direct: bool = False
    kept: bool = False
    along_x: bool = False

    @cached_property
    def boxed(self) -> tuple[int, ...]:
        """Which axes of the array a box extends along, at least one. They are the box's axes, in this order."""
        return tuple(a for a, chunk in enumerate(self.chunks) if chunk > 1) or (0,)

    @cached_property
    def extents(self) -> tuple[int, ...]:
        """The extent of a box along each of its axes."""
        return tuple(self.chunks[a] for a in self.boxed)

    @cached_property
    def volume(self) -> int:
        """Elements of a box."""
        return math.prod(self.extents)

    @cached_property
    def edges(self) -> tuple[bool, ...]:
        """Along which axes the last box ends beyond the array."""
        return tuple(self.axes[a][0] % self.chunks[a] != 0 for a in self.boxed)

    @cached_property
    def x_order(self) -> tuple[int, ...]:
        """The box's axes as x has them, the fastest first."""
        return tuple(sorted(range(len(self.boxed)), key=lambda b: (abs(self.axes[self.boxed[b]][1]), b)))

    @cached_property
    def x_run(self) -> tuple[int, ...]:
        """The axes along which a run of x lies."""
        return self._run(self.x_order, 1)

    @cached_property
    def y_run(self) -> tuple[int, ...]:
        """The axes along which a run of y lies."""
        return self._run(range(len(self.boxed)), 2)

    @cached_property
    def x_length(self) -> int:
        """Elements of a run of x."""
        return self._length(self.x_run)

    @cached_property
    def y_length(self) -> int:
        """Elements of a run of y."""
        return self._length(self.y_run)

    @cached_property
    def read_unit(self) -> int:
        """Bytes of x that a thread reads at once, unless reads are shifted."""
        unit, extents = self._aligned_unit(self.x_run, 1, self.x), [self.extents[b] for b in self.x_order]
        while unit > self.element and not _shares(extents, unit // self.element, self.most_threads):
            unit //= 2
        return unit

    @cached_property
    def aligned_write_unit(self) -> int:
        """Bytes of the widest unit at which all runs of y begin and end."""
        return self._aligned_unit(self.y_run, 2, self.y)

    @cached_property
    def reads_runs(self) -> bool:
        """Whether runs of x are read by aligned units that are shifted."""
        return self._shifts(self.read_shifted, self.read_unit, self.x_length)

    @cached_property
    def writes_runs(self) -> bool:
        """Whether runs of y are written by aligned units that are shifted."""
        return self._shifts(self.write_shifted, self.aligned_write_unit, self.y_length)

    @cached_property
    def run_units(self) -> int:
        """Units of a run of y where they go beyond it; 0 where runs divide into units, or have more than threads."""
        unit = UNIT // self.element
        if not self.writes_runs or (self.y_length % unit == 0 and _shares(self.extents, unit, self.most_threads)):
            return 0
        units = -(-self.y_length // unit)
        return units if units <= self.most_threads else 0

    @cached_property
    def write_unit(self) -> int:
        """Elements of y that a thread gathers at once."""
        unit = (UNIT if self.writes_runs else self.aligned_write_unit) // self.element
        if self.run_units:
            return unit
        while unit > 1 and (self.y_length % unit or not _shares(self.extents, unit, self.most_threads)):
            unit //= 2
        return unit

    @cached_property
    def span(self) -> int:
        """How many of y's first axes a unit lies along."""
        if self.run_units:
            return len(self.y_run)
        product = 1
        for b, extent in enumerate(self.extents):
            product *= extent
            if product % self.write_unit == 0:
                return b + 1
        return len(self.extents)

    @cached_property
    def straight(self) -> bool:
        """Whether each unit of y lies along y's first axis."""
        return self.write_unit == 1 or (not self.run_units and self.extents[0] % self.write_unit == 0)

    @cached_property
    def can_skew(self) -> bool:
        """Whether units of y may be skewed: they lie along y's first axis, and runs of x do not."""
        return not self.direct and self.straight and self.write_unit > 1 and 0 not in self.x_run

    @cached_property
    def shared_unit(self) -> int:
        """Bytes of a store to shared memory: of a read, or less where padding leaves no more aligned."""
        unit = UNIT if self.reads_runs else self.read_unit
        return min(unit, *(shift & -shift for shift in (self.pad, self.skew) if shift), unit)

    @cached_property
    def pitches(self) -> tuple[int, ...]:
        """Bytes in shared memory from one element to the next along each axis: runs of x follow one another."""
        pitches, step = [0] * len(self.boxed), self.element
        run = max(len(self.x_run), 1)
        padded = run if self.padded is None else self.padded
        for place, b in enumerate(self.x_order, 1):
            pitches[b] = step
            step *= self.extents[b]
            if b == 0:
                step += (self.extents[0] - 1) // self.write_unit * self.skew
            if place == run:
                unit = UNIT if self.reads_runs else max(self.shared_unit, WORD) if self.x_run else self.element
                step = -(-step // unit) * unit
            if place == padded:
                step += self.pad
        return tuple(pitches)

    @cached_property
    def paddable(self) -> tuple[int, ...]:
        """After how many axes of x's order padding can be: reads are not to straddle it."""
        if self.direct:
            return ()
        run, length, places = max(len(self.x_run), 1), 1, []
        for place, b in enumerate(self.x_order, 1):
            length *= self.extents[b]
            if place >= run or (not self.reads_runs and length * self.element % self.read_unit == 0):
                places.append(place)
        return tuple(places[: max(1, len(self.x_order) - 1)])

    @cached_property
    def box_bytes(self) -> int:
        """Shared memory that a box takes."""
        size = sum(pitch * (extent - 1) for pitch, extent in zip(self.pitches, self.extents, strict=True))
        size += (self.extents[0] - 1) // self.write_unit * self.skew
        last = self.element + -self.x_length * self.element % UNIT if self.reads_runs else max(self.element, WORD)
        return -(-(size + last) // UNIT) * UNIT

    @cached_property
    def run_pitches(self) -> tuple[int, ...]:
        """The same as `pitches` where runs of y lie before they are written: each begins on a unit."""
        pitches, step = [], self.element
        for b, extent in enumerate(self.extents):
            pitches.append(step)
            step *= extent
            if b == (self.y_run[-1] if self.y_run else 0):
                step = -(-step // UNIT) * UNIT
        return tuple(pitches)

    @cached_property
    def run_pitch(self) -> int:
        """Bytes from one run of y to the next there."""
        return -(-self.y_length * self.element // UNIT) * UNIT

    @cached_property
    def shared_bytes(self) -> int:
        """Shared memory of a block."""
        if self.direct:
            return 0
        runs = self.volume // self.y_length * self.run_pitch + UNIT if self.writes_runs else 0
        return self.box_bytes + runs

    @cached_property
    def pack(self) -> int:
        """Elements of x's run that a thread gathers at once: those of a word, or one."""
        count = max(WORD // self.element, 1)
        if count == 1 or not self.x_run or self.packed < self.span or self.write_unit * self.element < WORD:
            return 1
        if self.direct:
            pitches: Sequence[int] = [self.axes[a][1] for a in self.boxed]
            whole = self.axes[self.boxed[self.packed]][0] % count == 0
            aligned = whole and self._aligned_unit(self.x_run, 1, self.x) >= WORD
        else:
            pitches, aligned = self.pitches, True
        others = all(pitch % WORD == 0 for b, pitch in enumerate(pitches) if b != self.packed)
        return count if aligned and others and self.extents[self.packed] % count == 0 else 1

    @cached_property
    def packed(self) -> int:
        """The axis along which those lie."""
        return self.x_run[0] if self.x_run else 0

    @cached_property
    def read(self) -> Phase:
        """How threads read the box."""
        return _shared(
            [(b, self.extents[b], 1) for b in self.x_order], self.read_unit // self.element, self.most_threads
        )

    @cached_property
    def batch(self) -> int:
        """Reads of a thread in flight: an equal share of its steps."""
        return -(-self.read.steps // -(-self.read.steps // BATCH))

    @cached_property
    def write(self) -> Phase:
        """How threads gather and write it."""
        digits = [
            (b, extent // self.pack, self.pack) if self.pack > 1 and b == self.packed else (b, extent, 1)
            for b, extent in enumerate(self.extents)
        ]
        if self.run_units:
            runs = _shared(digits[len(self.y_run) :] or [(0, 1, 1)], 1, self.most_threads // self.run_units)
            return replace(runs, unit=self.write_unit, run_units=self.run_units)
        return _shared(digits, self.write_unit, self.most_threads)

    @cached_property
    def threads(self) -> int:
        """Threads of a block: whole warps; as many as a power of two where lanes share runs."""
        used = self.write.threads
        if not self.reads_runs and not self.direct:
            used = max(used, self.read.threads)
        if self.reads_runs or self.writes_runs:
            used = max(used, min(self.most_threads, self.volume * self.element // UNIT))
            return max(32, 1 << (used - 1).bit_length())
        return -(-used // 32) * 32

    @cached_property
    def numbered(self) -> tuple[int, ...]:
        """The array's axes along which there are several boxes, in the order in which blocks are numbered."""
        several = [a for a, axis in enumerate(self.axes) if axis[0] > self.chunks[a]]
        return tuple(sorted(several, key=lambda a: abs(self.axes[a][1])) if self.along_x else several)

    @cached_property
    def blocks(self) -> int:
        """Boxes of the array."""
        return math.prod(-(-self.axes[a][0] // self.chunks[a]) for a in self.numbered)

    def lanes(self, length: int) -> int:
        """Threads that share a run of ``length`` elements, unit by unit: a power of two, at most a warp.

        What is done once per run, all of them do: so not more than 8 of them, unless each would take many units.
        """
        units = -(-length * self.element // UNIT)
        return min(32, 1 << (max(min(units, 8), -(-units // 4)) - 1).bit_length())

    def _run(self, order: Sequence[int], side: int) -> tuple[int, ...]:
        step, run = self.element, []
        for b in order:
            axis = self.axes[self.boxed[b]]
            if axis[side] != step:
                break
            run.append(b)
            if self.extents[b] != axis[0]:
                break
            step *= axis[0]
        return tuple(run)

    def _length(self, run: Sequence[int]) -> int:
        return math.prod(self.extents[b] for b in run)

    def _aligned_unit(self, run: Sequence[int], side: int, begin: int) -> int:
        """Return the bytes of the widest unit at which all runs of one side begin and end."""
        if not run:
            return self.element
        numbers = [begin, self._length(run) * self.element]
        if self.edges[run[-1]]:
            numbers.append(self.axes[self.boxed[run[-1]]][0] * self._length(run[:-1]) * self.element)
        of_run = {self.boxed[b] for b in run}
        numbers += [axis[side] for a, axis in enumerate(self.axes) if a not in of_run and axis[0] > 1]
        unit = math.gcd(UNIT, *numbers)
        return max(unit, self.element)

    def _shifts(self, wanted: bool | None, unit: int, length: int) -> bool:
        if self.direct or self.element == UNIT or length * self.element < 2 * WORD:
            return False
        return unit < WORD if wanted is None else wanted and unit < UNIT


def _shared(digits: Sequence[Digit], unit: int, most_threads: int) -> Phase:
    """Return the phase whose threads share the first digits: the most that work, in full warps."""
    best, choice, product = (False, 0.0), (0, 0), 1
    for place, (_, radix, _) in enumerate(digits):
        for part in _divisors(radix):
            elements = product * part
            if elements % unit or elements // unit > most_threads:
                continue
            threads = elements // unit
            full = threads / (-(-threads // 32) * 32)
            score = (full >= FULL_WARPS, threads if full >= FULL_WARPS else threads * full)
            if score > best:
                best, choice = score, (place, part)
        product *= radix
    place, part = choice
    axis, radix, step = digits[place]
    thread = [*digits[:place], (axis, part, step)]
    rest = [(axis, radix // part, part * step), *digits[place + 1 :]]
    return Phase(unit, tuple(d for d in thread if d[1] > 1), tuple(d for d in rest if d[1] > 1))


def _shares(extents: Sequence[int], unit: int, most_threads: int) -> bool:
    """Return whether so many threads can share units: the first axes together are whole units, and few enough."""
    product = 1
    for extent in extents:
        need = unit // math.gcd(unit, product)
        if extent % need == 0:
            return product * need // unit <= most_threads
        product *= extent
    return False


@lru_cache(maxsize=4096)
def _divisors(n: int) -> tuple[int, ...]:
    small = [d for d in range(1, math.isqrt(n) + 1) if n % d == 0]
    return tuple(sorted({*small, *(n // d for d in small)}))
