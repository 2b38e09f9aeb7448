"""The device that `cornerturn tune` asks: kernels compiled, checked bit for bit and timed on a GPU."""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from cornerturn.errors import CompileError, DeviceError
from cornerturn.gpu import Device, DeviceFacts, Launcher, time_launches
from cornerturn.kernels.controls import COPY, COPY_SOURCE
from cornerturn.kernels.grid import ceil_div
from cornerturn.kernels.kernel import CudaSource
from cornerturn.kernels.production.axes import UNIT
from cornerturn.kernels.production.device_code import Production
from cornerturn.measure.pattern import Outputs, Pattern
from cornerturn.measure.tune import HUGE, Bench, Choice, Scale, decisions, identity, tune
from cornerturn.op.gpu.engine import forget_plans, launcher
from cornerturn.op.gpu.tuned import default_for, forget, store
from cornerturn.op.problem import Problem
from cornerturn.op.strided_view import StridedView
from cornerturn.toolchain import Module
from cornerturn.toolchain.nvrtc import compile_with_nvrtc

REPEAT, WARMUP = 200, 20
PLACE_BYTES = 512
"""Arrays begin on multiples of it."""
GUARD_BYTES = 4096
"""Behind an output, where nothing may be written."""
MEMORY_SHARE = 0.25
"""Part of the free memory that x and y may take each."""
COMPILERS = 8


def tune_device(
    device: Device, elements: Sequence[int], progress: Callable[[int, str, float], None]
) -> Iterator[list[Choice]]:
    """Find and keep the tiles of a device, an element size at a time; `cornerturn.transpose` takes them from then on.

    Args:
        device: where to measure.
        elements: sizes in bytes.
        progress: told how many of all `decisions` are made, which is at work, and what part of it is done.

    Yields:
        what was found for one size, once that is kept.

    Raises:
        DeviceError: the device fails.
        UsageError: the cache cannot be written.
    """
    scale = Scale.of(device.facts.l2_bytes, default_for(device.facts).enough_blocks)
    yield from tune_by(device.facts, elements, scale, DeviceBench(device, scale), progress)


def tune_by(
    device: DeviceFacts,
    elements: Sequence[int],
    scale: Scale,
    bench: Bench,
    progress: Callable[[int, str, float], None],
) -> Iterator[list[Choice]]:
    """Do as `tune_device` does, by what ``bench`` measures.

    Raises:
        DeviceError: no kernel runs there.
        UsageError: the cache cannot be written.
    """
    before = 0
    for element in elements:

        def advance(made: int, label: str, part: float, before: int = before) -> None:
            progress(before + made, label, part)

        profile, choices = tune(default_for(device), [element], scale, bench, advance)
        if not choices:
            raise DeviceError(f"no kernel for elements of {element} bytes runs and is right on {device.name}")
        store(device, profile, [element])
        forget_plans()
        before += len(decisions([element]))
        yield choices


def untune(device: DeviceFacts) -> bool:
    """Forget what was tuned for a device, from now on; returns whether there was something."""
    forgotten = forget(device)
    forget_plans()
    return forgotten


