"""The CPU engine: run a plan on two addresses, with several threads when there is enough to move.

The threads are the engine's own and run compiled kernels without the GIL. All of them draw tickets from one
atomic counter, the calling one too; so it alone would finish the work, whatever becomes of the others. Nothing waits
for a thread that has not started, concurrent callers share the threads, and a forked child starts its own. Numba's
threading layers do not offer that: ``workqueue`` ends the process when two threads launch at once, GNU OpenMP when a
forked child launches.
"""

import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from time import perf_counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cornerturn.op.cpu import crew, store
from cornerturn.op.cpu.launch import Job, job_of
from cornerturn.op.cpu.machine import data_offset, idle_processors, processors
from cornerturn.op.cpu.plan import Plan
from cornerturn.op.cpu.way import NUMPY_COPY
from cornerturn.op.strided_view import StridedView, as_array, empty_c_order

Kernel = Callable[[int, int, int, int, int], None]

SCRATCH_BYTES = 1 << 16
THREAD_NANOSECONDS = 100_000  # of predicted work, for each thread
LONG_NANOSECONDS = 50_000_000  # of predicted work: some times as long as a thread may have to wait for its turn


@dataclass(frozen=True, eq=False)
class _Launch:
    """A compiled kernel and the numbers of one job."""

    kernel: Kernel
    job: Job
    address: int
    scratch_bytes: int
    threads: int
    long: bool


def run(plan: Plan, source: int, destination: int, owners: object = None) -> None:
    """Move the bytes of one plan, without the GIL. No thread is at it any more when this returns, or raises.

    Args:
        plan: from ``plan_move``.
        source: address of the input's element (0, ..., 0).
        destination: address of the output's element (0, ..., 0).
        owners: what keeps both arrays alive; every thread holds it while it moves.
    """
    launch = None if plan.kernel == NUMPY_COPY or not compiles() else _launch(plan)
    if launch is None:
        return _copy(plan, source, destination)
    helpers = 0 if launch.threads == 1 else _helpers(launch)
    if helpers == 0 or not _patience.asks():
        launch.kernel(source, destination, launch.address, 0, _memory.address(launch.scratch_bytes))
        return None
    counter = np.zeros(1, np.int64)
    work = partial(_work, launch, source, destination, counter, owners)
    start = perf_counter()
    waited = crew.share(work, helpers, stop=lambda: counter.fill(launch.job.tickets))
    _patience.learns(perf_counter() - start, waited)
    return None


def _copy(plan: Plan, source: int, destination: int) -> None:
    """Let NumPy copy."""
    problem = plan.problem
    views = (
        StridedView(source + problem.offset_in, problem.itemsize, problem.shape, problem.strides_in),
        StridedView(destination + problem.offset_out, problem.itemsize, problem.shape, problem.strides_out),
    )
    array, out = map(as_array, views)
    np.copyto(out, array)


def _helpers(launch: _Launch) -> int:
    """Return how many threads to ask for help: for a short job no more than there are idle processors.

    A helper on a busy processor may be away for longer than the whole job takes.
    """
    helpers = min(launch.threads, thread_count()) - 1
    return min(helpers, idle_processors()) if helpers and not launch.long else helpers


def compiles() -> bool:
    """Return whether kernels are compiled at all: ``NUMBA_DISABLE_JIT`` turns it off, and then NumPy copies."""
    return not store.turned_off()


def thread_count() -> int:
    """Return how many threads Numba is set to use, by ``numba.set_num_threads`` or ``NUMBA_NUM_THREADS``.

    Never more than there are processors for this process.
    """
    numba = store.imported()
    # get_num_threads starts Numba's own threads, which nobody needs before somebody has set a number
    parallel = sys.modules.get("numba.np.ufunc.parallel")
    is_set = parallel is not None and parallel._is_initialized
    asked: int = numba.get_num_threads() if is_set else numba.config.NUMBA_NUM_THREADS
    return min(asked, processors())


def _work(launch: _Launch, source: int, destination: int, counter: NDArray[np.int64], owners: object) -> None:
    scratch = _memory.address(launch.scratch_bytes)
    launch.kernel(source, destination, launch.address, counter.ctypes.data, scratch)


class _Memory(threading.local):
    """Scratch memory that each thread keeps: new pages for every call would cost more than many a call."""

    def __init__(self) -> None:
        self._grow(SCRATCH_BYTES)

    def address(self, nbytes: int) -> int:
        if self._size < nbytes:
            self._grow(nbytes)
        return self._address

    def _grow(self, nbytes: int) -> None:
        scratch = empty_c_order((nbytes,), np.dtype(np.uint8))
        address = scratch.ctypes.data
        # at once: if a signal's handler raises in between, the address must not be that of freed memory
        self._scratch, self._address, self._size = scratch, address, nbytes


_memory = _Memory()
_patience = crew.Patience()


@lru_cache(maxsize=4096)
def _launch(plan: Plan) -> _Launch | None:
    """Compile the plan's kernel, or load it, and lay out its job; None if there is no way to do that."""
    return _laid_out(plan, 0)


def _laid_out(plan: Plan, reference: int) -> _Launch | None:
    kernel = store.kernel(plan.kernel)
    if kernel is None:
        return None
    job = job_of(plan.chosen, plan.problem, reference)
    threads = min(job.tickets, _threads(plan))
    long = plan.chosen.nanoseconds >= LONG_NANOSECONDS
    return _Launch(kernel, job, job.numbers.ctypes.data, job.scratch_bytes, threads, long)


def _threads(plan: Plan) -> int:
    """Return how many threads have enough to do."""
    return max(1, int(plan.chosen.nanoseconds / THREAD_NANOSECONDS))


class Reference(NamedTuple):
    """What to call to move the elements of two NumPy arrays, given by the addresses of their objects.

    To ask an array for the address of its elements takes longer than to move a thousand of them.
    """

    kernel: Kernel
    address: int
    scratch_bytes: int
    job: Job


def by_reference(plan: Plan) -> Reference | None:
    """Return what to call; None for a plan that takes several threads or depends on where the output begins."""
    if plan.chosen.stream or _threads(plan) > 1 or not data_offset():
        return None
    launch = _laid_out(plan, data_offset())
    if launch is None:
        return None
    return Reference(launch.kernel, launch.address, launch.scratch_bytes, launch.job)


def scratch(nbytes: int) -> int:
    """Return the address of scratch memory of the calling thread."""
    return _memory.address(nbytes)
