"""One thread's way through a kernel: what it reads, where it stages that, what it takes back, where it writes."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cornerturn.emulator import Movement
from cornerturn.emulator.report import Coordinates, Kind
from cornerturn.kernels.controls import COPY
from cornerturn.kernels.kernel import Kernel
from cornerturn.lab.observation import NONE, BlockRun, Element, require_inside, run_block
from cornerturn.showing import Shown
from cornerturn.toolchain import DEFAULT_ARCH
from cornerturn.wording import counted

Writers = NDArray[np.int64]
Arrival = tuple[Element | None, Element, Element | None]


@dataclass(frozen=True)
class Step:
    """One load or store of the thread; an asynchronous copy is both.

    Attributes:
        line: the kernel's line that it comes from.
        memory: ``x``, ``y``, ``shared``, ``local`` or ``variable``.
        offset: bytes from the start of the array, or of the block's shared memory.
        width: bytes.
        places: the elements of x or y that it touches; none in other memory.
        values: which elements of x it moves, None for what is not one, such as an address.
        writers: for a load from shared memory, the threads that stored what it takes, one per value.
    """

    line: int
    kind: Kind
    memory: str
    offset: int
    width: int
    places: tuple[Element, ...]
    values: tuple[Element | None, ...]
    writers: tuple[Coordinates, ...]


@dataclass(frozen=True)
class Trace(Shown):
    """What ``cornerturn trace`` shows.

    Attributes:
        rows, cols: of x.
        run: the block's.
        thread: coordinates in the block.
        number: the same as one number, x fastest.
        steps: in the order of execution.
    """

    kernel: Kernel
    rows: int
    cols: int
    run: BlockRun
    thread: Coordinates
    number: int
    steps: tuple[Step, ...]

    def __repr__(self) -> str:
        at, thread = (",".join(map(str, pair[:2])) for pair in (self.run.at, self.thread))
        return f"<Trace of {self.kernel.name}, block {at}, thread {thread}: {counted(len(self.steps), 'step')}>"

    def arrivals(self) -> Iterator[Arrival]:
        """For each element that the thread writes to y: its place in x, where it arrives, and where it belongs.

        What is not an element of x belongs nowhere: its first and last are None.
        """
        for step in self.steps:
            if step.memory == "y" and step.kind == "store":
                for value, place in zip(step.values, step.places, strict=True):
                    turned = value if value is None or self.kernel is COPY else Element(value.col, value.row)
                    yield value, place, turned

    @property
    def astray(self) -> list[Arrival]:
        """The arrivals that are not where they belong."""
        return [arrival for arrival in self.arrivals() if arrival[1] != arrival[2]]


def trace(
    kernel: Kernel, rows: int, cols: int, at: tuple[int, int], thread: tuple[int, int], arch: str = DEFAULT_ARCH
) -> Trace:
    """Follow one thread of ``kernel`` on an x of rows x cols.

    Args:
        at: x and y of the block in the grid.
        thread: x and y of the thread in the block.

    Raises:
        UsageError: the kernel refuses the shape, or the launch has no such block or thread.
        EmulatorError: the block cannot be executed to its end.

    Example:
        >>> from cornerturn.kernels.catalogue import find
        >>> followed = trace(find("naive"), 64, 64, at=(1, 0), thread=(3, 2))
        >>> [(step.kind, step.memory, str(step.places[0])) for step in followed.steps]
        [('load', 'x', '(2, 35)'), ('store', 'y', '(35, 2)')]
    """
    run = run_block(kernel, rows, cols, at, arch)
    require_inside("thread", thread, run.block, "threads of a block")
    number = thread[0] + thread[1] * run.block[0]
    return Trace(kernel, rows, cols, run, (*thread, 0), number, tuple(_steps(run, number)))


def _steps(run: BlockRun, number: int) -> Iterator[Step]:
    for movement, writer in with_writers(run):
        mine = np.flatnonzero(movement.thread == number)
        if mine.size:
            yield _step(run, movement, int(mine[0]), writer)


def with_writers(run: BlockRun) -> Iterator[tuple[Movement, Writers]]:
    """Each movement of a block, with the thread that stored each byte of shared memory before it, or -1.

    It is always the same array, which changes when the next movement is asked for.
    """
    writer = np.full(_shared_bytes(run), -1)
    for movement in run.movements:
        yield movement, writer
        if movement.memory == "shared" and movement.kind == "store":
            for byte in range(movement.width):
                writer[movement.offset + byte] = movement.thread


def _shared_bytes(run: BlockRun) -> int:
    """Bytes up to the last one that is touched."""
    ends = (int(each.offset.max()) + each.width for each in run.movements if each.memory == "shared")
    return max(ends, default=0)


def _step(run: BlockRun, movement: Movement, lane: int, writer: Writers) -> Step:
    offset, size = int(movement.offset[lane]), run.element_bytes
    cells = range(offset, offset + movement.width, size)
    takes = movement.memory == "shared" and movement.kind == "load"
    return Step(
        line=run.line(movement),
        kind=movement.kind,
        memory=movement.memory,
        offset=offset,
        width=movement.width,
        places=tuple(run.element(movement.memory, cell) for cell in cells) if movement.memory in run.pitch else (),
        values=tuple(None if at == NONE else run.element("x", at * size) for at in movement.values[lane].tolist()),
        writers=tuple(run.thread(int(writer[cell])) for cell in cells) if takes else (),
    )
