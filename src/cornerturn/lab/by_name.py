"""The laboratory by name: what the ``cornerturn`` command does, as functions that return what they found.

What they return shows itself: in a notebook as HTML, in full when it is printed, in a line otherwise. Long work shows
its progress on a terminal and in a notebook.
"""

from collections.abc import Sequence
from functools import partial
from os import PathLike
from typing import Any

from numpy.typing import NDArray

from cornerturn.errors import UsageError
from cornerturn.gpu import Device
from cornerturn.kernels.catalogue import CATALOGUE, find, in_family
from cornerturn.kernels.kernel import Kernel, View
from cornerturn.lab import explanation, layouts, tracing
from cornerturn.lab.environment import choose_device, compilers, device_record, device_title
from cornerturn.lab.evidence import Numbers
from cornerturn.lab.explanation import Explanation
from cornerturn.lab.layouts import Layouts
from cornerturn.lab.lesson import Finding, Findings, learn
from cornerturn.lab.lesson_book import find_lessons
from cornerturn.lab.matrices import ELEMENT_BYTES, Shape, require_memory, words_of
from cornerturn.lab.measuring import Bench, Given, Result, bench_on_emulator, bench_on_gpu
from cornerturn.lab.run import TimingPlan
from cornerturn.lab.tracing import Trace
from cornerturn.lab.user import checking
from cornerturn.lab.user.checking import Check
from cornerturn.lab.user.kernel import read_kernel
from cornerturn.progress import progress_bar
from cornerturn.toolchain import DEFAULT_ARCH

DEFAULT_SIZE: Shape = (1024, 1024)
Pair = tuple[int, int]


def bench(
    *names: str,
    families: Sequence[str] = (),
    size: Shape | Sequence[Shape] = DEFAULT_SIZE,
    x: NDArray[Any] | None = None,
    device: str | Device = "auto",
    plan: TimingPlan | None = None,
) -> Bench:
    """Run kernels, check every bit, and time them on a GPU or count their accesses on the emulator.

    Args:
        names: of kernels; without names and families the whole catalogue runs.
        families: whole families.
        size: rows and columns of x, or several such pairs.
        x: a matrix of your own in place of sizes.
        device: ``gpu``, ``emulator``, ``auto`` (a GPU where there is one), or an open device.
        plan: how launches are timed on a GPU.

    Raises:
        UsageError: a name, a size or x breaks a rule.
        DeviceError: the GPU that was asked for cannot be used.

    Example:
        >>> found = bench("naive", "tiled_32", size=(64, 64), device="emulator")
        >>> [(each.kernel, each.status, each.counters.global_store_sectors) for each in found]
        [('naive', 'valid', 4096), ('tiled_32', 'valid', 512)]
    """
    entries = select(names, families)
    matrix = None if x is None else words_of(x)
    shapes = _shapes(size if matrix is None else matrix.shape)
    gpu = choose_device(device)[0] if isinstance(device, str) else device
    # Kernels whose elements are larger than those of others may refuse a size that the others take.
    smallest = min((entry.element_bytes for entry in entries if isinstance(entry, Kernel)), default=ELEMENT_BYTES)
    for rows, cols in shapes:
        free = gpu.free_bytes() if gpu else None
        require_memory(rows, cols, free, smallest if matrix is None else matrix.itemsize)
    plan = plan or TimingPlan()
    results: list[Result] = []
    with progress_bar(len(entries) * len(shapes)) as advance:
        for shape in shapes:
            given: Given = shape if matrix is None else matrix
            step = partial(advance, len(results))
            if gpu:
                results += bench_on_gpu(entries, given, gpu, plan, step)
            else:
                results += bench_on_emulator(entries, given, DEFAULT_ARCH, step)
    ran = {result.kernel for result in results if result.status in ("valid", "wrong")}
    by = compilers([entry for entry in entries if isinstance(entry, Kernel) and entry.name in ran], gpu)
    return Bench(tuple(results), device_record(gpu, by), device_title(gpu, plan.cold, by))


def explain(kernel: str | Kernel, size: Shape = DEFAULT_SIZE, block: Pair = (0, 0), warp: int = 0) -> Explanation:
    """Show which line of a kernel wastes what, and the addresses of one warp; counted on the emulator.

    Args:
        kernel: of the catalogue, by its name, or one of your own.
        size: rows and columns of x.
        block: x and y of the block in the grid.
        warp: number of the warp in it.

    Raises:
        UsageError: no such kernel, block or warp, or the kernel refuses the size.
        EmulatorError: the kernel cannot be executed to its end.

    Example:
        >>> found = explain("naive", size=(64, 64))
        >>> found
        <Explanation of naive, x is 64 x 64>
        >>> [(each.kind, each.found / each.ideal) for each in found.counts]
        [('load', 1.0), ('store', 8.0)]
    """
    chosen = _kernel(kernel)
    shape = _shape(size)
    require_memory(*shape, element_bytes=chosen.element_bytes)
    with progress_bar(1) as advance:
        return explanation.explain(
            chosen, *shape, block, warp, progress=lambda done, blocks: advance(0, chosen.name, done / blocks)
        )


