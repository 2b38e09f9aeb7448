from typing import Any

import numpy as np
import pytest

from cornerturn.op.cpu import engine as cpu_engine
from cornerturn.op.engines import Stream, move
from cornerturn.op.gpu import engine as gpu_engine
from cornerturn.op.strided_view import view_of


def test_without_a_stream_the_cpu_moves() -> None:
    x, y = np.arange(12, dtype="f4").reshape(3, 4), np.zeros((4, 3), "f4")
    move(view_of(x.T), view_of(y))
    np.testing.assert_array_equal(y, x.T)


def test_with_one_the_gpu_is_given_the_views_the_stream_and_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Any] = []
    monkeypatch.setattr(gpu_engine, "run", lambda *arguments: given.append(arguments))
    source, destination = view_of(np.zeros((3, 4)).T), view_of(np.zeros((4, 3)))
    move(source, destination, Stream(handle=7, ordinal=2))
    assert given == [(source, destination, 7, 2)]


@pytest.mark.parametrize("stream", [None, Stream(7, 2)])
@pytest.mark.parametrize(("shape", "dtype"), [((3, 0), "f4"), ((0,), "u1"), ((3, 4), "V0")])
def test_without_bytes_no_engine_is_asked(
    monkeypatch: pytest.MonkeyPatch, shape: tuple[int, ...], dtype: str, stream: Stream | None
) -> None:
    for engine in (cpu_engine, gpu_engine):
        monkeypatch.setattr(engine, "run", None)
    x = np.zeros(shape, dtype)
    move(view_of(x), view_of(x.copy()), stream)
