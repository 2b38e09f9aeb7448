"""What is the same for every library, on a library of one class."""

from typing import Any

import numpy as np
import pytest

from cornerturn.errors import UsageError
from cornerturn.op.adapters.adapter import Adapter
from cornerturn.op.strided_view import StridedView, as_array, view_of

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


class Block:
    """An array of the library, on a device."""

    def __init__(self, array: np.ndarray, device: str = "here") -> None:
        self.array, self.device = array, device
        self.shape, self.dtype = array.shape, array.dtype


class Blocks(Adapter):
    """Its adapter, which notes what it is asked to move."""

    array = Block

    def __init__(self) -> None:
        self.moved_views: list[tuple[StridedView, StridedView]] = []

    def view(self, x: Block) -> StridedView:
        return view_of(x.array)

    def empty(self, x: Block, shape: tuple[int, ...]) -> Block:
        return Block(np.empty(shape, x.dtype), x.device)

    def move(self, source: StridedView, destination: StridedView, x: Block, out: Block) -> None:
        self.moved_views.append((source, destination))
        np.copyto(as_array(destination), as_array(source))


@pytest.mark.parametrize("axes", [None, (1, 2, 0), (-1, 0, 1)])
@pytest.mark.parametrize("array", [X, X[:, ::-1], X.T], ids=["C", "reversed", "F"])
def test_a_result_is_made_and_filled(axes: Any, array: np.ndarray) -> None:
    adapter = Blocks()
    y = adapter.transpose(Block(array, "there"), axes)
    assert y.device == "there"
    np.testing.assert_array_equal(y.array, array.transpose(axes), strict=True)
    ((source, destination),) = adapter.moved_views
    assert (source.pointer, destination.pointer) == (array.ctypes.data, y.array.ctypes.data)


def test_out_is_filled_and_returned() -> None:
    room = np.zeros((4, 3, 2, 2), np.float32)
    out = Block(room[..., 1])
    assert Blocks().transpose(Block(X), out=out) is out
    np.testing.assert_array_equal(room[..., 1], X.T)
    assert not room[..., 0].any()


def test_what_is_there_already_is_not_moved() -> None:
    adapter, array = Blocks(), X.copy()
    out = Block(array.T)
    assert adapter.transpose(Block(array), out=out) is out
    assert adapter.moved_views == []


def test_axes_are_counted_where_the_library_does_not_say() -> None:
    assert Blocks().ndim(Block(X)) == 3


SHARED = X.copy()


@pytest.mark.parametrize(
    ("x", "out", "message"),
    [
        (X, X.T.copy(), "out must be a .*Block as x is: got ndarray"),
        (X, Block(X.copy()), r"out must have the result's shape \(4, 3, 2\): got \(2, 3, 4\)"),
        (X, Block(X.T.astype("i4")), "out must have x's dtype float32: got int32; nothing is converted"),
        (X, Block(X.T.copy(), "there"), "out must be on x's device here: got there; nothing moves between devices"),
        (SHARED[:, :2, :2], Block(SHARED[:, 1:, :2].T), "out shares memory with x"),
        (X[:1], Block(np.broadcast_to(np.zeros((4, 1, 1), "f4"), (4, 3, 1))), "several elements share one place"),
        (np.zeros((1,) * 33, "f4"), None, "x has 33 axes, and at most 32"),
    ],
)
def test_what_is_refused(x: np.ndarray, out: Any, message: str) -> None:
    adapter = Blocks()
    with pytest.raises(UsageError, match=message):
        adapter.transpose(Block(x), None, out)
    assert adapter.moved_views == []


def test_a_plan_that_the_library_does_not_say_is_refused_by_name() -> None:
    with pytest.raises(UsageError, match=r"arrays of type Block .* no plan\(\)"):
        Blocks().explain(Block(X))
    with pytest.raises(UsageError, match=r"x of shape \(0, 3\) is empty"):
        Blocks().explain(Block(np.zeros((0, 3))))
