"""The CUDA engine: launch a problem's kernel on a stream of the caller's.

Nothing here waits for the device. The first launch of a kernel compiles and loads it; from then on a launch can be
captured in a graph.
"""

from collections.abc import Callable
from functools import cache, lru_cache

from cornerturn.gpu import DeviceFacts, Launcher, facts_of, load_kernel
from cornerturn.kernels.production.axes import SECTOR
from cornerturn.kernels.production.device_code import Production
from cornerturn.op.gpu.choice import Choice
from cornerturn.op.gpu.plan import choose, forget, plan
from cornerturn.op.gpu.tuned import profile_of
from cornerturn.op.problem import Problem, canonical
from cornerturn.op.strided_view import StridedView, c_order
from cornerturn.toolchain import Module, compile_source

_kernel = cache(load_kernel)


def run(source: StridedView, destination: StridedView, stream: int, ordinal: int) -> None:
    """Put the copy, element by element, between two views of one shape and item size on a stream.

    Args:
        source: what to read, in the memory of a device whose context is current.
        destination: what to write, in the same memory; shares nothing with ``source``.
        stream: ``CUstream`` of the caller, as an integer.
        ordinal: the device's number, as the driver counts those that are visible.

    Raises:
        DeviceError: the driver refuses the kernel or its launch.
    """
    if 0 not in source.shape:
        launch, offset_in, offset_out = prepared(source, destination, ordinal)
        launch(source.pointer + offset_in, destination.pointer + offset_out, stream)


def prepared(source: StridedView, destination: StridedView, ordinal: int) -> tuple[Launcher, int, int]:
    """Return what copies between two views, none of them empty, and the bytes to add to their two addresses."""
    x, y = source.pointer % SECTOR, destination.pointer % SECTOR
    return _prepared(source.itemsize, source.shape, source.strides, destination.strides, x, y, ordinal)


@lru_cache(maxsize=4096)
def _prepared(
    itemsize: int,
    shape: tuple[int, ...],
    strides_in: tuple[int, ...],
    strides_out: tuple[int, ...],
    x: int,
    y: int,
    ordinal: int,
) -> tuple[Launcher, int, int]:
    problem = canonical(itemsize, shape, strides_in, strides_out)
    x, y = x + problem.offset_in, y + problem.offset_out
    return _planned(problem, x % SECTOR, y % SECTOR, facts_of(ordinal)), problem.offset_in, problem.offset_out


@lru_cache(maxsize=1024)
def _planned(problem: Problem, x: int, y: int, device: DeviceFacts) -> Launcher:
    """Return what launches one problem between first elements at ``x`` and ``y`` modulo 32, on all equal devices."""
    return launcher(plan(problem, x, y, profile_of(device)), device.arch)


def launcher(production: Production, arch: str, module: Module | None = None) -> Launcher:
    """Return a production kernel, loaded for ``arch``: ready for any pointers of the move that it was made for.

    Args:
        production: the kernel and its launch.
        arch: for example ``sm_90``.
        module: what its source compiles to, if that is known already.

    Raises:
        DeviceError: the driver refuses the kernel.
    """
    image, launch = (module or compile_source(production.source, arch)).image(production.entry), production.launch
    kernel = _kernel(image.cubin, image.symbol, f"{production.entry} for {arch}")
    return Launcher(kernel, production.entry, launch.grid, launch.block, launch.arguments, launch.shared_bytes)


def choice_for(source: StridedView, ordinal: int) -> Choice:
    """Return what could copy a view, which is not empty, into a new array on its device.

    Args:
        source: what to read.
        ordinal: the device's number, as in `run`.
    """
    return choose(*into_new(source), profile_of(facts_of(ordinal)))


def into_new(source: StridedView) -> tuple[Problem, int, int]:
    """Return the problem of copying a view into a new array, and the addresses of both first elements modulo 32.

    The array is in C order and begins on a sector, as all libraries allocate on a GPU.
    """
    strides_out = c_order(source.shape, source.itemsize).strides
    problem = canonical(source.itemsize, source.shape, source.strides, strides_out)
    return problem, (source.pointer + problem.offset_in) % SECTOR, problem.offset_out % SECTOR


_after_tuning: list[Callable[[], None]] = []


def when_retuned(forget: Callable[[], None]) -> None:
    """Have ``forget`` called whenever launches that were planned before may be planned anew."""
    _after_tuning.append(forget)


def forget_plans() -> None:
    """Plan every problem anew at its next call, by what is tuned then."""
    for clear in (forget, _prepared.cache_clear, _planned.cache_clear, *_after_tuning):
        clear()
