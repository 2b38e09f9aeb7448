import numpy as np
import pytest

from cornerturn.op.cpu import engine
from cornerturn.op.engines import move
from cornerturn.op.strided_view import view_of


def test_every_element_arrives() -> None:
    x, y = np.arange(12, dtype="f4").reshape(3, 4), np.zeros((4, 3), "f4")
    move(view_of(x.T), view_of(y))
    np.testing.assert_array_equal(y, x.T)


@pytest.mark.parametrize(("shape", "dtype"), [((3, 0), "f4"), ((0,), "u1"), ((3, 4), "V0")])
def test_without_bytes_the_engine_is_not_asked(
    monkeypatch: pytest.MonkeyPatch, shape: tuple[int, ...], dtype: str
) -> None:
    monkeypatch.setattr(engine, "run", None)
    x = np.zeros(shape, dtype)
    move(view_of(x), view_of(x.copy()))
