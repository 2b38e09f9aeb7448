"""Calls of the CPU engine: its threads, forks, the end of a process, and memory that it must not touch."""

import os
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from cornerturn.op.cpu import crew, engine
from cornerturn.op.cpu.plan import Plan, plan_move
from cornerturn.op.cpu.way import NUMPY_COPY, Candidate
from cornerturn.op.strided_view import view_of

Array = NDArray[Any]


def distinct(shape: tuple[int, ...], dtype: str) -> Array:
    """An array of random bytes."""
    nbytes = int(np.prod(shape)) * np.dtype(dtype).itemsize
    return np.frombuffer(np.random.default_rng(1).bytes(nbytes), dtype).reshape(shape)


def move(view: Array, threads: int = 0) -> Array:
    """Copy a strided view with the engine, in so many threads."""
    out = np.full(view.shape, 0, view.dtype)
    source, target = view_of(view), view_of(out)
    with pytest.MonkeyPatch.context() as patch:
        if threads:
            patch.setattr(engine, "THREAD_NANOSECONDS", 1)
            patch.setattr(engine, "thread_count", lambda: threads)
            patch.setattr(engine, "idle_processors", lambda: threads)
            patch.setattr(engine, "_patience", crew.Patience())
            engine._launch.cache_clear()
        engine.run(plan_move(source, target), source.pointer, target.pointer)
    engine._launch.cache_clear()
    return out


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize(
    ("shape", "axes", "dtype"),
    [
        ((700, 1000), (1, 0), "u4"),
        ((3, 2, 40, 500, 40), (3, 1, 0, 2, 4), "u4"),
        ((3, 2, 40, 500, 40), (4, 3, 2, 1, 0), "u2"),
        ((1000, 1000, 3), (1, 0, 2), "u1"),
        ((40, 100_000), (1, 0), "u2"),
        ((300, 4, 5000), (1, 0, 2), "u1"),
    ],
)
def test_any_number_of_threads(threads, shape, axes, dtype) -> None:
    view = distinct(shape, dtype).transpose(axes)
    assert move(view, threads).tobytes() == view.tobytes()


def test_numpy_copies_what_a_plan_gives_it() -> None:
    view = distinct((30, 40), "u8")[::-1, ::2].T
    out = np.zeros(view.shape, view.dtype)
    source, target = view_of(view), view_of(out)
    problem = plan_move(source, target).problem
    plan = Plan(problem, (Candidate(NUMPY_COPY, None, False, False, 0),))
    engine.run(plan, source.pointer, target.pointer)
    assert (out == view).all()


def test_python_threads_share_the_engine() -> None:
    arrays = [distinct((700 + 16 * i, 1000), "u4") for i in range(8)]
    with ThreadPoolExecutor(8) as pool:
        for _ in range(5):
            outs = [np.zeros(x.T.shape, x.dtype) for x in arrays]
            list(pool.map(into, arrays, outs))
            for x, y in zip(arrays, outs, strict=True):
                assert (y == x.T).all()


def into(x: Array, out: Array) -> None:
    source, target = view_of(x.T), view_of(out)
    engine.run(plan_move(source, target), source.pointer, target.pointer)


def test_threads_follow_numba(monkeypatch: pytest.MonkeyPatch) -> None:
    numba = pytest.importorskip("numba")
    asked: list[int] = []
    monkeypatch.setattr(crew, "share", lambda work, helpers, stop: asked.append(helpers) or work() or 0.0)
    monkeypatch.setattr(engine, "processors", lambda: 3)
    monkeypatch.setattr(engine, "idle_processors", lambda: 3)
    monkeypatch.setattr(engine, "THREAD_NANOSECONDS", 1)
    before = numba.get_num_threads()
    x = distinct((2048, 512), "u4")
    try:
        for threads in range(1, before + 1):
            numba.set_num_threads(threads)
            assert engine.thread_count() == min(threads, 3)
            assert move(x.T).tobytes() == x.T.tobytes()
    finally:
        numba.set_num_threads(before)
    assert asked == [threads - 1 for threads in range(2, before + 1)]


@pytest.mark.parametrize(("idle", "long", "helpers"), [(0, 1 << 62, []), (1, 1 << 62, [1]), (0, 0, [3])])
def test_a_short_job_asks_no_more_helpers_than_processors_are_idle(monkeypatch, idle, long, helpers) -> None:
    asked: list[int] = []
    monkeypatch.setattr(crew, "share", lambda work, helpers, stop: asked.append(helpers) or work() or 0.0)
    monkeypatch.setattr(engine, "THREAD_NANOSECONDS", 1)
    monkeypatch.setattr(engine, "LONG_NANOSECONDS", long)
    monkeypatch.setattr(engine, "thread_count", lambda: 4)
    monkeypatch.setattr(engine, "idle_processors", lambda: idle)
    monkeypatch.setattr(engine, "_patience", crew.Patience())
    engine._launch.cache_clear()
    x = distinct((2048, 512), "u4")
    assert move(x.T).tobytes() == x.T.tobytes()
    assert asked == helpers


