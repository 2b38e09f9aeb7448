import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cornerturn.errors import UsageError
from cornerturn.lab import matrices
from cornerturn.lab.matrices import compare, distinct, poison, require_memory, scramble, words_of

extents = st.integers(1, 70)


@given(extents, extents)
def test_every_element_of_a_test_matrix_differs_from_every_other(rows, cols):
    x = distinct(rows, cols)
    assert x.shape == (rows, cols)
    assert x.dtype == np.uint32
    assert x.flags.c_contiguous
    assert np.unique(x).size == rows * cols


def test_a_matrix_of_many_chunks_is_distinct_and_holds_float_nans():
    x = distinct(1000, 1001)
    assert np.unique(x).size == x.size
    assert np.isnan(x.view(np.float32)).any()


@given(st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1))
def test_scramble_is_injective_below_32_bits(one, other):
    first, second = scramble(np.array([one, other], dtype=np.uint64))
    assert (first == second) == (one == other)


@given(st.integers(0, 2**32 - 1), st.integers(1, 2**16))
def test_an_index_that_overflowed_is_seen(index, overflows):
    right, wrong = scramble(np.array([index, index + (overflows << 32)], dtype=np.uint64))
    assert right != wrong


@given(extents, extents)
def test_poison_differs_everywhere_and_is_row_major(rows, cols):
    expected = distinct(rows, cols).T
    poisoned = poison(expected)
    assert (poisoned != expected).all()
    assert poisoned.flags.c_contiguous


@given(extents, extents)
def test_the_transpose_and_nothing_else_passes(rows, cols):
    x = distinct(rows, cols)
    assert compare(x.T.copy(), x.T) is None
    untransposed = compare(x.reshape(cols, rows), x.T)
    assert (untransposed is None) == (rows == 1 or cols == 1)  # there the transpose keeps the order of the elements


@given(extents, extents, st.data())
def test_one_wrong_element_is_found_and_named(rows, cols, data):
    x = distinct(rows, cols)
    y = x.T.copy()
    row, col = data.draw(st.integers(0, cols - 1)), data.draw(st.integers(0, rows - 1))
    y[row, col] ^= 1
    found = compare(y, x.T)
    assert found is not None
    assert (found.wrong, found.unwritten, found.elements) == (1, 0, rows * cols)
    assert (found.row, found.col) == (row, col)
    assert (found.got, found.expected) == (y[row, col], x[col, row])


def test_kept_poison_counts_as_unwritten():
    x = distinct(6, 7)
    y = poison(x.T)
    y[1:] = x.T[1:]
    found = compare(y, x.T)
    assert found is not None
    assert (found.wrong, found.unwritten) == (6, 6)
    assert "6 of 42 elements are wrong, 6 of them never written" in str(found)


def test_nans_compare_by_their_bits():
    payloads = np.array([[0x7FC00000, 0x7FC00001]], dtype=np.uint32)
    assert np.isnan(payloads.view(np.float32)).all()
    assert compare(payloads.T.copy(), payloads.T) is None
    assert compare(payloads[:, ::-1].T.copy(), payloads.T) is not None


@pytest.mark.parametrize(
    ("host", "device", "message"),
    [
        (10**9, None, None),
        (10**6, None, r"size 1000x2000 needs 0\.0 GB of main memory and 0\.0 GB are free"),
        (10**9, 15 * 10**6, r"of device memory"),
        (10**9, 16 * 10**6, None),
    ],
)
def test_a_size_too_large_for_memory_is_refused(monkeypatch, host, device, message):
    monkeypatch.setattr(matrices, "available_host_bytes", lambda: host)
    if message is None:
        require_memory(1000, 2000, device)
    else:
        with pytest.raises(UsageError, match=message):
            require_memory(1000, 2000, device)


def test_free_memory_is_known_and_plausible():
    assert 10**7 < matrices.available_host_bytes() < 2**60


@pytest.mark.parametrize("dtype", ["f4", "i4", "u4", ">u4", ">f4", "S4", "U1", "V4", "u2,i2"])
def test_any_four_bytes_are_a_word(dtype):
    x = distinct(4, 8)
    words = words_of(x.view(dtype))
    assert words.dtype == np.uint32
    assert np.array_equal(words, x)
    assert np.shares_memory(words, x)


@pytest.mark.parametrize(
    ("x", "message"),
    [
        ([[1, 2]], "x must be a plain NumPy array: got list"),
        (None, "x must be a plain NumPy array: got NoneType"),
        (np.uint32(7), "x must be a plain NumPy array: got uint32"),
        (np.ma.array(distinct(2, 2)), "x must be a plain NumPy array: got MaskedArray"),
        (np.zeros((), np.uint32), r"x must have two axes, rows and cols, and an element: got shape \(\)"),
        (np.zeros(4, np.uint32), r"got shape \(4,\)"),
        (np.zeros((2, 2, 2), np.uint32), r"got shape \(2, 2, 2\)"),
        (np.zeros((0, 3), np.uint32), r"got shape \(0, 3\)"),
        (np.zeros((2, 2), np.float64), "x must have elements of 4 bytes, such as float32: got float64"),
        (np.zeros((2, 2), np.uint8), "x must have elements of 4 bytes, such as float32: got uint8"),
        (np.full((2, 2), None), "x must have elements of 4 bytes, such as float32: got object"),
        (distinct(2, 3).T, r"x must be C-contiguous: pass numpy.ascontiguousarray\(x\)"),
        (distinct(2, 4)[:, ::2], "x must be C-contiguous"),
    ],
)
def test_what_is_no_matrix_of_words_is_refused(x, message):
    with pytest.raises(UsageError, match=message):
        words_of(x)
