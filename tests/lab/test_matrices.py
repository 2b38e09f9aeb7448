import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cornerturn.errors import UsageError
from cornerturn.lab import matrices
from cornerturn.lab.matrices import WORDS, bits_of, distinct, find_mismatch, poison, require_memory, scramble, words_of

extents = st.integers(1, 70)


sizes = st.sampled_from(sorted(WORDS))


@given(extents, extents, st.sampled_from([4, 8, 16]))
def test_every_element_of_a_test_matrix_differs_from_every_other(rows, cols, size):
    x = distinct(rows, cols, size)
    assert x.shape == (rows, cols)
    assert x.dtype == WORDS[size]
    assert x.flags.c_contiguous
    assert np.unique(x).size == rows * cols
    assert len({bits_of(element) for element in x.ravel()}) == rows * cols


@given(extents, extents, st.sampled_from([1, 2]))
def test_small_elements_differ_from_their_neighbours_and_take_all_values(rows, cols, size):
    x = distinct(rows, cols, size)
    assert x.shape == (rows, cols)
    assert x.dtype == WORDS[size]
    assert (x[1:] != x[:-1]).all() and (x[:, 1:] != x[:, :-1]).all()
    assert np.unique(distinct(1000, 1001, 1)).size == 256


@pytest.mark.parametrize("size", [1, 2])
def test_no_shift_of_small_elements_is_unseen(size):
    """Linear numbers would repeat; these do not, by rows, columns, tiles, or both turned."""
    x = distinct(512, 512, size)
    for down in (0, 1, 2, 16, 128, 256):
        for along in (0, 1, 2, 16, 128, 256):
            same = np.count_nonzero(np.roll(x, (down, along), (0, 1)) == x) / x.size
            assert (same == 1) if (down, along) == (0, 0) else same < 0.01
    assert np.count_nonzero(x == x.T) / x.size < 0.012


@given(extents, extents, st.sampled_from([8, 16]))
def test_words_of_an_element_differ(rows, cols, size):
    words = distinct(rows, cols, size).reshape(-1).view(np.uint32).reshape(rows * cols, -1)
    assert np.unique(words, axis=0).shape[0] == rows * cols
    assert all(np.unique(word).size > word.size - 2 for word in words.T)
    assert (words[:, :-1] != words[:, 1:]).all()


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


@given(extents, extents, sizes)
def test_poison_differs_everywhere_and_is_row_major(rows, cols, size):
    expected = distinct(rows, cols, size).T
    poisoned = poison(expected)
    assert (poisoned != expected).all()
    assert poisoned.flags.c_contiguous


@given(extents, extents, st.sampled_from([4, 8, 16]))
def test_the_transpose_and_nothing_else_passes(rows, cols, size):
    x = distinct(rows, cols, size)
    assert find_mismatch(x.T.copy(), x.T) is None
    untransposed = find_mismatch(x.reshape(cols, rows), x.T)
    assert (untransposed is None) == (rows == 1 or cols == 1)  # there the transpose keeps the order of the elements


@given(extents, extents, sizes, st.data())
def test_one_wrong_bit_is_found_and_named(rows, cols, size, data):
    x = distinct(rows, cols, size)
    y = x.T.copy()
    row, col = data.draw(st.integers(0, cols - 1)), data.draw(st.integers(0, rows - 1))
    byte = (row * rows + col) * size + data.draw(st.integers(0, size - 1))
    y.reshape(-1).view(np.uint8)[byte] ^= 1 << data.draw(st.integers(0, 7))
    found = find_mismatch(y, x.T)
    assert found is not None
    assert (found.wrong, found.unwritten, found.elements) == (1, 0, rows * cols)
    assert (found.row, found.col) == (row, col)
    assert (found.got, found.expected) == (bits_of(y[row, col]), bits_of(x[col, row]))
    assert (found.got ^ found.expected).bit_count() == 1
    assert len(str(found).rpartition("0x")[2]) == 2 * size


def test_kept_poison_counts_as_unwritten():
    x = distinct(6, 7)
    y = poison(x.T)
    y[1:] = x.T[1:]
    found = find_mismatch(y, x.T)
    assert found is not None
    assert (found.wrong, found.unwritten) == (6, 6)
    assert "6 of 42 elements are wrong, 6 of them never written" in str(found)


def test_nans_compare_by_their_bits():
    payloads = np.array([[0x7FC00000, 0x7FC00001]], dtype=np.uint32)
    assert np.isnan(payloads.view(np.float32)).all()
    assert find_mismatch(payloads.T.copy(), payloads.T) is None
    assert find_mismatch(payloads[:, ::-1].T.copy(), payloads.T) is not None


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


@pytest.mark.parametrize(("size", "host", "device"), [(1, 12, 2), (2, 15, 4), (4, 21, 8), (8, 41, 16), (16, 81, 32)])
def test_memory_is_needed_for_elements_of_any_size(monkeypatch, size, host, device):
    """x, y, what of y was written, a byte an element, and who wrote it, 8 bytes for a word or a smaller element."""
    monkeypatch.setattr(matrices, "available_host_bytes", lambda: host * 10**6)
    require_memory(1000, 1000, device * 10**6, size)
    with pytest.raises(UsageError, match="of device memory"):
        require_memory(1000, 1000, device * 10**6 - 1, size)
    monkeypatch.setattr(matrices, "available_host_bytes", lambda: host * 10**6 - 1)
    with pytest.raises(UsageError, match="of main memory"):
        require_memory(1000, 1000, None, size)


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
    ("size", "dtype"),
    [(1, "i1"), (1, "?"), (2, "f2"), (2, "S2"), (8, "f8"), (8, "c8"), (16, "c16"), (16, "V16"), (16, "f8,i8")],
)
def test_so_are_elements_of_other_sizes(size, dtype):
    x = distinct(4, 8, size)
    words = words_of(x.view(dtype))
    assert words.dtype == WORDS[size]
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
        (
            np.zeros((2, 2), np.clongdouble),
            "x must have elements of 1, 2, 4, 8 or 16 bytes, such as float32: got complex",
        ),
        (np.zeros((2, 2), "S3"), r"such as float32: got \|S3"),
        (np.full((2, 2), None), "such as float32: got object"),
        (distinct(2, 3).T, r"x must be C-contiguous: pass numpy.ascontiguousarray\(x\)"),
        (distinct(2, 4)[:, ::2], "x must be C-contiguous"),
    ],
)
def test_what_is_no_matrix_of_words_is_refused(x, message):
    with pytest.raises(UsageError, match=message):
        words_of(x)
