"""Every CPU kernel, in every way that the planner may take: bits, and the bytes around the output."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from cornerturn.op.cpu import engine, plan
from cornerturn.op.cpu.kernels import KERNELS
from cornerturn.op.cpu.plan import Plan, plan_problem
from cornerturn.op.cpu.way import Candidate
from cornerturn.op.problem import Problem, canonical
from cornerturn.op.strided_view import view_of

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


def ways(problem: Problem, aligned: bool) -> list[Candidate]:
    """All candidates, whether the output is written past the caches or not."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plan, "STREAM_BYTES_MIN", 0)
        return [way for way in plan_problem(problem, problem.itemsize, aligned).candidates if way.box]


def check(view: Array, line_offset: int = 0, pad: int = 0, kernel: str = "") -> int:
    """Move a strided view in every way, or in those of one kernel; return how many there were."""
    buffer, out = guarded(view, line_offset, pad)
    source, target = view_of(view), view_of(out)
    problem = canonical(source.itemsize, source.shape, source.strides, target.strides)
    aligned = (target.pointer + problem.offset_out) % 64 == 0
    wanted = np.ascontiguousarray(view).tobytes()
    found = [way for way in ways(problem, aligned) if kernel in ("", way.kernel)]
    for way in found:
        engine.run(Plan(problem, (way,)), source.pointer, target.pointer)
        assert out.tobytes() == wanted, way
        out.view(f"V{out.itemsize}")[...] = np.frombuffer(bytes([CANARY]) * out.itemsize, f"V{out.itemsize}")[0]
        assert (buffer == CANARY).all(), f"wrote outside of the output: {way}"
    return len(found)


MOVES = [
    *((f"tiles_{np.dtype(d).itemsize}", d, (67, 81), (1, 0), 0, 0) for d in ("u1", "u2", "u4", "u8", "c16")),
    *((f"tiles_{np.dtype(d).itemsize}", d, (530, 531), (1, 0), 3, 1) for d in ("u1", "u2", "u4", "u8", "c16")),
    *((f"tiles_{np.dtype(d).itemsize}", d, (512, 1024), (1, 0), 0, 0) for d in ("u1", "u2", "u4", "u8", "c16")),
    *((f"tiles_{np.dtype(d).itemsize}", d, (5, 70), (1, 0), 0, 0) for d in ("u1", "u2", "u4", "u8", "c16")),
    *((f"tiles_{np.dtype(d).itemsize}", d, (2,) * 12, tuple(range(12))[::-1], 0, 0) for d in ("u1", "u2", "u4", "u8")),
    ("tiles_4", "u4", (3, 40, 100, 6, 40), (4, 1, 0, 2, 3), 12, 0),
    ("tiles_4", "u4", (20, 30, 40, 50), (3, 2, 1, 0), 0, 2),
    *((f"records_{n}", "u1", (60, 70, n), (1, 0, 2), 0, 0) for n in (1, 2, 4, 8, 16)),
    *(("records_16", "u1", (60, 70, n), (1, 0, 2), 5, 0) for n in (12, 24, 29, 48, 100)),
    *(("records_4", "u1", (60, 70, n), (1, 0, 2), 5, 0) for n in (3, 4)),
    ("records_2", "u2", (3, 7, 9, 11), (1, 3, 0, 2), 0, 0),
    *(("vectors", d, (n, 500), (1, 0), 5, 0) for d in ("u1", "u2", "u4", "u8") for n in (2, 3, 5)),
    *(("vectors", d, (500, n), (1, 0), 5, 0) for d in ("u1", "u2", "u4", "u8") for n in (2, 3, 5)),
    ("vectors", "u2", (2, 3, 4, 14, 4, 14), (0, 2, 4, 3, 5, 1), 0, 0),
    *(("runs", "u1", (3, 4, n), (1, 0, 2), 7, p) for n in (64, 100, 9001) for p in (0, 5)),
    ("runs", "u4", (100_000,), (0,), 4, 0),
]


@pytest.mark.parametrize(("kernel", "dtype", "shape", "axes", "line_offset", "pad"), MOVES)
def test_kernel(kernel, dtype, shape, axes, line_offset, pad) -> None:
    assert check(distinct(shape, dtype).transpose(axes), line_offset, pad, kernel)


def test_every_kernel_has_a_move() -> None:
    assert {move[0] for move in MOVES} == set(KERNELS)


def test_reversed_axes_and_steps() -> None:
    x = distinct((70, 132, 6), "u4")
    for view in (x[:, ::-1].transpose(1, 0, 2), x[..., ::-1], x[::2, ::3, 1].T, x[:, ::2], x[::-1, ::-1, ::-1].T):
        assert check(view, 16)


EXTENTS = st.sampled_from([1, 2, 3, 4, 5, 8, 14, 16, 24, 33, 64, 70])


@st.composite
def strided_views(draw: st.DrawFn) -> Array:
    """Permuted, sliced, reversed, broadcast views of at most about 2**15 elements."""
    shape: list[int] = []
    for _ in range(draw(st.integers(0, 6))):
        extent = draw(EXTENTS)
        shape.append(extent if int(np.prod(shape)) * extent <= 1 << 15 else 1)
    dtype = draw(st.sampled_from(["u1", "u2", "u4", "u8", "c16", "V3", "V12", "V24", "V40"]))
    steps = [draw(st.sampled_from([1, 1, 1, 1, 2, -1, -2, 0])) for _ in shape]
    base = distinct(tuple(extent * max(1, abs(step)) for extent, step in zip(shape, steps, strict=True)), dtype)
    view = base[tuple(slice(None, None, step or 1) for step in steps)]
    still = tuple(slice(0, 1) if step == 0 else slice(None) for step in steps)
    return np.broadcast_to(view[still], shape).transpose(draw(st.permutations(range(len(shape)))))


@settings(max_examples=150, deadline=None)
@given(strided_views(), st.integers(0, 63), st.sampled_from([0, 0, 1, 16]))
def test_any_view(view: Array, line_offset: int, pad: int) -> None:
    check(view, line_offset, pad)