def trace(kernel: str | Kernel, size: Shape = DEFAULT_SIZE, block: Pair = (0, 0), thread: Pair = (0, 0)) -> Trace:
    """Follow one thread of a kernel: what it reads, stages and writes.

    Args:
        kernel: of the catalogue, by its name, or one of your own.
        size: rows and columns of x.
        block: x and y of the block in the grid.
        thread: x and y of the thread in the block.

    Raises:
        UsageError: no such kernel, block or thread, or the kernel refuses the size.
        EmulatorError: the block cannot be executed to its end.

    Example:
        >>> trace("naive", size=(64, 64), block=(1, 0), thread=(3, 2))
        <Trace of naive, block 1,0, thread 3,2: 2 steps>
    """
    chosen = _kernel(kernel)
    shape = _shape(size)
    require_memory(*shape, element_bytes=chosen.element_bytes)
    return tracing.trace(chosen, *shape, block, thread)


def lessons(*names: str, size: Shape = DEFAULT_SIZE, device: str | Device = "auto") -> Findings:
    """Try the textbook's claims: the evidence, and whether it holds.

    Args:
        names: of lessons; all of them without a name.
        size: rows and columns of x.
        device: as for `bench`; times need a GPU.

    Raises:
        UsageError: no such lesson, or a size that is too large.
        DeviceError: the GPU that was asked for cannot be used.

    Example:
        >>> lessons("view", size=(256, 256), device="emulator")
        <Findings: 1 of 1 lesson hold at 256 x 256>
    """
    chosen = find_lessons(names)
    shape = _shape(size)
    gpu = choose_device(device)[0] if isinstance(device, str) else device
    require_memory(*shape, gpu.free_bytes() if gpu else None)
    findings: list[Finding] = []
    with progress_bar(len(chosen)) as advance:
        numbers = Numbers(*shape, gpu, told=lambda kernel: advance(0, kernel, len(findings)))
        findings.extend(learn(lesson, numbers) for lesson in chosen)
    return Findings(tuple(findings), *shape, device_record(gpu), device_title(gpu, cold=False))


def check(
    kernel: str | PathLike[str] | Kernel, size: Shape | Sequence[Shape] = checking.SHAPES, **launch: object
) -> Check:
    """Check a kernel of your own on the emulator: is it right, and what do its accesses cost?

    Args:
        kernel: the path of a .cu file, or a kernel.
        size: rows and columns of x, or several such pairs.
        launch: of a file: ``entry``, ``block``, ``grid``, ``args``, ``shared`` and ``element_bytes``, as the options
            of ``cornerturn check``; each overrides what a comment in the file says.

    Raises:
        UsageError: the file cannot be read, the launch breaks a rule, or a size does.
        CompileError: the kernel does not compile.

    Example:
        >>> from cornerturn.kernels.catalogue import find
        >>> check(find("shared_padding"), size=[(64, 64), (67, 131)])
        <Check of shared_padding at 2 shapes: no fault>
    """
    if isinstance(kernel, Kernel):
        if launch:
            raise UsageError(f"{', '.join(launch)}: a Kernel knows how it is launched; give these with a file")
        chosen = kernel
    else:
        chosen = read_kernel(kernel, launch)
    shapes = _shapes(size)
    for shape in shapes:
        require_memory(*shape, element_bytes=chosen.element_bytes)
    with progress_bar(len(shapes)) as advance:
        return checking.check(chosen, shapes, step=partial(advance, 0, chosen.name))


def layout(kernel: str | Kernel) -> Layouts:
    """Show which thread of a kernel holds which element, and in which bank the tile's elements are.

    Args:
        kernel: of the catalogue, by its name, or one of your own.

    Raises:
        UsageError: no such kernel, or it has no layout to show.
        MissingExtraError: `tensor_layouts` or the kernel's compiler is not installed.

    Example:
        >>> layout("tiled_16")                        # doctest: +SKIP
        <Layouts of tiled_16: threads (16,16):(16,1)>
    """
    return layouts.watch_layouts(_kernel(kernel))


def select(names: Sequence[str], families: Sequence[str]) -> list[Kernel | View]:
    """The entries asked for, in the catalogue's order; all of them if none is."""
    asked = [find(name) for name in names] + [entry for family in families for entry in in_family(family)]
    return [entry for entry in CATALOGUE if entry in asked] if asked else list(CATALOGUE)


def _kernel(kernel: str | Kernel) -> Kernel:
    entry = find(kernel) if isinstance(kernel, str) else kernel
    if isinstance(entry, View):
        raise UsageError(f"{entry.name} moves nothing: there is nothing to follow; `cornerturn list` shows the kernels")
    if not isinstance(entry, Kernel):
        raise UsageError(f"kernel must be a name of the catalogue or a Kernel: got {entry!r}")
    return entry


def _shape(size: object) -> Shape:
    shape, *others = _shapes(size)
    if others:
        raise UsageError(f"one size is taken here: got {1 + len(others)}")
    return shape


def _shapes(size: object) -> list[Shape]:
    """Sizes, each once, in the order given."""
    match size:
        case [int(rows), int(cols)]:
            if rows > 0 and cols > 0:
                return [(rows, cols)]
        case [[_, _], *_]:
            return list(dict.fromkeys(shape for each in size for shape in _shapes(each)))
    raise UsageError(f"size must be rows and columns, two positive integers such as (1024, 1024): got {size!r}")
