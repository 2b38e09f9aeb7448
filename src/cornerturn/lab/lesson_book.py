"""The book of lessons: each claim about memory access, and the function that gathers its evidence."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from difflib import get_close_matches

import numpy as np

from cornerturn.errors import UsageError
from cornerturn.kernels.catalogue import find
from cornerturn.kernels.kernel import CudaSource, Kernel
from cornerturn.lab.evidence import EQUAL, Fact, Numbers
from cornerturn.lab.lesson import Facts, Lesson


def find_lessons(names: Sequence[str]) -> tuple[Lesson, ...]:
    """The lessons of these names, or all of them without names.

    Raises:
        UsageError: no such lesson; the message suggests the nearest name.
    """
    known = {lesson.name: lesson for lesson in LESSONS}
    for name in names:
        if name not in known:
            nearest = get_close_matches(name.lower(), known, n=1, cutoff=0.5)
            hint = f"did you mean {nearest[0]!r}? " if nearest else ""
            raise UsageError(f"unknown lesson {name!r}: {hint}the lessons are {', '.join(known)}")
    return tuple(known[name] for name in dict.fromkeys(names)) or LESSONS


# Facts of kinds that occur several times.


def _passes(numbers: Numbers, name: str, place: str, expected: float) -> Fact:
    unit = "sectors" if place.startswith("global") else "wavefronts"
    found = numbers.passes(name, place)
    return Fact(
        f"{name}: {found:.3g} {unit if found != 1 else unit[:-1]} per {place} request",
        abs(found - expected) <= 0.01 * expected,
    )


def _equal_counts(numbers: Numbers, one: str, other: str) -> Fact:
    alike = numbers.counters(one) == numbers.counters(other) and numbers.lines(one) == numbers.lines(other)
    return Fact(f"{one} and {other}: {'all' if alike else 'not all'} memory counts are equal", alike)


def _faster(numbers: Numbers, quick: str, slow: str) -> Facts:
    yield from _compared(numbers, quick, slow, lambda ratio: ratio > 1 + EQUAL)


def _no_faster(numbers: Numbers, candidate: str, other: str) -> Facts:
    yield from _compared(numbers, candidate, other, lambda ratio: ratio < 1 + EQUAL)


def _compared(numbers: Numbers, one: str, other: str, accept: Callable[[float], bool]) -> Facts:
    """How many times as fast as the other a kernel is; nothing without a GPU."""
    first, second = numbers.seconds(one), numbers.seconds(other)
    if first is None or second is None:
        return
    text = f"{one}: {first * 1e6:.2f} µs, {other}: {second * 1e6:.2f} µs, {second / first:.2f} times as fast"
    yield Fact(text, accept(second / first), timed=True)


# The evidence, a function per lesson.


def _coalescing(numbers: Numbers) -> Facts:
    yield _passes(numbers, "f32_col2row", "global load", 4)
    yield _passes(numbers, "f32_col2row", "global store", 32)
    yield _passes(numbers, "f32_row2col", "global load", 32)
    yield _passes(numbers, "f32_row2col", "global store", 4)


def _contiguous_write(numbers: Numbers) -> Facts:
    for one_end, other_end in (("f32_row2col", "f32_col2row"), ("f32_row2col2d", "f32_col2row2d")):
        totals = [
            sum(numbers.traffic(name, place).found for place in ("global load", "global store"))
            for name in (one_end, other_end)
        ]
        yield Fact(f"{one_end}: {totals[0]:,} sectors, {other_end}: {totals[1]:,}", totals[0] == totals[1])
        yield from _faster(numbers, one_end, other_end)


def _divisions(numbers: Numbers) -> Facts:
    names = "f32_col2row", "f32_col2row2d"
    counts = [numbers.divisions(name) for name in names]
    yield Fact(
        f"divisions in the PTX of {names[0]}: {counts[0]}, of {names[1]}: {counts[1]}", counts[0] > counts[1] == 0
    )
    lengths = [numbers.machine_instructions(name) for name in names]
    if lengths[0] and lengths[1]:
        text = f"machine instructions per element of {names[0]}: {lengths[0]}, of {names[1]}: {lengths[1]}"
        yield Fact(text, lengths[1] < lengths[0])


def _vector_on_the_cheap_end(numbers: Numbers) -> Facts:
    plain, vector = "f32_col2row", "f32x4_col2row"
    loads = [numbers.traffic(name, "global load") for name in (plain, vector)]
    yield Fact(
        f"{vector}: {loads[1].requests:,} load requests instead of {loads[0].requests:,}, "
        f"{loads[1].found:,} sectors as before",
        loads[1].requests < loads[0].requests and loads[1].found == loads[0].found,
    )
    stores = [numbers.traffic(name, "global store") for name in (plain, vector)]
    yield Fact(f"the stores, 32 sectors per request, stay: {stores[1].found:,}", stores[0] == stores[1])
    yield from _no_faster(numbers, vector, plain)


def _staging(numbers: Numbers) -> Facts:
    yield _passes(numbers, "naive", "global store", 32)
    yield _passes(numbers, "shared_padding", "global load", 4)
    yield _passes(numbers, "shared_padding", "global store", 4)
    yield from _faster(numbers, "shared_padding", "naive")


def _padding(numbers: Numbers) -> Facts:
    yield _passes(numbers, "shared_no_padding", "shared load", 32)
    yield _passes(numbers, "shared_padding", "shared load", 1)
    yield from _faster(numbers, "shared_padding", "shared_no_padding")


def _padding_and_alignment(numbers: Numbers) -> Facts:
    """Pad the tile of a kernel that fills it by float4, and change nothing else."""
    kernel = find("f32x4_shared_col2row2d")
    assert isinstance(kernel, Kernel) and isinstance(kernel.source, CudaSource)
    text, changed = re.subn(r"(float tile\[16\]\[64)(\];)", r"\1 + 1\2", kernel.source.text, count=1)
    padded = replace(kernel, name=f"{kernel.name}, padded", source=CudaSource("padded.cu", text, (kernel.entry,)))
    plain = numbers.run(kernel, 64, 64)
    yield Fact(f"{kernel.name}: {'no fault' if plain.valid else plain.faults[0]}", plain.valid)
    run = numbers.run(padded, 64, 64)
    faults = [hazard for hazard in run.emulation.hazards if hazard.kind == "misaligned"] if run.emulation else []
    said = faults[0].message if faults else "no misaligned access"
    yield Fact(f"with a tile row of 64 + 1 floats: {said}", changed == 1 and bool(faults))


def _swizzle(numbers: Numbers) -> Facts:
    yield _passes(numbers, "cute_row_smem", "shared load", 8)
    yield _passes(numbers, "cute_row_smem_swizzled", "shared load", 1)
    yield _passes(numbers, "cute_row_cvectorized", "shared store", 32)
    vector = "cute_row_cvectorized_swizzled"
    yield _passes(numbers, vector, "shared store", 4)
    widths = numbers.widths(vector, "shared", "store") | numbers.widths(vector, "shared", "load")
    yield Fact(f"{vector}: shared accesses of {_listed(widths)} bytes, all aligned", widths == {16})
    yield from _faster(numbers, vector, "cute_row_cvectorized")


def _diagonal(numbers: Numbers) -> Facts:
    yield _equal_counts(numbers, "f32_diagonal2d", "f32_row2col2d")
    yield from _no_faster(numbers, "f32_diagonal2d", "f32_row2col2d")


def _view(numbers: Numbers) -> Facts:
    x = np.empty((numbers.rows, numbers.cols), dtype=np.float32)
    yield Fact(f"x.T lies in the memory of x: {np.shares_memory(x, x.T)}", np.shares_memory(x, x.T))
    yield Fact(f"strides of x: {x.strides} bytes, of x.T: {x.T.strides}", x.T.strides == x.strides[::-1])
    yield Fact(
        f"reading x.T along its rows goes down the columns of x, as f32_row2col does: "
        f"{numbers.passes('f32_row2col', 'global load'):.3g} sectors per request",
        numbers.passes("f32_row2col", "global load") > 4,
    )


def _layouts(numbers: Numbers) -> Facts:
    yield _equal_counts(numbers, "cute_row2col_reg", "f32_row2col2d")
    yield _equal_counts(numbers, "cute_col2row_reg", "f32_col2row2d")


def _value_layout(numbers: Numbers) -> Facts:
    for name, place, expected in (
        ("cute_row_rvectorized", "load", {16}),
        ("cute_row_cvectorized", "load", {4}),
        ("cute_row_rvectorized", "store", {4}),
        ("cute_row_cvectorized", "store", {16}),
    ):
        widths = numbers.widths(name, "global", place)
        requests = numbers.traffic(name, f"global {place}").requests
        yield Fact(f"{name}: {requests:,} global {place} requests of {_listed(widths)} bytes", widths == expected)


def _register_traffic(numbers: Numbers) -> Facts:
    before, after = "cute_row_rvectorized_swizzled", "cute_row_rvectorized_swizzled_optimized"
    totals = [
        sum(numbers.traffic(name, place).found for place in ("shared load", "shared store")) for name in (before, after)
    ]
    yield Fact(f"{before}: {totals[0]:,} shared wavefronts, {after}: {totals[1]:,}", totals[1] < totals[0])


def _register_vectors(numbers: Numbers) -> Facts:
    before, after = "cute_row_rvectorized_swizzled", "cute_row_rvectorized_swizzled_optimized"
    for name, expected in ((before, {4}), (after, {16})):
        widths = numbers.widths(name, "global", "store")
        requests = numbers.traffic(name, "global store").requests
        yield Fact(f"{name}: {requests:,} global store requests of {_listed(widths)} bytes", widths == expected)
    yield from _faster(numbers, after, before)


def _block_size(numbers: Numbers) -> Facts:
    names = "tiled_8", "tiled_16", "tiled_32"
    lines = [numbers.lines(name) for name in names]
    touched = [f"{name}: {count:,}" for name, count in zip(names, lines, strict=True)]
    yield Fact(f"128-byte lines touched, {', '.join(touched)}", lines[0] > lines[1] > lines[2])
    shared = [numbers.passes(name, "shared load") for name in names]
    conflicts = ", ".join(f"{name}: {passes:.3g}" for name, passes in zip(names, shared, strict=True))
    yield Fact(f"wavefronts per shared load request, {conflicts}", shared[0] >= shared[1] > shared[2] == 1)
    for larger, smaller in (("tiled_16", "tiled_8"), ("tiled_32", "tiled_16")):
        yield from _faster(numbers, larger, smaller)


def _merged_writes(numbers: Numbers) -> Facts:
    plain, merged = "f32x4_shared_bcf_row2col2d", "f32x4_shared_bcf_merge_write_row2col2d"
    yield _passes(numbers, plain, "global store", 32)
    yield _passes(numbers, merged, "global store", 16)
    yield from _faster(numbers, merged, plain)


def _asynchronous(numbers: Numbers) -> Facts:
    yield _equal_counts(numbers, "tiled_async", "shared_padding")


def _launch_overhead(numbers: Numbers) -> Facts:
    sides = 32, 128, 256
    seconds = [numbers.seconds("shared_padding", side, side) for side in sides]
    first, last = seconds[0], seconds[-1]
    if first is None or last is None:
        return
    times = ", ".join(f"{side}x{side}: {time * 1e6:.2f} µs" for side, time in zip(sides, seconds, strict=True) if time)
    bytes_ratio = (sides[-1] // sides[0]) ** 2
    yield Fact(f"{times}: {last / first:.2f} times as long for {bytes_ratio} times the bytes", last < 2 * first, True)


def _listed(widths: set[int]) -> str:
    return " and ".join(map(str, sorted(widths))) or "no"


LESSONS: tuple[Lesson, ...] = (
    Lesson(
        "coalescing",
        "A warp that walks along a row meets 4 sectors; one that walks down a column meets 32, each for 4 bytes.",
        ("f32_col2row", "f32_row2col"),
        _coalescing,
    ),
    Lesson(
        "contiguous-write",
        "When only one end can be contiguous, keep the write: it takes as many sectors and less time.",
        ("f32_col2row", "f32_row2col", "f32_col2row2d", "f32_row2col2d"),
        _contiguous_write,
        timed=True,
    ),
    Lesson(
        "divisions",
        "A 2-D grid gives row and column without a division, and the kernel is shorter for it.",
        ("f32_col2row", "f32_col2row2d"),
        _divisions,
        pictured=False,
    ),
    Lesson(
        "vector-on-cheap-end",
        "A vector access on the end that is not the bottleneck buys nothing.",
        ("f32_col2row", "f32x4_col2row"),
        _vector_on_the_cheap_end,
        timed=True,
    ),
    Lesson(
        "staging",
        "A tile staged in shared memory makes both ends contiguous.",
        ("naive", "shared_padding"),
        _staging,
    ),
    Lesson(
        "padding",
        "A column of a 32-wide tile lies in one bank, a 32-way conflict; one float of padding per row removes it.",
        ("shared_no_padding", "shared_padding"),
        _padding,
    ),
    Lesson(
        "padding-alignment",
        "Padding by one float takes the 16-byte alignment of tile rows away: a float4 store into them is misaligned.",
        ("f32x4_shared_col2row2d",),
        _padding_and_alignment,
    ),
    Lesson(
        "swizzle",
        "A swizzle removes the conflicts too, without padding, and vectors stay aligned.",
        ("cute_row_smem", "cute_row_smem_swizzled", "cute_row_cvectorized", "cute_row_cvectorized_swizzled"),
        _swizzle,
    ),
    Lesson(
        "merged-writes",
        "Threads that follow each other along a row of y merge their vectors into whole sectors.",
        ("f32x4_shared_bcf_row2col2d", "f32x4_shared_bcf_merge_write_row2col2d"),
        _merged_writes,
    ),
    Lesson(
        "diagonal",
        "Blocks in diagonal order change no count, and gain no time where addresses are hashed over the memory.",
        ("f32_diagonal2d", "f32_row2col2d"),
        _diagonal,
        timed=True,
    ),
    Lesson("view", "x.T moves nothing: its reader pays.", ("view", "f32_row2col"), _view),
    Lesson(
        "layouts",
        "A transpose written as layouts and one written as indices are the same accesses.",
        ("cute_row2col_reg", "f32_row2col2d", "cute_col2row_reg", "f32_col2row2d"),
        _layouts,
    ),
    Lesson(
        "value-layout",
        "Four values per thread are one 16-byte access only where memory has them side by side.",
        ("cute_row_rvectorized", "cute_row_cvectorized"),
        _value_layout,
    ),
    Lesson(
        "register-traffic",
        "Transposing in registers saves wavefronts of shared memory.",
        ("cute_row_rvectorized_swizzled", "cute_row_rvectorized_swizzled_optimized"),
        _register_traffic,
    ),
    Lesson(
        "register-vectors",
        "Transposing in registers lets both global ends be 16-byte accesses, and that is faster.",
        ("cute_row_rvectorized_swizzled", "cute_row_rvectorized_swizzled_optimized"),
        _register_vectors,
        timed=True,
    ),
    Lesson(
        "block-size",
        "Blocks of 8 x 8, 16 x 16 and 32 x 32 threads: each larger one touches fewer lines and is faster.",
        ("tiled_8", "tiled_16", "tiled_32"),
        _block_size,
        timed=True,
    ),
    Lesson(
        "asynchronous",
        "Asynchronous copies change who waits, and no memory count.",
        ("tiled_async", "shared_padding"),
        _asynchronous,
    ),
    Lesson(
        "launch-overhead",
        "Below some size the launch is all there is: more bytes take hardly longer.",
        ("shared_padding",),
        _launch_overhead,
        timed=True,
        pictured=False,
    ),
)
