"""The CPU engine: run a plan on two addresses, with several threads when there is enough to move.

The threads are the engine's own and run compiled kernels without the GIL. All of them draw tickets from one
atomic counter, the calling one too; so it alone would finish the work, whatever becomes of the others. Nothing waits
for a thread that has not started, concurrent callers share the threads, and a forked child starts its own. Numba's
threading layers do not offer that: ``workqueue`` ends the process when two threads launch at once, GNU OpenMP when a
forked child launches.
"""

import math
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np
from numpy.typing import NDArray

from cornerturn.op.cpu import crew
from cornerturn.op.cpu.kernels import KERNELS, SCRATCH_BYTES
from cornerturn.op.cpu.plan import UNIT, Plan
from cornerturn.op.strided_view import empty_c_order

Kernel = Callable[[int, int, NDArray[np.int64], NDArray[np.int64], int], None]

TICKET_BYTES = 1 << 20
TICKETS_PER_JOB = 32  # at least, unless tickets become small
SMALL_TICKET_BYTES = 1 << 16
ROW_CHUNK_BYTES = 1 << 16  # of an input row that a strip walks along
THREAD_BYTES = 1 << 19  # for each thread


@dataclass(frozen=True, eq=False)
class _Launch:
    """A compiled kernel with the numbers of one job, and what to give it."""

    kernel: Kernel
    job: NDArray[np.int64]
    tickets: int
    threads: int
    scratch_bytes: int


def run(plan: Plan, source: int, destination: int, owners: object = None) -> None:
    """Move the bytes of one plan, without the GIL. No thread is at it any more when this returns, or raises.

    Args:
        plan: from ``plan_move``.
        source: address of the input's element (0, ..., 0).
        destination: address of the output's element (0, ..., 0), as far into a cache line as the plan was told.
        owners: what keeps both arrays alive; every thread holds it while it moves.
    """
    launch = _launch(plan)
    counter = np.zeros(1, np.int64)
    work = partial(_work, launch, source + plan.offset_in, destination + plan.offset_out, counter, owners)
    if launch.threads == 1 or (threads := min(launch.threads, thread_count())) == 1:
        work()
    else:
        crew.share(work, threads - 1, stop=lambda: counter.fill(launch.tickets))


def compiles() -> bool:
    """Return whether Numba compiles at all: ``NUMBA_DISABLE_JIT`` turns it off, and then there is no engine."""
    import numba

    return not numba.config.DISABLE_JIT


def thread_count() -> int:
    """Return how many threads Numba is set to use, by ``numba.set_num_threads`` or ``NUMBA_NUM_THREADS``."""
    import numba
    from numba.np.ufunc import parallel

    # get_num_threads starts Numba's own threads, which nobody needs before somebody has set a number
    count: int = numba.get_num_threads() if parallel._is_initialized else numba.config.NUMBA_NUM_THREADS
    return count


def _work(launch: _Launch, source: int, destination: int, counter: NDArray[np.int64], owners: object) -> None:
    launch.kernel(source, destination, launch.job, counter, _memory.address(launch.scratch_bytes))


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


@lru_cache(maxsize=4096)
def _launch(plan: Plan) -> _Launch:
    """Compile the plan's kernel, or load it from Numba's cache, and cut the work into tickets."""
    walk = min(plan.outer, key=lambda axis: abs(axis.stride_in), default=UNIT)
    outer = [axis for axis in plan.outer if axis is not walk]
    record = KERNELS[plan.kernel]
    place_bytes, unit = record.place_bytes(plan), record.unit(plan)
    nbytes = plan.problem.nbytes
    budget = min(TICKET_BYTES, max(SMALL_TICKET_BYTES, nbytes // TICKETS_PER_JOB))

    strips = record.strips(plan)
    height = min(plan.height, plan.rows.extent)
    cols_step = min(plan.cols.extent, max(1, min(budget // height, ROW_CHUNK_BYTES) // place_bytes // unit) * unit)
    if record.whole_column:
        cols_step = min(plan.cols.extent, unit)
    room = max(1, budget // (height * cols_step * place_bytes))
    if abs(walk.stride_in) < plan.height * abs(plan.rows.stride_in):  # the walk goes on nearer than the next strip does
        walk_step = min(walk.extent, room)
        strips_step = min(strips, max(1, room // walk_step))
    else:
        strips_step = min(strips, room)
        walk_step = min(walk.extent, max(1, room // strips_step))

    pieces = -(-plan.cols.extent // cols_step) * -(-walk.extent // walk_step) * -(-strips // strips_step)
    tickets = pieces * math.prod(axis.extent for axis in outer)
    numbers = [tickets, *plan.rows, *plan.cols, *walk, plan.height, strips, strips_step, cols_step, walk_step]
    numbers += [
        plan.run,
        plan.stream,
        plan.problem.reach_in,
        len(outer),
        *(number for axis in outer for number in axis),
    ]
    threads = min(tickets, max(1, nbytes // THREAD_BYTES))
    return _Launch(record.load(plan), np.array(numbers, np.int64), tickets, threads, record.scratch_bytes(plan))
