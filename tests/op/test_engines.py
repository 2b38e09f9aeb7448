import numpy as np
import pytest

from cornerturn.op.cpu import engine
from cornerturn.op.engines import move, plan_for
from cornerturn.op.strided_view import empty_c_order, view_of


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


def test_the_plan_is_that_of_a_move_into_a_new_array(monkeypatch: pytest.MonkeyPatch) -> None:
    moved = []
    monkeypatch.setattr(engine, "run", lambda plan, *_: moved.append(plan))
    monkeypatch.setattr(engine, "compiles", lambda: True)
    source = view_of(np.zeros((300, 400), "f4")[::-1, ::2]).permuted((1, 0))
    move(source, view_of(empty_c_order(source.shape, np.dtype("f4"))))
    assert moved == [plan_for(source)]
    assert moved[0].kernel != "numpy_copy"