def test_the_caller_finishes_what_no_other_thread_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crew, "_serve", lambda parts, threads: None)
    monkeypatch.setattr(crew, "_crew", cache(crew._Crew))
    x = distinct((2048, 512), "u4")
    assert move(x.T, threads=4).tobytes() == x.T.tobytes()


def run_python(program: str) -> str:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "NUMBA_NUM_THREADS": "2"}
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", textwrap.dedent(program)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_child_transposes() -> None:
    """Data loaders fork after the parent has used the engine's threads."""
    output = run_python(
        """
        import os, signal
        import numpy as np
        import cornerturn

        x = np.arange(2048 * 2048, dtype=np.uint32).reshape(2048, 2048)
        right = (cornerturn.transpose(x) == x.T).all()
        for _ in range(4):
            child = os.fork()
            if child == 0:
                signal.alarm(60)
                os._exit(0 if (cornerturn.transpose(x) == x.T).all() else 1)
            assert os.waitpid(child, 0)[1] == 0
        print(right, (cornerturn.transpose(x) == x.T).all())
        """
    )
    assert output.split() == ["True", "True"]


@pytest.mark.parametrize(
    "before", ["", "import threading, concurrent.futures.thread", "import cornerturn; cornerturn.transpose"]
)
def test_at_exit_no_thread_is_needed(before: str) -> None:
    output = run_python(
        f"""
        import atexit
        {before}
        import numpy as np
        import cornerturn

        x = np.arange(2048 * 2048, dtype=np.uint32).reshape(2048, 2048)
        atexit.register(lambda: print((cornerturn.transpose(x) == x.T).all()))
        """
    )
    assert output.strip() == "True"


@pytest.mark.skipif(sys.platform != "linux", reason="protects pages with Linux's mprotect")
def test_no_kernel_reads_outside_of_its_input() -> None:
    """The input ends where a page begins that nobody may touch, then begins where one ends."""
    output = run_python(
        """
        import ctypes, mmap
        import numpy as np
        from cornerturn.op.cpu import engine, plan
        from cornerturn.op.strided_view import view_of
        from cornerturn.op.problem import canonical

        mprotect = ctypes.CDLL(None, use_errno=True).mprotect
        mprotect.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
        page = mmap.PAGESIZE
        cases = [
            ("u1", (67, 81), (1, 0)), ("u2", (130, 131), (1, 0)), ("u4", (64, 64), (1, 0)), ("c16", (301, 43), (1, 0)),
            ("u1", (640, 1024), (1, 0)), ("u1", (1201, 75), (1, 0)), ("u4", (50, 90), (1, 0)), ("u1", (150, 3), (1, 0)),
            ("u4", (3, 150), (1, 0)), ("u1", (5, 9001), (0, 1)), ("u1", (9, 70, 64), (1, 0, 2)),
            ("u1", (9, 70, 3), (1, 0, 2)), ("V3", (70, 90), (1, 0)), ("u1", (9, 70, 29), (1, 0, 2)), ("u2", (9,), (0,)),
        ]
        plan.STREAM_BYTES_MIN = 0
        checked = wrong = 0
        for dtype, shape, axes in cases:
            nbytes = int(np.prod(shape)) * np.dtype(dtype).itemsize
            room = -(-nbytes // page) * page
            memory = mmap.mmap(-1, room + 2 * page)
            first = np.frombuffer(memory, np.uint8).ctypes.data
            assert mprotect(first, page, 0) == 0 and mprotect(first + page + room, page, 0) == 0
            for start in (page + room - nbytes, page):
                x = np.ndarray(shape, dtype, memory, start)
                x.reshape(-1).view(np.uint8)[:] = np.arange(nbytes) % 251
                view = x.transpose(axes)
                out = np.empty(view.shape, view.dtype)
                source, target = view_of(view), view_of(out)
                problem = canonical(source.itemsize, source.shape, source.strides, target.strides)
                for way in plan.plan_problem(problem, source.itemsize).candidates:
                    out.reshape(-1).view(np.uint8)[:] = 0xA5
                    engine.run(plan.Plan(problem, (way,)), source.pointer, target.pointer)
                    wrong += out.tobytes() != view.tobytes()
                    checked += 1
        print(wrong, checked > 20 * len(cases))
        """
    )
    assert output.split() == ["0", "True"]