class DeviceBench:
    """A CUDA device as a `Bench`; arrays alternate between enough places to pass L2.

    Raises:
        DeviceError: the device has no memory left, or fails altogether.
    """

    def __init__(self, device: Device, scale: Scale) -> None:
        self._device = device
        self._arch = device.facts.arch
        wanted = max(HUGE * scale.large, 6 * device.facts.l2_bytes)
        self.room = int(min(wanted, MEMORY_SHARE * device.free_bytes())) // PLACE_BYTES * PLACE_BYTES
        self._x = device.allocate(self.room)
        self._y = device.allocate(self.room + GUARD_BYTES)
        self._pattern = Pattern(device)
        self._pattern.lay(self._x)
        self._modules: dict[CudaSource, Module | None] = {}
        self._launchers: dict[object, Launcher | None] = {}
        self._right: dict[object, bool] = {}
        self._copies: dict[int, float] = {}

    def prepare(self, productions: Sequence[Production]) -> None:
        """Compile kernels side by side; the cache keeps none of them, as most will not win."""
        new = dict.fromkeys(each.source for each in productions if each.source not in self._modules)
        with ThreadPoolExecutor(min(COMPILERS, os.cpu_count() or 1)) as pool:
            self._modules.update(zip(new, pool.map(self._compiled, new), strict=True))

    def seconds(self, production: Production, problem: Problem) -> float | None:
        """Return the median time of one launch; None where the kernel does not compile or is refused."""
        launch = self._launcher(production)
        return None if launch is None else self._timed(launch, problem.nbytes)

    def is_right(self, production: Production, problem: Problem) -> bool:
        """Return whether one launch writes every bit of the problem, and nothing after them."""
        key = problem, identity(production)
        if key not in self._right:
            launch = self._launcher(production)
            self._right[key] = launch is not None and self._writes(launch, problem)
        return self._right[key]

    def copy_seconds(self, nbytes: int) -> float:
        """Return the time of the faster of a 16-byte copy kernel and the driver's copy."""
        if nbytes not in self._copies:
            kernel = launcher(Production(COPY_SOURCE, COPY.launch(max(1, nbytes // UNIT), 4)), self._arch)
            times = [self._timed(way, nbytes) for way in (kernel, _driver_copy(nbytes))]
            ran = [seconds for seconds in times if seconds is not None]
            if not ran:
                raise DeviceError(f"no copy of {nbytes} bytes runs on {self._device.facts.name}")
            self._copies[nbytes] = min(ran)
        return self._copies[nbytes]

    def _compiled(self, source: CudaSource) -> Module | None:
        try:
            return compile_with_nvrtc(source, self._arch)
        except CompileError:
            return None

    def _launcher(self, production: Production) -> Launcher | None:
        key = identity(production)
        if key not in self._launchers:
            self.prepare([production])
            module = self._modules[production.source]
            try:
                self._launchers[key] = launcher(production, self._arch, module) if module else None
            except DeviceError:
                self._launchers[key] = None
        return self._launchers[key]

    def _timed(self, launch: Callable[[int, int, int], Any], nbytes: int) -> float | None:
        span = ceil_div(nbytes, PLACE_BYTES) * PLACE_BYTES
        places = max(1, self.room // span)
        turn = 0

        def enqueue(stream: Any) -> None:
            nonlocal turn
            offset = turn % places * span
            turn += 1
            launch(self._x.address + offset, self._y.address + offset, int(stream.handle))

        try:
            return time_launches(self._device, enqueue, REPEAT, WARMUP).median
        except DeviceError:
            self._device.free_bytes()  # raises as well where not a launch but the whole context is lost
            return None

    def _writes(self, launch: Launcher, problem: Problem) -> bool:
        y = self._y.address
        expected = Outputs(y, expected_of(problem))
        guard = Outputs(y + problem.nbytes, StridedView(problem.nbytes, 1, (GUARD_BYTES,), (1,)))
        self._pattern.lay(self._y)
        self._pattern.spoil(expected)
        try:
            with self._device.current():
                launch(self._x.address, y, int(self._device.stream.handle))
        except DeviceError:
            self._device.free_bytes()
            return False
        return self._pattern.found_in(expected) and self._pattern.found_in(guard)


def expected_of(problem: Problem) -> StridedView:
    """Return the elements of x, at address 0, in the order in which y, C-contiguous, holds them."""
    return StridedView(0, problem.itemsize, problem.shape, problem.strides_in)


def _driver_copy(nbytes: int) -> Callable[[int, int, int], Any]:
    from cuda.bindings import driver

    from cornerturn.gpu.driver import check

    return lambda x, y, stream: check(driver.cuMemcpyDtoDAsync(y, x, nbytes, stream))
