"""One kernel, one matrix, one run: emulated with exact counts or timed on a GPU, checked bit for bit."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from cornerturn.emulator import Allocation, Emulation, Memory, Observer, emulate
from cornerturn.errors import UsageError
from cornerturn.gpu import Device, Timing, time_launches
from cornerturn.kernels.controls import COPY
from cornerturn.kernels.kernel import Kernel, Launch, View
from cornerturn.lab.matrices import Matrix, Mismatch, find_mismatch, poison, words_of
from cornerturn.showing import Shown
from cornerturn.toolchain import DEFAULT_ARCH, build
from cornerturn.wording import counted

_Bound = TypeVar("_Bound")

Progress = Callable[[int, int], None]
"""Called as ``progress(blocks done, all blocks)`` while a kernel is being emulated."""


@dataclass(frozen=True)
class TimingPlan:
    """How a launch is timed on a GPU.

    Attributes:
        repeat: launches measured.
        warmup: launches before them.
        cold: flush L2 before each launch, outside the measured time.
    """

    repeat: int = 1000
    warmup: int = 10
    cold: bool = False


@dataclass(frozen=True)
class Run(Shown):
    """What one kernel did to one matrix.

    Attributes:
        output: bit for bit, in the dtype of x.
        mismatch: what is wrong with the output; None if every bit is right.
        emulation: accesses, instructions and hazards, for a run on the emulator.
        timing: seconds per launch, for a run on a GPU.
    """

    output: NDArray[Any]
    mismatch: Mismatch | None
    emulation: Emulation | None = None
    timing: Timing | None = None

    def __repr__(self) -> str:
        rows, cols = self.output.shape
        return f"<Run, {'valid' if self.valid else 'wrong'}: y is {rows} x {cols} {self.output.dtype}>"

    @property
    def faults(self) -> tuple[str, ...]:
        """Why the run is not valid, a sentence per reason."""
        wrong = (str(self.mismatch),) if self.mismatch else ()
        hazards = self.emulation.hazards if self.emulation else ()
        return wrong + tuple(f"{hazard.location}: {hazard.kind}: {hazard.message}" for hazard in hazards)

    @property
    def valid(self) -> bool:
        """Whether every bit of the output is right and no hazard was found."""
        return not self.faults


def expected_output(kernel: Kernel, x: Matrix) -> Matrix:
    """What ``kernel`` must make of ``x``, as a view of x: its transpose, or x itself for the copy control."""
    return x if kernel is COPY else x.T


def run_emulated(
    kernel: Kernel,
    x: NDArray[Any],
    arch: str = DEFAULT_ARCH,
    progress: Progress | None = None,
    observer: Observer | None = None,
) -> Run:
    """Compile ``kernel`` to PTX, execute it on the CPU, count every access and check every bit.

    Args:
        kernel: of the catalogue, or one of your own.
        x: rows x cols, C-contiguous, of any dtype of the kernel's element size; not changed.
        arch: architecture to compile for.
        progress: called with how many blocks are done.
        observer: called with every movement of values.

    Raises:
        UsageError: ``x`` is not such a matrix, or the kernel refuses its shape.
        CompileError: the kernel does not compile for ``arch``.
        EmulatorError: the kernel cannot be executed to its end.

    Example:
        >>> from cornerturn.kernels.catalogue import find
        >>> from cornerturn.lab import distinct, run_emulated
        >>> run_emulated(find("naive"), distinct(64, 48)).valid
        True
    """
    words = _words_for(kernel, x)
    expected = expected_output(kernel, words)
    y = poison(expected)
    emulation, y_record = _emulate(kernel, words, y, arch, progress=progress, observer=observer)
    mismatch = find_mismatch(y, expected)
    if mismatch:  # an unwritten element holds its poison, so without a mismatch there is none
        mismatch = replace(mismatch, unwritten=y_record.unwritten().size)
    return Run(y.view(x.dtype), mismatch, emulation=emulation)


def observe_block(
    kernel: Kernel, x: NDArray[Any], block: int, observer: Observer, arch: str = DEFAULT_ARCH
) -> Emulation:
    """Execute one block of a launch and let ``observer`` see all its movements; the output is not checked.

    Args:
        kernel: of the catalogue, or one of your own.
        x: rows x cols, C-contiguous, of any dtype of the kernel's element size; not changed.
        block: linear number of the block in the grid, x fastest.
        observer: called with every movement, in execution order.
        arch: architecture to compile for.

    Raises: as ``run_emulated``.
    """
    words = _words_for(kernel, x)
    y = poison(expected_output(kernel, words))
    return _emulate(kernel, words, y, arch, observer=observer, blocks=(block,))[0]


def _emulate(
    kernel: Kernel,
    x: Matrix,
    y: Matrix,
    arch: str,
    progress: Progress | None = None,
    observer: Observer | None = None,
    blocks: Sequence[int] | None = None,
) -> tuple[Emulation, Allocation]:
    """Execute ``kernel`` on ``x`` and ``y`` in place; the emulator's record of y says what was written."""
    launch = launch_of(kernel, *x.shape)
    memory = Memory()
    bound = {"x": memory.bind(x, name="x", writable=False), "y": memory.bind(y, name="y", written=False)}
    image = build(kernel, arch)
    emulation = emulate(
        image.ptx,
        image.symbol,
        memory,
        grid=launch.grid,
        block=launch.block,
        arguments=_arguments(launch, bound),
        shared_bytes=launch.shared_bytes,
        progress=progress,
        observer=observer,
        blocks=blocks,
    )
    return emulation, bound["y"]


