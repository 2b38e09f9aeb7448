"""What an expert would say about a kernel's counts: which end is the bottleneck, why, and what would remove it.

Every number is counted, and no verdict is written down anywhere. Running a kernel at 128 x 128, or at a shape as plain
that it accepts, shows what it needs on full tiles and aligned rows. The kernel of the catalogue that removes a waste is
found in the same way.
"""

from collections.abc import Iterator, Sequence
from functools import cache

from cornerturn.emulator.counting import SECTOR_BYTES
from cornerturn.errors import MissingExtraError
from cornerturn.kernels.catalogue import CATALOGUE
from cornerturn.kernels.controls import COPY
from cornerturn.kernels.kernel import Kernel
from cornerturn.lab.counts import Counters, Traffic, count
from cornerturn.lab.footprint import Alike, Footprint
from cornerturn.lab.matrices import Shape, distinct
from cornerturn.lab.run import run_emulated

_PLAIN: Shape = (128, 128)
"""A shape of full tiles and aligned rows for every kernel of the catalogue that takes two long sides."""
_STRIDED = 2
"""A global access takes at least this multiple of its ideal if the lanes are not adjacent."""
_STRUCTURES = range(8, 17)
"""Bytes between neighbouring lanes: too few for a row of a tile, and more than one word."""
_LONG = 2048
"""Elements of the long side, for a kernel that does not: all blocks are full and rows aligned."""


def plain_for(kernel: Kernel, rows: int, cols: int) -> Shape:
    """Return a shape like rows x cols, which ``kernel`` accepts, with full tiles and aligned rows."""
    if kernel.refuses(*_PLAIN) is None:
        return _PLAIN
    return (rows, _LONG) if rows < cols else (_LONG, cols)


def diagnose(
    kernel: Kernel, rows: int, cols: int, counters: Counters, requests: Sequence[Alike], arch: str
) -> tuple[str, ...]:
    """Sentences about a kernel that was counted on an x of rows x cols.

    Global memory comes first: its sectors cross the chip, a wavefront costs one cycle within a multiprocessor.

    Args:
        counters: of the whole launch.
        requests: of one warp, as examples.
    """
    moved = _moved(counters, rows * cols * kernel.element_bytes)
    said = [
        f"Bytes moved per byte of the matrix: {_number(moved[0])} by the global loads, "
        f"{_number(moved[1])} by the global stores."
    ]
    wasting = sorted((place for place in counters.by_place() if _waste(place) > 1), key=_cost)
    if not wasting:
        return (*said, _nothing_wasted(kernel, rows, cols, max(moved), arch))
    shape = plain_for(kernel, rows, cols)
    plain = {place.place: place for place in count_plain(kernel, shape, arch).by_place()}
    its_own = [place for place in wasting if _waste(plain[place.place]) > 1]
    by_shape = [place for place in wasting if place not in its_own]
    said.append(_bottleneck([*its_own, *by_shape]))
    if its_own:
        example = _example(its_own[0], requests)
        if example is not None:
            said.append(_reason(example))
        said.append(_remedy(kernel, rows, cols, its_own[0], example, counters, arch))
    if by_shape:
        said.append(_blame_the_shape(rows, cols, kernel.element_bytes, plain[by_shape[0].place], shape))
    return tuple(said)


def _moved(counters: Counters, useful: int) -> tuple[float, float]:
    """Bytes that the global loads and the global stores move per useful byte."""
    load, store, *_ = counters.by_place()
    return load.found * SECTOR_BYTES / useful, store.found * SECTOR_BYTES / useful


def _waste(place: Traffic) -> float:
    return place.found / place.ideal if place.ideal else 1.0


def _cost(place: Traffic) -> tuple[bool, int]:
    """A key that sorts the most costly place to the front."""
    return place.place.startswith("shared"), place.ideal - place.found


def _bottleneck(wasting: Sequence[Traffic]) -> str:
    """A sentence about the worst place, and one about each other."""
    worst, *others = (
        f"{place.place}: {_number(place.found / place.requests)} {_unit(place)} per request "
        f"where {_number(place.ideal / place.requests)} would do"
        for place in wasting
    )
    return f"The bottleneck is the {worst}." + "".join(f" Also the {other}." for other in others)


def _unit(place: Traffic) -> str:
    return "sectors" if place.place.startswith("global") else "wavefronts"


def _example(worst: Traffic, requests: Sequence[Alike]) -> Footprint | None:
    """The shown warp's most wasteful request at that place; None without one."""
    here = [
        each.first for each in requests if _place(each.first) == worst.place and each.first.passes > each.first.ideal
    ]
    return max(here, key=lambda each: each.passes / each.ideal, default=None)


def _reason(example: Footprint) -> str:
    """How the addresses of a wasteful request cause its waste."""
    verb = "read" if example.access.kind == "load" else "write"
    if example.memory == "shared":
        depth = example.passes / example.ideal
        return (
            f"Line {example.line}: the words that the lanes {verb} lie in {_busy_banks(example)} of the 32 banks, "
            f"and a bank serves one word per wavefront: the conflict is {_number(depth)}-way."
        )
    lines = example.touched
    sectors = sum(sum(line.moved) for line in lines)
    bytes_used = len(example.lanes) * example.access.width
    return (
        f"Line {example.line}: neighbouring lanes mostly {verb} {_stride(example)} bytes apart, so that a request "
        f"touches {sectors} sectors in {len(lines)} lines and uses {_number(bytes_used / sectors)} of the "
        f"{SECTOR_BYTES} bytes of a sector."
    )


