"""Every CPU kernel at its edges: bits, and the bytes around the output that no kernel may touch."""

import os
import subprocess
import sys
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from cornerturn.op.cpu import crew
from cornerturn.op.cpu import engine as cpu_engine
from cornerturn.op.cpu.plan import plan_problem
from cornerturn.op.problem import canonical
from cornerturn.op.strided_view import view_of

ALWAYS, NEVER = 0, 1 << 62  # from how many bytes on an output is written past the caches
GUARD = 256
CANARY = 0xA5

Array = NDArray[Any]


def distinct(shape: tuple[int, ...], dtype: str) -> Array:
    """An array whose bytes follow no stride: a wrong element shows, and so does one taken twice."""
    dtype_ = np.dtype(dtype)
    count = int(np.prod(shape)) * dtype_.itemsize
    words = np.arange(count // 8 + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return (words ^ (words >> np.uint64(29))).view(np.uint8)[:count].view(dtype_).reshape(shape)


def guarded(like: Array, line_offset: int, pad: int) -> tuple[Array, Array]:
    """A buffer of canaries, and in it an output for ``like`` with ``pad`` unused elements after each row."""
    shape = (*like.shape[:-1], like.shape[-1] + pad) if like.ndim else like.shape
    nbytes = int(np.prod(shape)) * like.itemsize
    buffer = np.full(nbytes + 2 * GUARD + 64, CANARY, np.uint8)
    start = GUARD + (line_offset - buffer.ctypes.data - GUARD) % 64
    out = np.ndarray(shape, like.dtype, buffer.data, start)
    return buffer, out[..., : like.shape[-1]] if like.ndim else out


def engine(view: Array, streaming_bytes: int, line_offset: int = 0, pad: int = 0) -> tuple[str, Array]:
    """Copy a strided view with the engine; return the kernel it took, and the output after checking its guards."""
    buffer, out = guarded(view, line_offset, pad)
    source, destination = view_of(view), view_of(out)
    problem = canonical(source.itemsize, source.shape, source.strides, destination.strides)
    plan = plan_problem(problem, line_offset, streaming_bytes)
    cpu_engine.run(plan, source.pointer, destination.pointer)
    result = out.copy()
    out.view(f"V{out.itemsize}")[...] = np.frombuffer(bytes([CANARY]) * out.itemsize, f"V{out.itemsize}")[0]
    assert (buffer == CANARY).all(), f"{plan.kernel} wrote outside of the output"
    return plan.kernel, result


def same_bits(a: Array, b: Array) -> bool:
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


# kernel, dtype, shape of x, axes, written past the caches, offset in a line, padding of output rows
KERNELS = [
    *(("cached_tiles", d, (67, 81), (1, 0), NEVER, 0, 0) for d in ("u1", "u2", "u4", "u8", "c16")),
    *(("cached_tiles", d, (130, 131), (1, 0), NEVER, 1, 3) for d in ("u1", "u2", "u4", "u8", "c16")),
    *(("streaming_tiles", d, (128, 72), (1, 0), ALWAYS, 0, 0) for d in ("u1", "u2", "u4", "u8", "c16")),
    *(("streaming_tiles", d, (192, 150), (1, 0), ALWAYS, 16, 0) for d in ("u1", "u2", "u4", "u8", "c16")),
    *(("blocked_tiles", "u1", (rows, 1024), (1, 0), ALWAYS, at, 0) for rows, at in ((64, 0), (640, 0), (704, 9))),
    *(("blocked_tiles", "u2", (rows, 1536), (1, 0), ALWAYS, at, 0) for rows, at in ((32, 0), (320, 0), (352, 16))),
    *(("blocked_tiles", "u2", (2, 96, 512), (0, 2, 1), ALWAYS, at, 0) for at in (0, 62)),
    *(("staged_tiles", d, (1201, 75), (1, 0), ALWAYS, 0, 0) for d in ("u1", "u2")),
    *(("staged_tiles", d, (301, 43), (1, 0), ALWAYS, 0, 0) for d in ("u4", "u8", "c16")),
    *(("staged_tiles", d, (256, 64), (1, 0), ALWAYS, 3, 1) for d in ("u2", "u4", "u8", "c16")),
    ("staged_tiles", "u1", (512, 64), (1, 0), ALWAYS, 3, 1),
    ("staged_tiles", "u1", (1201, 2100), (1, 0), ALWAYS, 0, 0),
    ("staged_tiles", "c16", (3, 301, 43), (2, 0, 1), ALWAYS, 0, 0),
    *(("packed_tiles", d, (50, 90), (1, 0), ALWAYS, 8, 0) for d in ("u1", "u2", "u4", "u8", "c16")),
    *(
        ("interleave", d, (n, 150), (1, 0), s, 5, 0)
        for d in ("u1", "u2", "u4")
        for n in (2, 3, 24)
        for s in (ALWAYS, NEVER)
    ),
    *(("interleave", d, (n, 5000), (1, 0), ALWAYS, 0, 0) for d in ("u8", "c16") for n in (3, 5)),
    *(
        ("deinterleave", d, (150, n), (1, 0), s, 5, 0)
        for d in ("u1", "u2", "u4")
        for n in (2, 3, 24)
        for s in (ALWAYS, NEVER)
    ),
    *(("deinterleave", d, (5000, n), (1, 0), ALWAYS, 0, 0) for d in ("u8", "c16") for n in (3, 5)),
    *(("long_runs", "u1", (3, 4, 9001), (1, 0, 2), s, 7, p) for s in (ALWAYS, NEVER) for p in (0, 5)),
    ("long_runs", "u4", (1000,), (0,), ALWAYS, 4, 0),
    *(("line_runs", "u1", (9, 7, n), (1, 0, 2), ALWAYS, 0, 0) for n in (64, 128, 1024)),
    *(("gathered_runs", "u1", (9, 70, n), (1, 0, 2), ALWAYS, 0, 0) for n in (3, 5, 12, 29, 48, 1000)),
    *(("gathered_runs", "u1", (9, 70, n), (1, 0, 2), NEVER, 0, 0) for n in (3, 24)),
    *(("cached_runs", "u1", (9, 70, n), (1, 0, 2), NEVER, 0, 0) for n in (72, 1000)),
    *(("cached_runs", "u1", (9, 70, 24), (1, 0, 2), s, 3, 2) for s in (ALWAYS, NEVER)),
]


@pytest.mark.parametrize(("kernel", "dtype", "shape", "axes", "streaming", "line_offset", "pad"), KERNELS)
def test_kernel(kernel, dtype, shape, axes, streaming, line_offset, pad) -> None:
    view = distinct(shape, dtype).transpose(axes)
    taken, result = engine(view, streaming, line_offset, pad)
    assert taken == kernel
    assert same_bits(result, view)


@pytest.mark.parametrize("dtype", ["u1", "u2", "u4", "u8", "c16", "V3", "V12"])
def test_elements_one_by_one(dtype: str) -> None:
    x = distinct((70, 131, 4), dtype)
    taken, result = engine(x[::-2, ::3, 1], ALWAYS)
    assert taken == ("single_elements" if x.itemsize in (1, 2, 4, 8, 16) else "gathered_runs")
    assert same_bits(result, x[::-2, ::3, 1])


@pytest.mark.parametrize("cols", [64, 1000])
def test_aliased_rows_that_end_within_a_tile(cols: int) -> None:
    view = distinct((640, 1024), "u1")[:, :cols].T
    taken, result = engine(view, ALWAYS)
    assert taken == "blocked_tiles"
    assert same_bits(result, view)


def test_reversed_rows_keep_their_tiles() -> None:
    view = distinct((200, 300), "u4")[:, ::-1].T
    taken, result = engine(view, ALWAYS, line_offset=12)
    assert taken == "staged_tiles"
    assert same_bits(result, view)


def test_tickets_cut_every_axis() -> None:
    """Large enough that strips, columns, the walk and outer axes are all divided among tickets."""
    x = distinct((3, 2, 40, 1000, 40), "u4")
    for axes in ((1, 0, 4, 2, 3), (2, 0, 4, 1, 3), (3, 1, 0, 2, 4), (4, 3, 2, 1, 0)):
        for streaming in (ALWAYS, NEVER):
            _, result = engine(x.transpose(axes), streaming)
            assert same_bits(result, x.transpose(axes))
    wide = distinct((40, 200_000), "u2")
    _, result = engine(wide.T, ALWAYS)
    assert same_bits(result, wide.T)


EXTENTS = st.sampled_from([1, 2, 3, 4, 5, 8, 16, 24, 33, 64, 70])


@st.composite
def strided_views(draw: st.DrawFn) -> Array:
    """Permuted, sliced, reversed, broadcast views of at most about 2**18 elements."""
    shape: list[int] = []
    for _ in range(draw(st.integers(0, 5))):
        extent = draw(EXTENTS)
        shape.append(extent if int(np.prod(shape)) * extent <= 1 << 18 else 1)
    dtype = draw(st.sampled_from(["u1", "u2", "u4", "u8", "c16", "V3", "V12"]))
    steps = [draw(st.sampled_from([1, 1, 1, 1, 2, -1, -2, 0])) for _ in shape]
    base = distinct(tuple(extent * max(1, abs(step)) for extent, step in zip(shape, steps, strict=True)), dtype)
    view = base[tuple(slice(None, None, step or 1) for step in steps)]
    still = tuple(slice(0, 1) if step == 0 else slice(None) for step in steps)
    return np.broadcast_to(view[still], shape).transpose(draw(st.permutations(range(len(shape)))))


@settings(max_examples=200)
@given(strided_views(), st.sampled_from([ALWAYS, NEVER]), st.integers(0, 63), st.sampled_from([0, 0, 1, 16]))
def test_any_view(view: Array, streaming: int, line_offset: int, pad: int) -> None:
    _, result = engine(view, streaming, line_offset, pad)
    assert same_bits(result, np.ascontiguousarray(view).reshape(view.shape))


def move(view: Array) -> Array:
    return engine(view, ALWAYS)[1]


def test_python_threads_share_the_engine() -> None:
    arrays = [distinct((700 + 16 * i, 1000), "u4") for i in range(8)]
    with ThreadPoolExecutor(8) as pool:
        for _ in range(5):
            for x, y in zip(arrays, pool.map(lambda x: move(x.T), arrays), strict=True):
                assert same_bits(y, x.T)


def test_threads_follow_numba(monkeypatch: pytest.MonkeyPatch) -> None:
    numba = pytest.importorskip("numba")
    workers = set()
    work = cpu_engine._work
    monkeypatch.setattr(cpu_engine, "_work", lambda *task: (workers.add(threading.get_ident()), work(*task)))
    before = numba.get_num_threads()
    x = distinct((2048, 2048), "u4")
    try:
        numba.set_num_threads(1)
        assert cpu_engine.thread_count() == 1
        assert same_bits(move(x.T), x.T)
        assert workers == {threading.get_ident()}
    finally:
        numba.set_num_threads(before)


def test_the_caller_finishes_what_no_other_thread_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crew, "_serve", lambda parts: None)
    monkeypatch.setattr(crew, "_crew", cache(crew._Crew))
    monkeypatch.setattr(cpu_engine, "thread_count", lambda: 4)
    x = distinct((2048, 1024), "u4")
    assert same_bits(move(x.T), x.T)


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


def test_at_exit_no_thread_is_needed() -> None:
    output = run_python(
        """
        import atexit
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
        from cornerturn.op.cpu import engine as cpu_engine
        from cornerturn.op.strided_view import view_of
        from cornerturn.op.cpu.plan import plan_problem
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
        checked = 0
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
                for streaming_bytes in (0, 1 << 62):
                    source, target = view_of(view), view_of(out)
                    problem = canonical(source.itemsize, source.shape, source.strides, target.strides)
                    plan = plan_problem(problem, target.pointer % 64, streaming_bytes)
                    cpu_engine.run(plan, source.pointer, target.pointer)
                    checked += out.tobytes() == view.tobytes()
        print(checked == 4 * len(cases))
        """
    )
    assert output.strip() == "True"
