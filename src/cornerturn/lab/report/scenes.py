"""What the access explorer plays: a few blocks of a kernel, every request of every warp in the order of execution.

Requests repeat from warp to warp and from block to block, apart from a shift. So their pictures, and the series of
numbers in them, are kept once and referred to by their place in a list.
"""

from collections import deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from cornerturn.emulator import Movement
from cornerturn.emulator.counting import LINE_BYTES, WARP
from cornerturn.emulator.program import EXITS, is_barrier
from cornerturn.kernels.controls import COPY
from cornerturn.kernels.kernel import Extent, Kernel
from cornerturn.lab.footprint import Footprint
from cornerturn.lab.observation import BlockRun, run_block
from cornerturn.lab.report.formulas import NamedMatrix, Threads, byte_formula, element_formula
from cornerturn.lab.tracing import Writers, with_writers
from cornerturn.lab.views.pictures import LANES
from cornerturn.ptx import Entry, Instruction, Symbol, parse
from cornerturn.toolchain import DEFAULT_ARCH, build

Json = dict[str, Any]
_Key = tuple[int, str, str, int]
_Thing = TypeVar("_Thing", bound=Hashable)

BARRIER = -1
"""In place of a request's instruction: a barrier, whose line follows."""


@dataclass(frozen=True)
class _Moved:
    """One movement of one block.

    Attributes:
        turn: how often its instruction was executed before.
        writers: the threads that stored them in shared memory, for a load from there.
    """

    run: BlockRun
    movement: Movement
    turn: int
    writers: NDArray[np.int64] | None

    @property
    def key(self) -> _Key:
        """Equal for the same execution of the same instruction in several blocks."""
        return self.movement.position, self.movement.kind, self.movement.memory, self.turn

    @property
    def threads(self) -> Threads:
        """Its lanes."""
        thread, (width, height, _) = self.movement.thread, self.run.block
        block = np.broadcast_to(np.array(self.run.at)[:, None], (2, thread.size))
        return Threads(thread % width, thread // width % height, block[0], block[1])


@dataclass
class _Lists:
    """What requests refer to, by its place in a list."""

    instructions: dict[tuple[int, str, str, int, int], int] = field(default_factory=dict)
    formulas: dict[str, int] = field(default_factory=dict)
    series: dict[tuple[int, ...], int] = field(default_factory=dict)
    pictures: dict[tuple[object, ...], int] = field(default_factory=dict)
    drawn: list[Json] = field(default_factory=list)

    def shifted(self, numbers: Sequence[int]) -> tuple[int, int]:
        """A series as the number of its shape, which starts from 0, and its first number."""
        return _place(self.series, tuple(number - numbers[0] for number in numbers)), numbers[0]


def scenes(kernel: Kernel, rows: int, cols: int, arch: str = DEFAULT_ARCH) -> Json:
    """A few blocks of ``kernel`` on an x of rows x cols, for the explorer.

    The record holds lists that others point into (``instructions``, ``formulas``, ``series``, ``pictures``) and
    ``blocks``: for each its place ``at``, what it touches of x and y, and its ``warps``. A warp is a list of steps,
    ``[instruction, picture, base, formula, values, first value]`` and for a load from shared memory ``[..., writers,
    first writer]``; or ``[-1, line]``, a barrier. Lane n of a picture is at byte ``base + offsets[n]``; series
    start from 0, so add the first value.

    Raises:
        UsageError: the kernel refuses the shape.
        EmulatorError: a block cannot be executed to its end.
    """
    runs = [run_block(kernel, rows, cols, at, arch) for at in _chosen(kernel.launch(rows, cols).grid)]
    moved = [each for run in runs for each in _moved(run)]
    image = build(kernel, arch)
    program = parse(image.ptx, image.symbol)
    crossed = cache(partial(_barriers_between, program))
    lists = _Lists()
    formulas = {where: _place(lists.formulas, formula) for where, formula in _formulas(kernel, moved).items()}
    blocks = [
        {
            "at": run.at,
            "x": _extent(run, "x"),
            "y": _extent(run, "y"),
            "warps": _warps([each for each in moved if each.run is run], crossed, lists, formulas),
        }
        for run in runs
    ]
    return {
        "instructions": [
            dict(zip(("position", "kind", "memory", "width", "line"), each, strict=True)) for each in lists.instructions
        ],
        "formulas": list(lists.formulas),
        "series": [list(each) for each in lists.series],
        "pictures": lists.drawn,
        "blocks": blocks,
        "pitch": dict(runs[0].pitch),
    }


def _chosen(grid: Extent) -> list[tuple[int, int]]:
    """The first block, its neighbours and the last one."""
    width, height, _ = grid
    corners = [(0, 0), (min(1, width - 1), 0), (0, min(1, height - 1)), (width - 1, height - 1)]
    return list(dict.fromkeys(corners))


def _moved(run: BlockRun) -> Iterator[_Moved]:
    turns: dict[tuple[int, str, str], int] = {}
    for movement, writer in with_writers(run):
        if movement.memory == "local":
            continue
        key = movement.position, movement.kind, movement.memory
        turns[key] = turns.get(key, -1) + 1
        yield _Moved(run, movement, turns[key], _writers(run, movement, writer))


def _writers(run: BlockRun, movement: Movement, writer: Writers) -> NDArray[np.int64] | None:
    if (movement.memory, movement.kind) != ("shared", "load"):
        return None
    cells = np.arange(0, movement.width, run.element_bytes)
    taken: NDArray[np.int64] = writer[movement.offset[:, None] + cells]
    return taken


def _formulas(kernel: Kernel, moved: Sequence[_Moved]) -> dict[tuple[tuple[int, int], _Key], str]:
    """The formula of each movement's addresses, by block and key: one for all blocks if there is one, else one each."""
    alike: dict[_Key, list[_Moved]] = {}
    for each in moved:
        alike.setdefault(each.key, []).append(each)
    found = {}
    for key, same in alike.items():
        formula = _formula(kernel, same)
        for each in same:
            found[each.run.at, key] = formula or _formula(kernel, [each])
    return found


def _formula(kernel: Kernel, same: Sequence[_Moved]) -> str:
    threads = [each.threads for each in same]
    joined = Threads(*(np.concatenate([getattr(each, name) for each in threads]) for name in ("tx", "ty", "bx", "by")))
    offset = np.concatenate([each.movement.offset for each in same])
    run, memory = same[0].run, same[0].movement.memory
    if memory not in run.pitch:
        return byte_formula(joined, offset)
    return element_formula(_matrix(kernel, run, memory), joined, offset // run.element_bytes)


def _matrix(kernel: Kernel, run: BlockRun, name: str) -> NamedMatrix:
    if name == "x" or kernel is COPY:
        return NamedMatrix(name, run.pitch["y"], run.pitch[name], "rows", "cols")
    return NamedMatrix(name, run.pitch["x"], run.pitch[name], "cols", "rows")


def _warps(
    moved: Sequence[_Moved],
    crossed: Callable[[int, int], tuple[Instruction, ...]],
    lists: _Lists,
    formulas: dict[tuple[tuple[int, int], _Key], int],
) -> list[list[list[int]]]:
    """The steps of each warp of one block."""
    run = moved[0].run
    threads = run.block[0] * run.block[1] * run.block[2]
    warps: list[list[list[int]]] = []
    for warp in range(-(-threads // WARP)):
        steps: list[list[int]] = []
        before = None
        for each in moved:
            mine = np.flatnonzero(each.movement.thread // WARP == warp)
            if not mine.size:
                continue
            position = each.movement.position
            if before is not None and before != position:  # an asynchronous copy loads and stores at one position
                steps += [[BARRIER, run.text.line_of(barrier)] for barrier in crossed(before, position)]
            steps.append(_step(each, mine, lists, formulas[run.at, each.key]))
            before = position
        warps.append(steps)
    return warps


def _step(each: _Moved, mine: NDArray[np.intp], lists: _Lists, formula: int) -> list[int]:
    movement, run = each.movement, each.run
    base = int(movement.offset[mine].min()) // LINE_BYTES * LINE_BYTES
    request = Footprint(
        line=run.line(movement),
        access=run.access(movement),
        memory=movement.memory,
        lanes=tuple((movement.thread[mine] % WARP).tolist()),
        offsets=tuple(movement.offset[mine].tolist()),
    )
    instruction = movement.position, movement.kind, movement.memory, movement.width, request.line
    step = [
        _place(lists.instructions, instruction),
        _picture(request, base, lists),
        base,
        formula,
        *lists.shifted(movement.values[mine].ravel().tolist()),
    ]
    if each.writers is not None:
        step += lists.shifted(each.writers[mine].ravel().tolist())
    return step


def _picture(request: Footprint, base: int, lists: _Lists) -> int:
    """Where the request's picture is in the list; it is drawn if it is not there yet."""
    offsets = tuple(offset - base for offset in request.offsets)
    shared = request.memory == "shared"
    key = shared, request.access.kind, request.access.width, request.lanes, offsets
    if key not in lists.pictures:
        lists.pictures[key] = len(lists.drawn)
        lists.drawn.append(
            {
                "lanes": list(request.lanes),
                "offsets": _place(lists.series, offsets),
                "passes": request.passes,
                "ideal": request.ideal,
                "rows": [[*front.lanes, _cells(front.cells, (False,) * 4)] for front in request.wavefronts]
                if shared
                else [[line.offset - base, _cells(line.cells, line.moved)] for line in request.touched],
            }
        )
    return lists.pictures[key]


def _cells(cells: Sequence[int | None], moved: Sequence[bool]) -> str:
    """32 words as characters: the lane that uses it, ``-`` for one moved and not used, ``.`` for the others."""
    words = len(cells) // len(moved)
    return "".join(
        LANES[cell] if cell is not None else "-" if moved[number // words] else "." for number, cell in enumerate(cells)
    )


def _extent(run: BlockRun, matrix: str) -> list[int]:
    """First and last row, first and last column of what a block touches of a matrix."""
    touched = [each.offset // run.element_bytes for each in run.movements if each.memory == matrix]
    widths = [each.width // run.element_bytes for each in run.movements if each.memory == matrix]
    if not touched:
        return []
    ends = np.concatenate([index + width - 1 for index, width in zip(touched, widths, strict=True)])
    rows, cols = np.divmod(np.concatenate([*touched, ends]), run.pitch[matrix])
    return [int(rows.min()), int(rows.max()), int(cols.min()), int(cols.max())]


def _barriers_between(program: Entry, start: int, stop: int) -> tuple[Instruction, ...]:
    """Barriers on the shortest way from one instruction to another; every way crosses the same ones."""
    came_from, waiting = {}, deque([start])
    while waiting:
        here = waiting.popleft()
        for there in _successors(program, here):
            if there not in came_from:
                came_from[there] = here
                waiting.append(there)
    crossed, here = [], stop
    while stop in came_from and (here := came_from[here]) != start:
        if is_barrier(program.instructions[here]):
            crossed.append(program.instructions[here])
    return tuple(reversed(crossed))


def _successors(program: Entry, position: int) -> Iterator[int]:
    instruction = program.instructions[position]
    if instruction.opcode == "bra" and isinstance(label := instruction.operands[0], Symbol):
        yield program.labels[label.name]
    goes_on = instruction.guard or instruction.opcode not in EXITS | {"bra", "trap"}
    if goes_on and position + 1 < len(program.instructions):
        yield position + 1


def _place(known: dict[_Thing, int], thing: _Thing) -> int:
    return known.setdefault(thing, len(known))