def _stride(footprint: Footprint) -> int:
    """How many bytes apart most neighbouring lanes are."""
    steps = [abs(b - a) for a, b in zip(footprint.offsets, footprint.offsets[1:], strict=False)]
    return max(set(steps), key=steps.count) if steps else 0


def _place(footprint: Footprint) -> str:
    return f"{footprint.access.space} {footprint.access.kind}"


def _busy_banks(footprint: Footprint) -> int:
    used = [front.cells for front in footprint.wavefronts]
    return sum(any(cell is not None for cell in bank) for bank in zip(*used, strict=True))


def _remedy(
    kernel: Kernel, rows: int, cols: int, worst: Traffic, example: Footprint | None, counters: Counters, arch: str
) -> str:
    if worst.place.startswith("shared") and example is not None and _stride(example) in _STRUCTURES:
        advice = (
            f"Neighbouring lanes are {_stride(example)} bytes apart, as in a table of structures: an array per "
            "field would spread these words over all banks"
        )
    elif worst.place.startswith("shared"):
        advice = "Another pitch of the tile (padding) or a swizzle would spread these words over all banks"
    elif _waste(worst) < _STRIDED:
        advice = "Neighbouring lanes take neighbours, but requests begin or end within sectors: whole ones waste none"
    elif counters.shared_load_requests:
        advice = (
            f"The tile is there to turn the corner: let neighbouring lanes take neighbours along "
            f"{'x' if 'load' in worst.place else 'y'}"
        )
    else:
        advice = (
            "One end is always strided while an element goes straight from x to y: a tile in shared memory turns the "
            "corner, and makes both ends contiguous"
        )
    for cure in () if kernel.refuses(*_PLAIN) else _candidates(kernel, rows, cols):
        if (counts := _clean_counts(cure, arch)) is not None:
            return f"{advice}; {cure.name} does (at {_PLAIN[0]} x {_PLAIN[1]}: {_summary(counts)})."
    return f"{advice}."


def _blame_the_shape(rows: int, cols: int, element_bytes: int, plain: Traffic, shape: Shape) -> str:
    end, pitch = ("x", cols) if "load" in plain.place else ("y", rows)
    rests = pitch * element_bytes % SECTOR_BYTES
    cause = (
        f"rows of {end} are {pitch * element_bytes} bytes long, {rests} more than a multiple of {SECTOR_BYTES}, "
        "so requests begin and end within sectors"
        if rests
        else "the matrix ends within tiles"
    )
    return (
        f"The waste of the {plain.place} comes from the shape: {cause}. At {shape[0]} x {shape[1]} the same kernel "
        f"takes {_number(plain.found / plain.requests)} {_unit(plain)} per request and wastes none."
    )


def _nothing_wasted(kernel: Kernel, rows: int, cols: int, moved: float, arch: str) -> str:
    if round(moved, 2) > 1:
        return (
            "No request takes more than its active lanes need, but these are few: the matrix does not fill the warps."
        )
    said = "Nothing is wasted: no request takes more sectors or wavefronts than its bytes fill."
    if kernel is COPY:
        return f"{said} No transpose can move less."
    if kernel.refuses(*_PLAIN):
        return said
    own = _global_requests(count_plain(kernel, _PLAIN, arch))
    for other in _candidates(kernel, rows, cols):
        counts = _clean_counts(other, arch)
        if counts is not None and (requests := _global_requests(counts)) < own:
            return (
                f"{said} All that the counts still show is instructions: {other.name} moves the same bytes "
                f"in {_number(requests / own * 100)}% of the global requests."
            )
    return said


def _global_requests(counters: Counters) -> int:
    return counters.global_load_requests + counters.global_store_requests


def _candidates(kernel: Kernel, rows: int, cols: int) -> Iterator[Kernel]:
    """Transposes that accept the shape: the kernel's successors in its family, then its predecessors, then others.

    All accept the plain shape, so they can be compared.
    """
    kernels = [each for each in CATALOGUE if isinstance(each, Kernel) and each not in (COPY, kernel)]
    own = CATALOGUE.index(kernel) if kernel in CATALOGUE else 0
    ranked = sorted(kernels, key=lambda each: (each.family != kernel.family, CATALOGUE.index(each) < own))
    return (
        each
        for each in ranked
        if each.element_bytes == kernel.element_bytes and not each.refuses(rows, cols) and not each.refuses(*_PLAIN)
    )


def _clean_counts(kernel: Kernel, arch: str) -> Counters | None:
    """A kernel's counts at the plain shape, if it wastes nothing there and can be compiled here."""
    try:
        counts = count_plain(kernel, _PLAIN, arch)
    except MissingExtraError:
        return None
    return counts if all(_waste(place) == 1 for place in counts.by_place()) else None


@cache
def count_plain(kernel: Kernel, shape: Shape, arch: str) -> Counters:
    """A kernel's counts at a shape where every tile is full and every row aligned."""
    emulation = run_emulated(kernel, distinct(*shape, kernel.element_bytes), arch).emulation
    return count(emulation.accesses if emulation else ())


def _summary(counters: Counters) -> str:
    """The places that are used, as ``found/ideal`` per request."""
    return ", ".join(
        f"{place.place} {_number(place.found / place.requests)}/{_number(place.ideal / place.requests)}"
        for place in counters.by_place()
        if place.requests
    )


def _number(value: float) -> str:
    """At most two decimals, without trailing zeros."""
    return f"{value:,.2f}".rstrip("0").rstrip(".")
