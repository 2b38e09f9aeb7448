"""Is a kernel right? A set of shapes, every fault that the emulator finds, and what a wrong output looks like."""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from cornerturn.emulator import Emulation, Movement
from cornerturn.emulator.launch import MAX_BLOCK_THREADS
from cornerturn.errors import BarrierError, EmulatorError, LaunchError, UsageError
from cornerturn.kernels.kernel import Kernel
from cornerturn.lab.matrices import Matrix, Shape, distinct
from cornerturn.lab.run import expected_output, run_emulated
from cornerturn.lab.user.mistakes import CAUSES, recognise
from cornerturn.showing import Shown
from cornerturn.toolchain import DEFAULT_ARCH, build
from cornerturn.wording import counted as number_of

SHAPES: tuple[Shape, ...] = ((256, 256), (97, 97), (288, 520), (100, 36), (67, 131), (1, 1), (1, 133), (133, 1))
"""Square, whole tiles and ragged; more than 2**17 elements; multiples of 4 only; ragged; tiny; one row; one column."""

THREADS_PER_ELEMENT, SPARE_THREADS = 64, 1 << 22
"""A launch of more threads is refused; a good kernel takes at most one thread per element, and a ragged edge."""


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong with a kernel.

    Attributes:
        kind: its name: ``race``, ``out of bounds``, ``edge missing``, ``barrier not reached by all``, ...
        location: ``file:line``, empty where no one line is to blame.
        message: a sentence about the first of the shapes.
        shapes: of x, at which it occurs.
    """

    kind: str
    location: str
    message: str
    shapes: tuple[Shape, ...]


@dataclass(frozen=True)
class Trial:
    """One shape of x and how it went; ``reason`` says why a shape was refused."""

    rows: int
    cols: int
    result: Literal["right", "faulty", "refused"]
    reason: str = ""


@dataclass(frozen=True)
class Check(Shown):
    """What `check` found.

    Attributes:
        trials: one per shape.
        faults: each kind at each line once; those that name the cause come first.
        emulation: the counts of the largest trial that ran to its end, None if none did.
        counted: the shape of that trial.
    """

    kernel: Kernel
    trials: tuple[Trial, ...]
    faults: tuple[Fault, ...]
    emulation: Emulation | None
    counted: Shape | None

    def __repr__(self) -> str:
        faults = number_of(len(self.faults), "fault") if self.faults else "no fault"
        return f"<Check of {self.kernel.name} at {number_of(len(self.trials), 'shape')}: {faults}>"

    @property
    def passed(self) -> bool:
        """Whether no fault was found and at least one shape was accepted."""
        return not self.faults and any(trial.result == "right" for trial in self.trials)


def check(
    kernel: Kernel,
    shapes: Sequence[Shape] = SHAPES,
    arch: str = DEFAULT_ARCH,
    step: Callable[[int], None] = lambda done: None,
) -> Check:
    """Run ``kernel`` on the emulator at each shape and collect its faults.

    It finds wrong and missing elements of y, accesses out of bounds or misaligned, reads of memory that was never
    written, races, barriers that not all threads reach, and writes to x. A kernel that never ends, or executes what
    the emulator does not know, has a fault too.

    Args:
        kernel: of the catalogue, or from `cornerturn.lab.read_kernel`.
        shapes: of x, rows and cols.
        arch: architecture to compile for.
        step: told how many shapes are done.

    Raises:
        UsageError: the launch breaks a rule at one of the shapes, or has far more threads than the shape has elements.
        CompileError: the kernel does not compile.

    Example:
        >>> from cornerturn.kernels.catalogue import find
        >>> check(find("shared_padding")).passed
        True
    """
    build(kernel, arch)
    for rows, cols in shapes:
        _require_moderate(kernel, rows, cols)
    trials: list[Trial] = []
    found: list[Fault] = []
    emulations: dict[Shape, Emulation] = {}
    for number, (rows, cols) in enumerate(shapes):
        step(number)
        if rule := kernel.refuses(rows, cols):
            trials.append(Trial(rows, cols, "refused", rule))
            continue
        emulation, faults = _try(kernel, distinct(rows, cols, kernel.element_bytes), arch)
        trials.append(Trial(rows, cols, "faulty" if faults else "right"))
        found += faults
        if emulation is not None:
            emulations[rows, cols] = emulation
    counted = max(emulations, key=lambda shape: shape[0] * shape[1], default=None)
    return Check(
        kernel=kernel,
        trials=tuple(trials),
        faults=_merge(found, trials),
        emulation=emulations[counted] if counted else None,
        counted=counted,
    )


def _require_moderate(kernel: Kernel, rows: int, cols: int) -> None:
    """Refuse a launch that would take minutes for a small matrix."""
    if kernel.refuses(rows, cols):
        return
    launch = kernel.launch(rows, cols)
    blocks, threads = math.prod(launch.grid), math.prod(launch.block)
    most = SPARE_THREADS + THREADS_PER_ELEMENT * rows * cols
    if threads <= MAX_BLOCK_THREADS and blocks * threads > most:  # of larger blocks the launch says what is wrong
        raise UsageError(
            f"{number_of(blocks, 'block')} of {number_of(threads, 'thread')} for an x of {rows}x{cols}: "
            f"at most {most} threads are run there "
            f"({THREADS_PER_ELEMENT} per element and {SPARE_THREADS} more): give a smaller grid"
        )


def _try(kernel: Kernel, x: Matrix, arch: str) -> tuple[Emulation | None, list[Fault]]:
    """One shape: the counts, if the kernel ended, and its faults."""
    shape = x.shape[0], x.shape[1]
    stores = _Stores(x.size, kernel.element_bytes)
    try:
        run = run_emulated(kernel, x, arch, observer=stores)
    except LaunchError as error:
        raise UsageError(str(error).replace(build(kernel, arch).symbol, kernel.name)) from error
    except EmulatorError as error:
        return None, [_fatal(error, shape)]
    emulation = run.emulation
    assert emulation is not None
    faults = [Fault(each.kind, each.location, each.message, (shape,)) for each in emulation.hazards]
    places = {access.position: access.location for access in emulation.accesses}
    mistake = recognise(run.output, expected_output(kernel, x), x, stores.to_y >= 0)
    if mistake:
        position = int(stores.to_y[mistake.index])
        if position < 0:  # never written: the store that should have done so is one of those to y
            position = int(stores.to_y.max())
        faults.append(Fault(mistake.kind, places.get(position, ""), mistake.message, (shape,)))
    return emulation, faults


class _Stores:
    """An observer that keeps the position of the last store to each element of y; -1 for none."""

    def __init__(self, elements: int, element_bytes: int) -> None:
        self.to_y = np.full(elements, -1)
        self.element_bytes = element_bytes

    def __call__(self, moved: Movement) -> None:
        if moved.kind != "load" and moved.memory == "y":
            for byte in range(0, moved.width, min(moved.width, self.element_bytes)):
                self.to_y[(moved.offset + byte) // self.element_bytes] = moved.position


def _fatal(error: EmulatorError, shape: Shape) -> Fault:
    """The fault of a kernel that cannot be executed to its end; its message may begin with a ``file:line``."""
    kind = "barrier not reached by all" if isinstance(error, BarrierError) else "cannot be executed"
    match = re.match(r"(\S+:\d+): (.*)", str(error), re.DOTALL)
    return Fault(kind, match[1] if match else "", match[2] if match else str(error), (shape,))


def _merge(found: Sequence[Fault], trials: Sequence[Trial]) -> tuple[Fault, ...]:
    """Each kind at each line once, with all of its shapes; causes before their effects."""
    merged: dict[tuple[str, str], Fault] = {}
    for fault in found:
        known = merged.setdefault((fault.kind, fault.location), fault)
        shapes = dict.fromkeys(known.shapes + fault.shapes)
        merged[fault.kind, fault.location] = replace(known, shapes=tuple(shapes))
    faults = sorted(merged.values(), key=lambda fault: fault.kind not in CAUSES)
    note = " (square matrices come out right)" if _right_only_for_square(trials) else ""
    return tuple(replace(fault, message=fault.message + note) for fault in faults)


def _right_only_for_square(trials: Sequence[Trial]) -> bool:
    ran = [trial for trial in trials if trial.result != "refused" and trial.rows * trial.cols > 1]
    square = {trial.result for trial in ran if trial.rows == trial.cols}
    return square == {"right"} and any(trial.result == "faulty" for trial in ran)
