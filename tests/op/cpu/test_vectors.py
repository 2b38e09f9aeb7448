"""Each intrinsic and what is made of them, compiled alone, on random bytes against NumPy."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

pytest.importorskip("numba")

from cornerturn.op.cpu.machine import byte_lookup
from cornerturn.op.cpu.vectors import (
    LINE,
    VECTOR,
    compiled,
    copy_bytes,
    copy_run,
    fence,
    gather_vector,
    move,
    number,
    prefetch,
    take_ticket,
    transpose_tile,
)

GUARD = 64
CANARY = 0xA5

Bytes = NDArray[np.uint8]


def random(nbytes: int) -> Bytes:
    return np.random.default_rng(nbytes).integers(0, 256, nbytes, np.uint8)


def guarded(nbytes: int, line_offset: int = 0) -> tuple[Bytes, Bytes]:
    """A buffer of canaries, and in it as many bytes, so far from the start of a line."""
    buffer = np.full(nbytes + 2 * GUARD + LINE, CANARY, np.uint8)
    start = GUARD + (line_offset - buffer.ctypes.data - GUARD) % LINE
    return buffer, buffer[start : start + nbytes]


def only(buffer: Bytes, part: Bytes) -> bool:
    """Whether nothing was written outside of a part."""
    start = part.ctypes.data - buffer.ctypes.data
    return bool((buffer[:start] == CANARY).all() and (buffer[start + len(part) :] == CANARY).all())


def numbers(*values: int) -> NDArray[np.int64]:
    return np.array(values, np.int64)


@cache
def tile(item: int, side: int) -> Callable[..., None]:
    @compiled
    def transpose(source: int, rows: int, target: int, cols: int) -> None:
        transpose_tile(source, rows, target, cols, item, side)

    return transpose


@pytest.mark.parametrize(
    ("item", "side"),
    [(1, 16), (1, 4), (2, 16), (2, 4), (4, 8), (4, 4), (8, 8), (8, 4), (16, 4), (16, 2)],
)
def test_transpose_tile(item: int, side: int) -> None:
    pitch = side * item + 5
    x = random(side * pitch)
    buffer, y = guarded(side * pitch, 3)
    order = np.random.default_rng(1).permutation(side)  # rows and columns lie where the tables say
    rows, cols = order * pitch, order[::-1] * pitch
    tile(item, side)(x.ctypes.data, rows.ctypes.data, y.ctypes.data, cols.ctypes.data)
    elements = np.stack([x[row : row + side * item] for row in rows]).view(f"V{item}")
    for col, wanted in zip(cols, elements.T, strict=True):
        assert y[col : col + side * item].tobytes() == wanted.tobytes()
    assert (np.stack([y[col + side * item : col + pitch] for col in cols]) == CANARY).all()
    assert only(buffer, y)


@cache
def gather(known: int) -> Callable[..., None]:
    if known:

        @compiled
        def gathered(source: int, offsets: int, masks: int, count: int, target: int) -> None:
            gather_vector(source, offsets, masks, known, target)

    else:

        @compiled
        def gathered(source: int, offsets: int, masks: int, count: int, target: int) -> None:
            gather_vector(source, offsets, masks, count, target)

    return gathered


@pytest.mark.skipif(not byte_lookup(), reason="this processor looks up no bytes")
@pytest.mark.parametrize(("known", "count"), [(1, 1), (2, 2), (3, 3), (0, 1), (0, 3), (0, 8)])
def test_gather_vector(known: int, count: int) -> None:
    rng = np.random.default_rng(count)
    x = random(1000)
    offsets = rng.integers(0, len(x) - VECTOR, count)
    places = rng.integers(0, VECTOR, VECTOR)
    sources = rng.integers(0, count, VECTOR)
    masks = np.where(np.arange(count)[:, None] == sources, places, 128).astype(np.uint8)
    masks[:, 7] = 128  # a byte that comes from nowhere is 0
    buffer, y = guarded(VECTOR, 1)
    gather(known)(x.ctypes.data, offsets.ctypes.data, masks.ctypes.data, count, y.ctypes.data)
    wanted = x[offsets[sources] + places]
    wanted[7] = 0
    assert y.tolist() == wanted.tolist()
    assert only(buffer, y)


@cache
def moved(nbytes: int, stream: int) -> Callable[..., None]:
    @compiled
    def run(source: int, target: int) -> None:
        move(source, target, nbytes, stream)

    return run


@pytest.mark.parametrize(
    ("nbytes", "stream", "line_offset"), [*((1 << bit, 0, 5) for bit in range(7)), (LINE, 1, 0), (LINE, 0, 63)]
)
def test_move(nbytes: int, stream: int, line_offset: int) -> None:
    x = random(nbytes + 1)[1:]
    buffer, y = guarded(nbytes, line_offset)
    moved(nbytes, stream)(x.ctypes.data, y.ctypes.data)
    assert (y == x).all()
    assert only(buffer, y)


@compiled
def copied(source: int, target: int, nbytes: int) -> None:
    copy_bytes(source, target, nbytes)


def copy_plain(source: int, target: int, nbytes: int) -> None:
    copy_run(source, target, nbytes, 0)


def copy_streamed(source: int, target: int, nbytes: int) -> None:
    copy_run(source, target, nbytes, 1)


@pytest.mark.parametrize("copy", [copied, copy_plain, copy_streamed], ids=["copy_bytes", "copy_run", "streamed"])
@pytest.mark.parametrize("line_offset", [0, 1, 63])
@pytest.mark.parametrize("nbytes", [0, 1, 7, 8, 63, 64, 65, 127, 128, 129, 191, 1000, 4096])
def test_copies_of_any_length(copy: Callable[..., None], nbytes: int, line_offset: int) -> None:
    x = random(nbytes + 9)[9:]
    buffer, y = guarded(nbytes, line_offset)
    copy(x.ctypes.data, y.ctypes.data, nbytes)
    assert (y == x).all()
    assert only(buffer, y)


@compiled
def looked_up(table: int, index: int) -> int:
    return number(table, index)


def test_number() -> None:
    table = numbers(5, -7, 1 << 62)
    assert [looked_up(table.ctypes.data, index) for index in range(3)] == table.tolist()


@compiled
def drawn(counter: int) -> int:
    ticket: Any = take_ticket(counter)
    fence()
    return int(ticket)


def test_take_ticket() -> None:
    counter = numbers(3)
    assert [drawn(counter.ctypes.data) for _ in range(3)] == [3, 4, 5]
    assert counter.tolist() == [6]


@compiled
def asked(address: int) -> None:
    prefetch(address)


def test_a_line_that_does_not_exist_may_be_asked_for() -> None:
    asked(8)
