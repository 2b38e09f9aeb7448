"""No exception, whenever it comes, leaves a helper at work."""

import os
import subprocess
import sys
import textwrap
import threading
import time
import weakref
from functools import cache

import pytest

from cornerturn.op.cpu import crew


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    monkeypatch.setattr(crew, "_crew", cache(crew._Crew))


class Job:
    """Pieces that each take a while; notes who is at work."""

    def __init__(self, pieces=6, seconds=0.02):
        self.pieces, self.seconds = pieces, seconds
        self.at_work, self.done, self.workers = 0, 0, set()
        self.lock = threading.Lock()

    def work(self):
        self.workers.add(threading.get_ident())
        while True:
            with self.lock:
                if not self.pieces:
                    return
                self.pieces -= 1
                self.at_work += 1
            time.sleep(self.seconds)
            with self.lock:
                self.at_work -= 1
                self.done += 1

    def stop(self):
        with self.lock:
            self.pieces = 0


def test_all_pieces_are_done_by_several():
    job = Job()
    crew.share(job.work, 2, job.stop)
    assert (job.done, job.at_work) == (6, 0)
    assert len(job.workers) == 3


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system binds no thread to processors")
def test_helpers_run_where_the_caller_does_not(monkeypatch):
    chosen = {max(os.sched_getaffinity(0))}
    monkeypatch.setattr(crew, "other_processors", lambda: chosen)
    found = {}

    def work():
        time.sleep(0.02)
        found[threading.get_native_id()] = os.sched_getaffinity(0)

    before = os.sched_getaffinity(0)
    for _ in range(2):  # a new thread runs anywhere
        crew.share(work, 1, lambda: None)
    assert found.pop(threading.get_native_id()) == before
    assert list(found.values()) == [chosen]


def test_an_exception_of_the_callers_passes_when_all_others_have_stopped():
    job, caller = Job(pieces=1000), threading.get_ident()

    def work():
        if threading.get_ident() == caller:
            while not job.at_work:
                time.sleep(0.001)
            raise KeyboardInterrupt
        job.work()

    with pytest.raises(KeyboardInterrupt):
        crew.share(work, 2, job.stop)
    assert job.at_work == 0
    assert job.done < 1000


def test_a_helper_without_memory_leaves_its_share_to_the_caller():
    job, caller = Job(), threading.get_ident()

    def work():
        if threading.get_ident() != caller:
            raise MemoryError
        job.work()

    for _ in range(2):
        job.pieces = 6
        crew.share(work, 2, job.stop)
    assert (job.done, job.workers) == (12, {caller})


def test_a_job_that_is_done_is_kept_by_nobody(monkeypatch):
    monkeypatch.setattr(crew, "_serve", lambda parts, threads: None)  # parts stay in the queue
    job = Job()
    crew.share(job.work, 2, job.stop)
    gone = weakref.ref(job)
    del job
    assert gone() is None


def test_helpers_that_keep_the_caller_waiting_are_asked_more_and_more_seldom():
    patience = crew.Patience()
    alone = []
    for _ in range(4):
        patience.learns(seconds=2e-3, waited=1e-3)
        alone.append(0)
        while not patience.asks():
            alone[-1] += 1
    assert alone == [8, 16, 32, 64]
    for _ in range(8):
        patience.learns(seconds=2e-3, waited=1e-5)
        assert patience.asks()
    patience.learns(seconds=1.0, waited=0.1)
    assert patience.asks()


def run_python(program, *arguments):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "NUMBA_NUM_THREADS": "4"}
    command = [sys.executable, "-X", "faulthandler", "-c", textwrap.dedent(program), *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs interval timers")
def test_alarms_that_raise_at_any_moment_do_no_harm():
    """Results are dropped as soon as the exception is there; a helper still at work would write to unmapped memory."""
    done = run_python(
        """
        import random, signal, time
        import numpy as np
        import cornerturn

        class Alarm(Exception):
            pass

        def ring(*_):
            global rings
            if rings:
                rings -= 1
                raise Alarm

        x = np.arange(2400 * 2400, dtype=np.float64).reshape(2400, 2400)  # malloc unmaps what is as large
        cornerturn.transpose(x)
        signal.signal(signal.SIGALRM, ring)
        rings, hits, end = 0, 0, time.time() + 5
        while time.time() < end:
            again = random.choice([0, 1e-3])
            try:
                try:
                    rings = 2
                    signal.setitimer(signal.ITIMER_REAL, random.uniform(1e-5, 3e-2), again)
                    while True:
                        cornerturn.transpose(x)
                except Alarm:
                    hits += 1
                    time.sleep(20 * again)  # the second one comes here if not before
            except Alarm:
                pass
            signal.setitimer(signal.ITIMER_REAL, 0)
        assert (cornerturn.transpose(x) == x.T).all()
        print(hits)
        """
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 50
