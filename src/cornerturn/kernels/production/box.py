"""The geometry of one move by boxes: what ``permute.cu`` is specialised on, and how its threads walk.

A *box* has a chunk of each axis of the array; a block of threads moves one. Its footprint is a set of contiguous *runs*
in x and another one in y. Threads read *units* along runs of x into shared memory, and gather units of y from there.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from cornerturn.kernels.production.axes import UNIT, MoveAxis

WORD = 4
"""Bytes of a bank of shared memory."""
BATCH = 10
"""Reads that a thread has in flight: with 16 bytes each they leave registers for the rest."""
GAP = 32
"""Bytes from one element of x to the next up to which a run of x may have gaps: no sector of it is without elements."""
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
        windows: a thread's number counts aligned windows, not elements. Their axis is numbered after those of the box;
            a run begins in its first window, and may end before its last.
        beyond: axes along which the last steps may lead beyond the box.
    """

    unit: int
    thread: tuple[Digit, ...]
    step: tuple[Digit, ...]
    windows: bool = False
    beyond: tuple[int, ...] = ()

    @property
    def threads(self) -> int:
        """Threads at work."""
        return math.prod(radix for _, radix, _ in self.thread) // (1 if self.windows else self.unit)

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
        mirrored: read runs of x by aligned units, and hold them in shared memory as far into a unit as in x. Elements
            of a run may then have gaps between them. None: where units of the runs' own are less than a word.
        widest: bytes of the widest unit of y.
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
    mirrored: bool | None = None
    widest: int = UNIT
    direct: bool = False
    kept: bool = False
    along_x: bool = False

    @cached_property
    def boxed(self) -> tuple[int, ...]:
        """Which axes of the array a box extends along, at least one. They are the box's axes, in this order."""
        return tuple(a for a, chunk in enumerate(self.chunks) if chunk > 1) or (0,)

    @cached_property
    def hops(self) -> tuple[int, ...]:
        """Elements from one box to the next along each of its axes."""
        return tuple(self.chunks[a] for a in self.boxed)

    @cached_property
    def extents(self) -> tuple[int, ...]:
        """The extent of a box along each of its axes: its chunk, and a halo along the last axis of runs of y.

        A word of y that begins in the box may end in the next one.
        """
        halo = WORD // self.element if self.writes_runs and self._is_cut(self.y_run[-1]) else 0
        return tuple(hop + (halo if halo and b == self.y_run[-1] else 0) for b, hop in enumerate(self.hops))

    def _is_cut(self, b: int) -> bool:
        return self.hops[b] < self.axes[self.boxed[b]][0]

    @cached_property
    def volume(self) -> int:
        """Elements of a box."""
        return math.prod(self.extents)

    @cached_property
    def edges(self) -> tuple[bool, ...]:
        """Along which axes the last box ends beyond the array."""
        return tuple(
            self.axes[a][0] % hop != 0 or extent > hop
            for a, hop, extent in zip(self.boxed, self.hops, self.extents, strict=True)
        )

    @cached_property
    def x_order(self) -> tuple[int, ...]:
        """The box's axes as x has them, the fastest first."""
        return tuple(sorted(range(len(self.boxed)), key=lambda b: (abs(self.axes[self.boxed[b]][1]), b)))

    @cached_property
    def x_run(self) -> tuple[int, ...]:
        """The axes along which a run of x lies."""
        return self._run(self.x_order, 1, self.x_step)

    @cached_property
    def x_step(self) -> int:
        """Bytes from one element of a run of x to the next."""
        first = self.axes[self.boxed[self.x_order[0]]][1]
        gaps = self.mirrored and not self.direct and self.element < min(first, UNIT) and first <= GAP
        return first if gaps else self.element

    @cached_property
    def y_run(self) -> tuple[int, ...]:
        """The axes along which a run of y lies."""
        return self._run(range(len(self.boxed)), 2, self.element)

    @cached_property
    def x_length(self) -> int:
        """Elements of a run of x."""
        return math.prod(self.extents[b] for b in self.x_run)

    @cached_property
    def y_length(self) -> int:
        """Elements of a run of y, without a halo."""
        return math.prod(self.hops[b] for b in self.y_run)

    @cached_property
    def x_bytes(self) -> int:
        """Bytes from the begin of a run of x to its end."""
        return (self.x_length - 1) * self.x_step + self.element

    @cached_property
    def read_unit(self) -> int:
        """Bytes of x that a thread reads at once, unless x is mirrored."""
        unit, extents = self._aligned_unit(self.x_run, 1, self.x), [self.extents[b] for b in self.x_order]
        unit = max(math.gcd(unit, self.x_length * self.element), self.element)
        while unit > self.element and not _shares(extents, unit // self.element, self.most_threads):
            unit //= 2
        return unit

    @cached_property
    def aligned_write_unit(self) -> int:
        """Bytes of the widest unit at which all runs of y begin and end."""
        return self._aligned_unit(self.y_run, 2, self.y)

    @cached_property
    def reads_runs(self) -> bool:
        """Whether runs of x are read by aligned units."""
        if self.direct or self.element == UNIT or not self.x_run:
            return False
        if self.mirrored is None:
            return self.read_unit < WORD and self.x_bytes >= 2 * WORD
        return self.mirrored and (self.read_unit < UNIT or self.x_step > self.element)

    @cached_property
    def writes_runs(self) -> bool:
        """Whether runs of y are written by aligned words, as they begin and end at any element."""
        return (
            not self.direct
            and self.aligned_write_unit < WORD
            and self.y_length * self.element >= 2 * WORD
            and math.prod(radix for _, radix, _ in self._same_windows) <= self.most_threads
        )

    @cached_property
    def x_grain(self) -> int:
        """What divides the addresses at which runs of x begin."""
        return self._grain(self.x_run, 1, self.x, UNIT)

    @cached_property
    def write_unit(self) -> int:
        """Elements of y that a thread gathers at once."""
        if self.writes_runs:
            return WORD // self.element
        unit = max(min(self.aligned_write_unit, self.widest) // self.element, 1)
        while unit > 1 and (self.y_length % unit or not _shares(self.extents, unit, self.most_threads)):
            unit //= 2
        return unit

    @cached_property
    def span(self) -> int:
        """How many of y's first axes a unit lies along."""
        if self.writes_runs:
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
        if self.writes_runs:
            return len(self.y_run) == 1
        return self.write_unit == 1 or self.extents[0] % self.write_unit == 0

    @cached_property
    def can_skew(self) -> bool:
        """Whether units of y may be skewed: they lie along y's first axis, and no unit of x does."""
        if self.direct or not self.straight or self.write_unit == 1:
            return False
        before = math.prod(self.extents[b] for b in self.x_order[: self.x_order.index(0)]) * self.element
        return 0 not in self.x_run or (not self.reads_runs and before % self.read_unit == 0)

    @cached_property
    def shared_unit(self) -> int:
        """Bytes of a store to shared memory: of a read, or less where padding leaves no more aligned."""
        unit = UNIT if self.reads_runs else self.read_unit
        return min(unit, *(shift & -shift for shift in (self.pad, self.skew) if shift), unit)

    @cached_property
    def pitches(self) -> tuple[int, ...]:
        """Bytes in shared memory from one element to the next along each axis: runs of x follow one another.

        Where x is mirrored, they are those of x modulo what a store takes.
        """
        pitches, step = [0] * len(self.boxed), self.x_step
        run = max(len(self.x_run), 1)
        padded = run if self.padded is None else self.padded
        used = self.x_bytes
        for place, b in enumerate(self.x_order, 1):
            if self.reads_runs and place > run:
                step = self._apart(used, self.axes[self.boxed[b]][1]) + (self.pad if place == padded + 1 else 0)
            pitches[b] = step
            step *= self.extents[b]
            if place > run:
                used += (self.extents[b] - 1) * pitches[b]
            if b == 0:
                more = (self.extents[0] - 1) // self.write_unit * self.skew
                step, used = step + more, used + more
            if self.reads_runs:
                continue
            if place == run:
                unit = max(self.shared_unit, WORD) if self.x_run else self.element
                step = -(-step // unit) * unit
            if place == padded:
                step += self.pad
        return tuple(pitches)

    def _apart(self, used: int, stride: int) -> int:
        """Return the pitch of what takes ``used`` bytes so that no unit holds bytes of two."""
        pitch, begins = used + (stride - used) % UNIT, range(0, UNIT, self.x_grain)
        if self.shared_unit < UNIT:  # runs lie elsewhere in their units than in x: the last one, and the next
            least = used - self.x_bytes + self._held + UNIT - self.x_grain
        else:
            least = max(-(-(at + used) // UNIT) * UNIT - (at + pitch) // UNIT * UNIT for at in begins) + pitch
        return pitch + -(-max(least - pitch, 0) // UNIT) * UNIT

    @cached_property
    def _held(self) -> int:
        """The most bytes from where a run of x begins to the end of the last unit that holds some of it."""
        return max(-(-(at + self.x_bytes) // UNIT) * UNIT - at for at in range(0, UNIT, self.x_grain))

    @cached_property
    def paddable(self) -> tuple[int, ...]:
        """After how many axes of x's order padding can be: reads are not to straddle it."""
        if self.direct:
            return ()
        run, length, places = max(len(self.x_run), 1), 1, []
        for place, b in enumerate(self.x_order, 1):
            length *= self.extents[b]
            if place >= run if self.reads_runs else place >= run or length * self.element % self.read_unit == 0:
                places.append(place)
        return tuple(places[: max(1, len(self.x_order) - 1)])

    @cached_property
    def box_bytes(self) -> int:
        """Shared memory that a box takes."""
        spans = {b: pitch * (self.extents[b] - 1) for b, pitch in enumerate(self.pitches)}
        size = (self.extents[0] - 1) // self.write_unit * self.skew
        if self.reads_runs:
            size += sum(span for b, span in spans.items() if b not in self.x_run)
            size += self._held + UNIT - self.x_grain
        else:
            size += sum(spans.values()) + max(self.element, WORD)
        return -(-size // UNIT) * UNIT

    @cached_property
    def shared_bytes(self) -> int:
        """Shared memory of a block."""
        return 0 if self.direct else self.box_bytes

    @cached_property
    def pack(self) -> int:
        """Elements of x's run that a thread gathers at once: those of a word, or one."""
        count = max(WORD // self.element, 1)
        if count == 1 or not self.x_run or self.packed < self.span or self.write_unit * self.element < WORD:
            return 1
        if self.writes_runs or self.reads_runs:
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
        if self.reads_runs:
            windows = (len(self.boxed), _windows(self.x_bytes, UNIT, self.x_grain), 1)
            outside = [(b, self.extents[b], 1) for b in self.x_order if b not in self.x_run]
            return _spread([windows, *outside], UNIT // self.element, self.most_threads)
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
        if self.writes_runs:
            same = self._same_windows
            rest = []
            for b in range(len(self.y_run), len(self.boxed)):
                period = self._period(b)
                if period < self.extents[b]:
                    rest.append((b, -(-self.extents[b] // period), period))
            return _spread([*same, *rest], self.write_unit, self.most_threads, self.extents)
        return _shared(digits, self.write_unit, self.most_threads)

    @cached_property
    def _same_windows(self) -> list[Digit]:
        """The windows of a run of y, and the runs from whose begins on others begin alike within a word."""
        grain = self._grain(self.y_run, 2, self.y, WORD)
        windows = (len(self.boxed), _windows(self.y_length * self.element, WORD, grain), 1)
        others = [(b, min(self._period(b), self.hops[b]), 1) for b in range(len(self.y_run), len(self.boxed))]
        return [windows, *(digit for digit in others if digit[1] > 1)]

    def _period(self, b: int) -> int:
        """Return after how many steps along an axis runs of y begin alike within a word."""
        return WORD // math.gcd(WORD, self.axes[self.boxed[b]][2])

    @cached_property
    def threads(self) -> int:
        """Threads of a block: whole warps."""
        used = self.write.threads if self.direct else max(self.write.threads, self.read.threads)
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

    def _run(self, order: Sequence[int], side: int, step: int) -> tuple[int, ...]:
        run = []
        for b in order:
            axis = self.axes[self.boxed[b]]
            if axis[side] != step:
                break
            run.append(b)
            if self.hops[b] != axis[0]:
                break
            step *= axis[0]
        return tuple(run)

    def _grain(self, run: Sequence[int], side: int, begin: int, unit: int) -> int:
        """Return what divides the address at which every run of one side begins, and ``unit``."""
        of_run = {self.boxed[b] for b in run}
        numbers = [axis[side] * self.chunks[a] if a in of_run else axis[side] for a, axis in self._several(of_run)]
        return math.gcd(unit, begin, *numbers)

    def _several(self, of_run: set[int]) -> list[tuple[int, MoveAxis]]:
        """Return the axes along which there are several runs."""
        return [(a, axis) for a, axis in enumerate(self.axes) if axis[0] > (self.chunks[a] if a in of_run else 1)]

    def _aligned_unit(self, run: Sequence[int], side: int, begin: int) -> int:
        """Return the bytes of the widest unit at which all runs of one side begin and end."""
        if not run:
            return self.element
        numbers = [begin, math.prod(self.hops[b] for b in run) * self.element]
        inner = math.prod(self.hops[b] for b in run[:-1]) * self.element
        numbers.append(self.axes[self.boxed[run[-1]]][0] * inner)
        of_run = {self.boxed[b] for b in run}
        numbers += [axis[side] for a, axis in enumerate(self.axes) if a not in of_run and axis[0] > 1]
        unit = math.gcd(UNIT, *numbers)
        return max(unit, self.element)


def _windows(nbytes: int, unit: int, grain: int) -> int:
    """Return how many aligned windows a run may touch that begins on multiples of ``grain``."""
    return -(-(nbytes + unit - grain) // unit)


def _spread(digits: Sequence[Digit], unit: int, most_threads: int, extents: Sequence[int] | None = None) -> Phase:
    """Return the phase whose threads share the first digits, of windows: the last one in equal parts."""
    thread: list[Digit] = []
    steps: list[Digit] = []
    product = 1
    for axis, radix, step in digits:
        room = most_threads // product
        times = -(-radix // room) if room else radix
        part = -(-radix // times)
        thread.append((axis, part, step))
        steps.append((axis, -(-radix // part), part * step))
        product = product * part if times == 1 else most_threads
    beyond = {
        axis
        for axis, radix, step in digits
        for own, times, hop in steps
        if own == axis and times > 1 and times * hop > radix * step
    }
    if extents is not None:
        beyond |= {axis for axis, radix, step in digits if axis < len(extents) and radix * step > extents[axis]}
    return Phase(
        unit, tuple(d for d in thread if d[1] > 1), tuple(d for d in steps if d[1] > 1), True, tuple(sorted(beyond))
    )


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