def run_on_gpu(kernel: Kernel, x: NDArray[Any], device: Device, plan: TimingPlan | None = None) -> Run:
    """Compile ``kernel`` for ``device``, launch it on a poisoned output, time it, then check every bit.

    Args:
        kernel: of the catalogue, or one of your own.
        x: rows x cols, C-contiguous, of any dtype of the kernel's element size.
        device: from `cornerturn.gpu.open_device`.
        plan: how to time; without it the kernel is launched once, untimed.

    Raises:
        UsageError: ``x`` is not such a matrix, or the kernel refuses its shape.
        CompileError: the kernel does not compile for the device.
        DeviceError: the device has too little memory, or the launch fails.
    """
    words = _words_for(kernel, x)
    launch = launch_of(kernel, *words.shape)
    expected = expected_output(kernel, words)
    image = build(kernel, device.facts.arch)
    function = device.load(image.cubin, image.symbol, kernel.name)
    with device.upload(words) as x_buffer, device.upload(poison(expected)) as y_buffer:
        arguments = _arguments(launch, {"x": x_buffer, "y": y_buffer})
        function.launch(launch.grid, launch.block, arguments, launch.shared_bytes)
        timing = None
        if plan is not None:
            timing = time_launches(
                device,
                lambda stream: function.launch(launch.grid, launch.block, arguments, launch.shared_bytes, stream),
                plan.repeat,
                plan.warmup,
                plan.cold,
            )
        y = y_buffer.download(expected.shape, expected.dtype)
    return Run(y.view(x.dtype), find_mismatch(y, expected), timing=timing)


def time_library_copy(x: Matrix, device: Device, plan: TimingPlan) -> Timing:
    """Time the driver's own device-to-device copy of ``x``."""
    with device.upload(x) as source, device.allocate(x.nbytes) as target:
        return time_launches(
            device, lambda stream: target.copy_from(source, stream), plan.repeat, plan.warmup, plan.cold
        )


def launch_of(kernel: Kernel | View, rows: int, cols: int) -> Launch:
    """The launch for an x of rows x cols.

    Raises:
        UsageError: it is not a kernel, or it refuses the shape; the message names the rule.
    """
    if not isinstance(kernel, Kernel):
        raise UsageError(f"{getattr(kernel, 'name', repr(kernel))} is not a kernel and launches nothing: take another")
    if rule := kernel.refuses(rows, cols):
        raise UsageError(f"{kernel.name} refuses {rows}x{cols}: {rule}")
    return kernel.launch(rows, cols)


def size_rule(kernel: Kernel, x: NDArray[Any]) -> str | None:
    """The rule that the elements of ``x`` break, or None when they have the kernel's size."""
    if x.itemsize == kernel.element_bytes:
        return None
    return f"elements must have {counted(kernel.element_bytes, 'byte')}: those of x have {x.itemsize}"


def _words_for(kernel: Kernel | View, x: NDArray[Any]) -> Matrix:
    words = words_of(x)
    if isinstance(kernel, Kernel) and (rule := size_rule(kernel, x)):
        raise UsageError(f"{kernel.name} refuses x: {rule}")
    return words


def _arguments(launch: Launch, bound: Mapping[str, _Bound]) -> list[_Bound | np.generic]:
    """The launch's arguments, with the matrices' names replaced by what they are bound to.

    Raises:
        UsageError: an argument is a name, and not that of a matrix.
    """
    for number, argument in enumerate(launch.arguments):
        if isinstance(argument, str) and argument not in bound:
            raise UsageError(f"argument {number} of the launch is {argument!r}: the matrices are named x and y")
    return [bound[argument] if isinstance(argument, str) else argument for argument in launch.arguments]
