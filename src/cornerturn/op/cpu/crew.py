"""Threads that help with a job, and a caller whom no exception takes away while one of them is still at it.

A handler of signals may raise between any two steps of the main thread: Ctrl-C, a time limit, SIGTERM. What helpers
write to must outlive them all the same. So whatever is raised, and however often, the caller first makes the others
stop, waits until they have, and only then lets the exception pass.
"""

import os
from _thread import start_new_thread
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import lru_cache
from queue import SimpleQueue
from threading import Lock, get_native_id
from time import perf_counter

from cornerturn.op.cpu.machine import other_processors

Work = Callable[[], None]

_WAIT_SECONDS = 2e-4
_WAIT_SHARE = 0.25
_ALONE_MIN, _ALONE_MAX = 8, 256


def share(work: Work, helpers: int, stop: Work) -> float:
    """Do ``work`` in this thread, and at the same time in up to ``helpers`` others; return when all are done.

    Nothing waits for a thread that has not started: this one alone must be able to finish the work.

    Args:
        work: does pieces of the job until none is left.
        helpers: how many other threads to ask for help.
        stop: leaves no piece to those who look for the next one.

    Returns:
        Seconds that this thread waited for others when there was no piece left to do.

    Raises:
        BaseException: the first one raised in this thread, when no helper is at work any more.
    """
    parts = [_Part(work) for _ in range(helpers)]
    raised: BaseException | None = None
    finished = 0.0
    while parts:
        try:
            if raised is None:
                _crew().call(parts)
                work()
                finished = perf_counter()
            else:
                stop()
            while parts:
                parts[-1].withdraw()
                parts.pop()
        except BaseException as error:
            raised = raised or error
    try:
        if raised is not None:
            raise raised
    finally:
        raised = None  # or the exception would keep this frame alive, and the frame the exception
    return perf_counter() - finished


class Patience:
    """Whether helpers are asked for: ever more seldom while they keep the caller waiting.

    On a machine that is busy with other things a helper may be without a processor for longer than the whole job takes.
    """

    def __init__(self) -> None:
        self._alone = 0  # jobs that are still to be done without help
        self._next = _ALONE_MIN  # and how many it will be the next time

    def asks(self) -> bool:
        """Return whether to ask for help with the next job."""
        if self._alone:
            self._alone -= 1
            return False
        return True

    def learns(self, seconds: float, waited: float) -> None:
        """Take in how long a job took, and how much of that the caller waited for helpers."""
        if waited > max(_WAIT_SECONDS, _WAIT_SHARE * seconds):
            self._alone = self._next
            self._next = min(2 * self._next, _ALONE_MAX)
        else:
            self._next = max(_ALONE_MIN, self._next // 2)


class _Part:
    """What one helper is asked to do."""

    def __init__(self, work: Work) -> None:
        self._work: Work | None = work
        self._at_it = Lock()

    def __call__(self) -> None:
        with self._at_it:
            if self._work is not None:
                self._work()

    def withdraw(self) -> None:
        """Return when no thread is at it, and none will be."""
        with self._at_it:
            self._work = None  # a part may lie in the queue for long, and is to keep no array alive


class _Crew:
    """Threads that take what is called for from one queue, and end with the process.

    Each step is one call into C, which no handler of signals can cut in two.
    """

    def __init__(self) -> None:
        self._parts: SimpleQueue[_Part] = SimpleQueue()
        self._size = 0
        self._threads: list[int] = []

    def call(self, parts: Sequence[_Part]) -> None:
        """Put parts in the queue; there are as many threads as one job has asked for.

        A thread that last ran on the caller's processor would often be woken there, to wait for it, though others idle.
        """
        elsewhere = other_processors()
        for thread in self._threads if elsewhere else ():
            with suppress(OSError):  # where that is not allowed, it runs where the system wants
                os.sched_setaffinity(thread, elsewhere)
        for part in parts:
            self._parts.put(part)
        while self._size < len(parts):
            try:
                start_new_thread(_serve, (self._parts, self._threads))
            except RuntimeError:  # the system, or an interpreter that shuts down, starts no threads any more
                return
            self._size += 1


def _serve(parts: "SimpleQueue[_Part]", threads: list[int]) -> None:
    threads.append(get_native_id())
    while True:
        part = parts.get()
        with suppress(Exception):  # no memory, say: the caller's thread does this one's share
            part()
        del part  # or its arrays would live until the next one comes


@lru_cache(maxsize=1)
def _crew() -> _Crew:
    return _Crew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_crew.cache_clear)
