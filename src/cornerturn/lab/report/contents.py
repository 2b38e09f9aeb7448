"""Everything that the page shows, as one record of plain JSON; the page computes none of its numbers again."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict

from cornerturn.emulator.counting import SECTOR_BYTES
from cornerturn.errors import CornerturnError
from cornerturn.kernels.kernel import Kernel, View
from cornerturn.lab.evidence import Numbers
from cornerturn.lab.explanation import Explanation, LineCount, explain
from cornerturn.lab.kernel_text import instance
from cornerturn.lab.layouts import Arrangement, Grid, watch_layouts
from cornerturn.lab.lesson import learn
from cornerturn.lab.lesson_book import LESSONS
from cornerturn.lab.matrices import require_memory
from cornerturn.lab.measuring import Advance, Result, result_of
from cornerturn.lab.report.measured import Measured
from cornerturn.lab.report.scenes import Json, scenes
from cornerturn.lab.run import Run
from cornerturn.toolchain import DEFAULT_ARCH
from cornerturn.version import package_version


def contents(
    entries: Sequence[Kernel | View],
    rows: int,
    cols: int,
    measured: Iterable[Measured] = (),
    arch: str = DEFAULT_ARCH,
    step: Advance = lambda name, done: None,
) -> Json:
    """Run ``entries`` on an x of rows x cols and record all that the page shows.

    Lessons are those whose kernels are all among the entries.

    Args:
        entries: of the catalogue.
        measured: times from a GPU.
        arch: architecture that the kernels are compiled for.
        step: told which kernel is at work and how many are done, `steps` in all.

    Raises:
        EmulatorError: a kernel cannot be executed to its end.
    """
    entries = sorted(entries, key=lambda entry: entry.family != "textbook")  # a learner begins with naive
    names = {entry.name for entry in entries}
    kernels = [_kernel(entry, rows, cols, arch, step, number) for number, entry in enumerate(entries)]
    numbers = Numbers(rows, cols, told=lambda name: step(f"lessons: {name}", len(entries)))
    lessons = [lesson for lesson in LESSONS if names.issuperset(lesson.kernels)]
    return {
        "version": package_version(),
        "arch": arch,
        "rows": rows,
        "cols": cols,
        "kernels": kernels,
        "lessons": [learn(lesson, numbers).to_json() | {"pictured": lesson.pictured} for lesson in lessons],
        "measured": [asdict(each) for each in measured],
    }


def steps(entries: Sequence[Kernel | View]) -> int:
    """How many steps of work `contents` takes: one per kernel, and one for the lessons."""
    return len(entries) + 1


def _kernel(entry: Kernel | View, rows: int, cols: int, arch: str, step: Advance, before: int) -> Json:
    """One kernel: its result and, if it ran, its source, counts and requests."""
    explained: list[Explanation] = []

    def run(kernel: Kernel) -> Run:
        require_memory(rows, cols, element_bytes=kernel.element_bytes)
        explained.append(explain(kernel, rows, cols, arch=arch, progress=told))
        return explained[0].run

    def told(done: int, blocks: int) -> None:
        step(entry.name, before + 0.7 * done / blocks)

    step(entry.name, before)
    result = result_of(entry, (rows, cols), "emulator", run)
    record: Json = {"name": entry.name, "family": entry.family, "lesson": entry.lesson, "result": _result(result)}
    if not isinstance(entry, Kernel) or not explained:
        return record
    (found,) = explained
    return record | {
        "launch": {"grid": found.launch.grid, "block": found.launch.block, "shared": found.launch.shared_bytes},
        "elementBytes": entry.element_bytes,
        "source": {
            "file": found.text.file,
            "instance": instance(entry.source, entry.entry),
            "first": found.text.first,
            "lines": found.text.lines,
        },
        "counts": [_count(each) for each in found.counts],
        "diagnosis": found.diagnosis,
        "tile": _tile(entry, arch),
        **scenes(entry, rows, cols, arch),
    }


def _result(result: Result) -> Json:
    """What ``bench --json`` says, the status, and what the overview compares."""
    record: Json = result.to_json() | {"status": result.status, "faults": result.faults}
    if result.counters and result.instructions is not None:
        record["places"] = [place._asdict() for place in result.counters.by_place()]
        record["moved"] = [place.found * SECTOR_BYTES / (result.bytes / 2) for place in result.counters.by_place()[:2]]
        record["perElement"] = 32 * result.instructions / (result.rows * result.cols)
    return record


def _count(each: LineCount) -> Json:
    record = asdict(each)
    if each.found:
        record["waste"] = each.waste
        if each.space == "global":
            record["used"] = each.used
    return record


def _tile(kernel: Kernel, arch: str) -> Json | None:
    """The tile in shared memory, plain, padded and swizzled; None without one, or if its layout is unknown."""
    try:
        layouts = watch_layouts(kernel, arch)
    except CornerturnError:  # not a transpose, no layout to show, or the algebra of layouts is not installed
        return None
    if not layouts.shared:
        return None
    return {
        "access": layouts.access,
        "taken": _rows(layouts.taken.astype(int)),
        "arrangements": [_arrangement(each) for each in layouts.shared],
    }


def _arrangement(each: Arrangement) -> Json:
    return {
        "kind": each.kind,
        "notation": each.notation,
        "own": each.own,
        "banks": _rows(each.banks),
        "store": asdict(each.store),
        "load": asdict(each.load),
    }


def _rows(grid: Grid) -> list[str]:
    """Numbers below 36 as a character each, a string per row."""
    return ["".join(_DIGITS[number] for number in row) for row in grid.tolist()]


_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
