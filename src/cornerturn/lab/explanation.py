"""Why a kernel is as fast or as slow as it is: its counts line by line, and one warp's addresses."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from cornerturn.emulator import Access
from cornerturn.emulator.counting import SECTOR_BYTES, WARP
from cornerturn.emulator.report import Kind
from cornerturn.errors import UsageError
from cornerturn.kernels.kernel import Kernel, Launch
from cornerturn.lab.counts import count
from cornerturn.lab.diagnosis import diagnose
from cornerturn.lab.footprint import Alike, footprints
from cornerturn.lab.kernel_text import KernelText, kernel_text
from cornerturn.lab.matrices import distinct
from cornerturn.lab.observation import BlockRun, run_block
from cornerturn.lab.run import Progress, Run, run_emulated
from cornerturn.ptx import Space
from cornerturn.showing import Shown
from cornerturn.toolchain import DEFAULT_ARCH
from cornerturn.wording import counted


@dataclass(frozen=True)
class LineCount:
    """The memory instructions of one kind and width in one source line, summed over the launch.

    Attributes:
        line: number of the line.
        width: bytes per lane.
        instructions: in the compiled kernel; unrolling makes several of one.
        requests: executions by a warp.
        lanes: active lanes, summed over the requests.
        found, ideal: 32-byte sectors of global memory, wavefronts of shared memory; zero for other spaces.
    """

    line: int
    space: Space
    kind: Kind
    width: int
    instructions: int = 0
    requests: int = 0
    lanes: int = 0
    found: int = 0
    ideal: int = 0

    @property
    def used(self) -> float:
        """Bytes that the lanes asked for, as a share of the bytes of the sectors moved."""
        return self.lanes * self.width / (self.found * SECTOR_BYTES)

    @property
    def waste(self) -> float:
        """Its cost as a multiple of the ideal: n for an n-way bank conflict of shared memory."""
        return self.found / self.ideal if self.ideal else 1.0


@dataclass(frozen=True)
class Explanation(Shown):
    """What ``cornerturn explain`` shows.

    Attributes:
        rows, cols: of x.
        launch: how the kernel is started for that shape.
        text: the kernel's own lines.
        counts: by line; within a line, in the order of the compiled kernel.
        at, warp: block and warp of the requests.
        requests: of that warp, in execution order.
        diagnosis: sentences computed from the counts.
        run: of the whole launch, from which the counts are.
        block: the run of the block of the requests.
    """

    kernel: Kernel
    rows: int
    cols: int
    launch: Launch
    text: KernelText
    counts: tuple[LineCount, ...]
    at: tuple[int, int]
    warp: int
    requests: tuple[Alike, ...]
    diagnosis: tuple[str, ...]
    run: Run
    block: BlockRun

    def __repr__(self) -> str:
        return f"<Explanation of {self.kernel.name}, x is {self.rows} x {self.cols}>"

    @property
    def faults(self) -> tuple[str, ...]:
        """Why the run is not valid, if it is not."""
        return self.run.faults

    def name(self, matrix: str, offset: int) -> str:
        """The element at a byte offset, as ``y[3, 0]``; a byte offset in other memory."""
        if matrix not in self.block.pitch:
            return f"{matrix} +{offset}"
        return "{}[{}, {}]".format(matrix, *self.block.element(matrix, offset))


def explain(
    kernel: Kernel,
    rows: int,
    cols: int,
    at: tuple[int, int] = (0, 0),
    warp: int = 0,
    arch: str = DEFAULT_ARCH,
    progress: Progress | None = None,
) -> Explanation:
    """Count every access of ``kernel`` on an x of rows x cols, line by line, and look at one warp's addresses.

    Args:
        at: x and y of the block in the grid.
        warp: number of the warp in it.
        progress: called with how many blocks are counted.

    Raises:
        UsageError: the kernel refuses the shape, or the launch has no such block or warp.
        EmulatorError: the kernel cannot be executed to its end.

    Example:
        >>> from cornerturn.kernels.catalogue import find
        >>> found = explain(find("naive"), 64, 64)
        >>> [(each.space, each.kind, each.found / each.requests, each.ideal / each.requests) for each in found.counts]
        [('global', 'load', 4.0, 4.0), ('global', 'store', 32.0, 4.0)]
    """
    block = run_block(kernel, rows, cols, at, arch)
    launch = kernel.launch(rows, cols)
    warps = -(-launch.block[0] * launch.block[1] * launch.block[2] // WARP)
    if not 0 <= warp < warps:
        raise UsageError(f"a block of this launch has {counted(warps, 'warp')}, 0 to {warps - 1}: got {warp}")
    run = run_emulated(kernel, distinct(rows, cols, kernel.element_bytes), arch, progress)
    accesses = run.emulation.accesses if run.emulation else ()
    text = kernel_text(kernel.source, accesses)
    requests = footprints(block, warp)
    return Explanation(
        kernel=kernel,
        rows=rows,
        cols=cols,
        launch=launch,
        text=text,
        counts=count_lines(text, accesses),
        at=at,
        warp=warp,
        requests=requests,
        diagnosis=diagnose(kernel, rows, cols, count(accesses), requests, arch),
        run=run,
        block=block,
    )


def count_lines(text: KernelText, accesses: Iterable[Access]) -> tuple[LineCount, ...]:
    """Sum accesses by line, space, kind and width."""
    sums: dict[tuple[object, ...], LineCount] = {}
    for access in accesses:
        key = (text.line_of(access), access.space, access.kind, access.width)
        old = sums.get(key) or LineCount(*key)
        sums[key] = replace(
            old,
            instructions=old.instructions + 1,
            requests=old.requests + access.requests,
            lanes=old.lanes + access.lanes,
            found=old.found + access.sectors + access.wavefronts,
            ideal=old.ideal + access.sectors_ideal + access.wavefronts_ideal,
        )
    return tuple(sorted(sums.values(), key=lambda each: each.line))
