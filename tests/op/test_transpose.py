import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from cornerturn import explain_plan, matrix_transpose, permute_dims, transpose
from cornerturn.errors import UsageError
from cornerturn.op.cpu import engine as cpu_engine
from cornerturn.op.engines import SMALL_BYTES

Array = NDArray[Any]


def distinct(shape: tuple[int, ...], dtype: Any) -> Array:
    """An array whose bytes follow no stride."""
    dtype = np.dtype(dtype)
    count = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    words = np.arange(count // 8 + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return (words ^ (words >> np.uint64(29))).view(np.uint8)[:count].view(dtype).reshape(shape)


def assert_same_bits(y: Array, expected: Array) -> None:
    assert (y.shape, y.dtype) == (expected.shape, expected.dtype)
    for start in range(0, len(y) if y.ndim else 1, 256):  # in blocks: one large strided copy would take seconds
        block = slice(start, start + 256) if y.ndim else ...
        assert y[block].tobytes() == expected[block].tobytes()


DTYPES = [
    "?",
    "i1",
    "f2",
    ">f2",
    "f4",
    ">i4",
    "f8",
    "M8[s]",
    ">c8",
    "c16",
    "S3",
    "U3",
    "V24",
    [("mass", "<f4"), ("kind", "u1")],
    [("position", "f4", 4)],
]
EXTENTS = st.sampled_from([0, 1, 2, 3, 5, 17, 64, 130])


@st.composite
def arrays(draw: st.DrawFn) -> Array:
    """Any rank to 6, any strides: sliced, reversed, broadcast, Fortran order, misaligned, read-only."""
    shape: list[int] = []
    for _ in range(draw(st.integers(0, 6))):
        extent = draw(EXTENTS)
        shape.append(extent if int(np.prod(shape)) * extent <= 50_000 else 1)
    dtype = np.dtype(draw(st.sampled_from(DTYPES)))
    steps = [draw(st.sampled_from([1, 1, 1, 2, -1, -3])) for _ in shape]
    whole = tuple(extent * abs(step) for extent, step in zip(shape, steps, strict=True))
    base = distinct(whole, dtype)
    if draw(st.booleans()):
        base = np.asfortranarray(base)
    if draw(st.booleans()):
        buffer = np.empty(base.nbytes + 1, np.uint8)
        misaligned = np.ndarray(base.shape, dtype, buffer.data, offset=1)
        misaligned[...] = base
        base = misaligned
    x = base[(..., *(slice(None, None, step) for step in steps))]
    if x.ndim and draw(st.booleans()):
        x = np.broadcast_to(x[:1], x.shape) if len(x) else x
    return x


@settings(max_examples=300)
@given(arrays(), st.data())
def test_as_numpy(x: Array, data: st.DataObject) -> None:
    axes = data.draw(st.none() | st.permutations([a - data.draw(st.sampled_from([0, x.ndim])) for a in range(x.ndim)]))
    y = transpose(x, axes)
    assert_same_bits(y, x.transpose(axes))
    assert y.flags.c_contiguous and y.flags.writeable
    assert type(y) is np.ndarray
    assert not np.may_share_memory(x, y)


@settings(max_examples=150)
@given(arrays(), st.data())
def test_into_out_of_any_strides(x: Array, data: st.DataObject) -> None:
    axes = data.draw(st.permutations(range(x.ndim)))
    shape = tuple(x.shape[axis] for axis in axes)
    steps = [data.draw(st.sampled_from([1, 1, 2, -1])) for _ in shape]
    room = np.zeros(tuple(extent * abs(step) for extent, step in zip(shape, steps, strict=True)), x.dtype)
    place = (..., *(slice(None, None, step) for step in steps))
    out = room[place]
    expected = room.copy()
    expected[place] = x.transpose(axes)
    assert transpose(x, axes, out=out) is out
    assert room.tobytes() == expected.tobytes()


# Cases that other libraries got wrong, refused or ran slowly. float8 and bfloat16 stand in as integers of their size.
REPORTED = {
    "float8 matrix, nine times slower in eager mode": ((32768, 8192), (1, 0), "u1"),
    "half precision, where a grid-stride loop cost a third": ((16384, 8192), (1, 0), "f2"),
    "65536 blocks along y": ((262144, 64), (1, 0), "f4"),
    "more than 1048560 rows": ((1048577, 4), (1, 0), "f4"),
    "a lower triangle came back": ((5, 5), (1, 0), "f4"),
    "wrong next to its own input": ((4, 4), (1, 0), "f8"),
    "tiny inner axes": ((99999, 2, 2), (0, 2, 1), "f4"),
    "inner axis of 24": ((3072, 1024, 24), (0, 2, 1), "f2"),
    "attention heads, inner axis kept": ((8, 2048, 32, 128), (0, 2, 1, 3), "u2"),
    "fifteen axes of three reversed": ((3,) * 15, tuple(range(15))[::-1], "f4"),
    "empty": ((0, 7), (1, 0), "f4"),
    "vector of prime length": ((1, 1000003), (1, 0), "u1"),
}


@pytest.mark.parametrize("name", REPORTED)
def test_reported(name: str) -> None:
    shape, axes, dtype = REPORTED[name]
    x = distinct(shape, dtype)
    assert_same_bits(transpose(x, axes), x.transpose(axes))


def test_reported_strides_that_jump_over_the_batch() -> None:
    x = distinct((1, 128, 1024), "f4").transpose(0, 2, 1)
    assert x.strides[1:] == (4, 4096)
    assert_same_bits(transpose(x, (0, 2, 1)), x.transpose(0, 2, 1))


def test_reported_destination_strides_ignored() -> None:
    x = distinct((1, 1000), "f4")
    room = np.zeros((1000, 2), "f4")
    assert transpose(x, out=room[:, 1:]).base is room
    assert_same_bits(room[:, 1:], x.T)
    assert not room[:, 0].any()


def test_reported_input_and_output_both_returned() -> None:
    for size in range(4, 33, 4):
        x = distinct((size, size), "f8")
        before = x.copy()
        y = transpose(x)
        assert_same_bits(x, before)
        assert_same_bits(y, x.T)


@pytest.mark.parametrize("shape", [(3,), (2, 3), (400, 300)])
def test_result_is_a_copy_even_if_nothing_moves(shape: tuple[int, ...]) -> None:
    x = distinct(shape, "f4")
    y = transpose(x, range(x.ndim))
    assert_same_bits(y, x)
    assert not np.may_share_memory(x, y)


@pytest.mark.parametrize("size", [int((SMALL_BYTES / 4) ** 0.5), int((SMALL_BYTES / 4) ** 0.5) + 1])
def test_either_side_of_the_small_path(size: int) -> None:
    x = distinct((size, size), "f4")
    assert_same_bits(transpose(x), x.T)


def test_thirty_two_axes() -> None:
    x = distinct((2, *(1,) * 29, 3, 2), "u2")
    assert_same_bits(transpose(x), x.T)


def test_matrix_transpose_and_permute_dims_follow_the_array_api() -> None:
    x = distinct((5, 70, 90), "f4")
    assert_same_bits(matrix_transpose(x), np.matrix_transpose(x))
    assert_same_bits(permute_dims(x, (2, 0, 1)), np.permute_dims(x, (2, 0, 1)))
    out = np.empty((5, 90, 70), "f4")
    assert matrix_transpose(x, out=out) is out
    assert_same_bits(out, np.matrix_transpose(x))


@pytest.mark.filterwarnings("ignore:the matrix subclass")
def test_subclasses_come_back_as_plain_arrays() -> None:
    x = np.matrix([[1, 2], [3, 4]])
    assert type(transpose(x)) is np.ndarray
    assert transpose(x).tolist() == [[1, 3], [2, 4]]


def test_a_copy_onto_itself_moves_nothing() -> None:
    x = distinct((400, 1, 300), "f4")
    before = x.copy()
    assert transpose(x, (1, 0, 2), out=x.reshape(1, 400, 300)).shape == (1, 400, 300)
    assert transpose(x.T, out=x) is x
    assert_same_bits(x, before)


def test_interleaved_views_of_one_buffer_do_not_overlap() -> None:
    buffer = distinct((300, 300), "f4").copy()
    x, out = buffer[:, ::2], buffer.reshape(-1)[1::2].reshape(300, 150).reshape(150, 300)
    expected = x.T.copy()
    transpose(x, out=out)
    assert_same_bits(out, expected)


@pytest.mark.parametrize("dtype", ["S0", "U0", "V0", []])
@pytest.mark.parametrize("shape", [(3, 4), (300, 200)])
def test_elements_of_no_bytes_keep_their_dtype(dtype: Any, shape: tuple[int, int]) -> None:
    x, room = (np.zeros(shape, [("a", dtype)])["a"] for shape in (shape, (2 * shape[1], shape[0])))
    assert x.itemsize == 0
    y = transpose(x)
    assert (y.dtype, y.shape) == (x.dtype, shape[::-1])
    for out in (y, room[::2], x.T):
        assert transpose(x, out=out) is out


@pytest.mark.parametrize("shape", [(30, 40), (300, 400)])
def test_where_numba_does_not_compile_numpy_copies(monkeypatch: pytest.MonkeyPatch, shape: tuple[int, int]) -> None:
    numba = pytest.importorskip("numba")
    monkeypatch.setattr(numba.config, "DISABLE_JIT", 1)
    monkeypatch.setattr(cpu_engine, "run", None)
    x = distinct(shape, "V12")[::-1]
    assert_same_bits(transpose(x), x.T)
    out = np.empty((shape[1], 2 * shape[0]), "V12")[:, ::2]
    assert_same_bits(transpose(x, out=out), x.T)
    assert "numpy_copy" in str(explain_plan(x))
    assert "NUMBA_DISABLE_JIT is set" in str(explain_plan(x))


X = np.arange(12.0).reshape(3, 4)
EMPTY = np.zeros((3, 4), [])
BROADCAST = np.lib.stride_tricks.as_strided(np.empty(3), (4, 3), (0, 8))
SLIDING = np.lib.stride_tricks.as_strided(np.empty(6), (4, 3), (8, 8))
READ_ONLY = np.empty((4, 3))
READ_ONLY.flags.writeable = False


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: transpose(X, (0, 0)), r"axes must name each of the 2 axes of x once: got \(0, 0\)"),
        (lambda: transpose(X, (0, 2)), r"got \(0, 2\)"),
        (lambda: transpose(X, (0,)), r"got \(0,\)"),
        (lambda: transpose(X, 1), "axes must be a sequence of integers: got 1"),
        (lambda: transpose(X, (0.5, 1)), "axes must be a sequence of integers"),
        (lambda: transpose(X, {1, 0}), r"axes must be a sequence of integers: got \{0, 1\}"),
        (lambda: transpose(X, frozenset((1, 0))), "axes must be a sequence of integers"),
        (lambda: transpose(X, {1: "a", 0: "b"}), "axes must be a sequence of integers"),
        (lambda: transpose(X, b"\1\0"), "axes must be a sequence of integers"),
        (lambda: transpose(X, (True, False)), r"axes must be a sequence of integers: got \(True, False\)"),
        (lambda: transpose(X, np.array([True, False])), "axes must be a sequence of integers"),
        (lambda: matrix_transpose([[1, 2]]), "takes an array: got list"),
        (lambda: transpose(X, out=np.ma.zeros((4, 3))), "out must not be a masked array"),
        (lambda: explain_plan(EMPTY), "is empty"),
        (lambda: transpose([[1, 2]]), "list"),
        (lambda: transpose(np.array([[None]])), "dtype object holds references"),
        (lambda: transpose(np.zeros(2, [("a", "O"), ("b", "f4")])), "holds references"),
        (lambda: transpose(np.array(["a"], np.dtypes.StringDType())), "dtype StringDType.* holds references"),
        (lambda: transpose(np.ma.zeros((2, 2))), "lose its mask"),
        (lambda: transpose(np.zeros((1,) * 33)), "x has 33 axes, and at most 32"),
        (lambda: transpose(X, out=np.empty((3, 4))), r"result's shape \(4, 3\): got \(3, 4\)"),
        (lambda: transpose(X, out=np.empty((4, 3), "f4")), "x's dtype float64: got float32"),
        (lambda: transpose(X, out=np.empty((4, 3), ">f8")), "x's dtype float64: got >f8"),
        (lambda: transpose(X, out=[[0.0]]), "got list"),
        (lambda: transpose(X, out=READ_ONLY), "out is read-only"),
        (lambda: transpose(X, out=BROADCAST), "several elements share one place"),
        (lambda: transpose(X, out=SLIDING), "several elements share one place"),
        (lambda: transpose(X[:3, :3], out=X[:3, :3]), "out shares memory with x"),
        (lambda: transpose(X[:3, :3], out=X[:3, 1:]), "out shares memory with x"),
        (lambda: matrix_transpose(np.zeros(3)), "x has 1; give it at least two"),
        (lambda: explain_plan(np.zeros((0, 3))), "is empty"),
        (lambda: explain_plan("text"), "takes an array: got str"),
        (lambda: explain_plan(X, (0, 0)), "axes must name each of the 2 axes"),
        (lambda: explain_plan(np.ma.zeros((2, 2))), "lose its mask"),
        (lambda: explain_plan(np.zeros((1,) * 33)), "x has 33 axes, and at most 32"),
    ],
)
def test_what_is_refused(call: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        call()


def test_a_plan_allocates_nothing() -> None:
    huge = np.broadcast_to(np.float32(1), (10**6, 10**6))
    assert explain_plan(huge).problem.nbytes == 4 * 10**12


def test_import_loads_neither_numba_nor_any_framework() -> None:
    program = (
        "import sys, cornerturn; print({'numba', 'torch', 'jax', 'cupy', 'cuda', 'rich', 'click'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
