import io
import zipfile

import numpy as np
import pytest

from cornerturn.errors import UsageError
from cornerturn.lab.matrices import distinct
from cornerturn.lab.user.npy import npy_size, read_matrix


def saved(path, array, **options):
    np.save(path, array, **options)
    return path


FOURS = ["f4", "<i4", ">f4", "u4", "U1", "S4", "V4", [("re", "f2"), ("im", "f2")]]


@pytest.mark.parametrize(
    ("size", "dtype"),
    [*((4, dtype) for dtype in FOURS), (1, "i1"), (1, "?"), (2, "f2"), (2, ">i2"), (8, "f8"), (8, "V8"), (16, "c16")],
)
@pytest.mark.parametrize("order", ["C", "F"])
def test_a_matrix_of_any_elements_of_these_sizes_is_read_row_major(tmp_path, size, dtype, order):
    bits = distinct(3, 5, size)
    path = saved(tmp_path / "x.npy", np.array(bits.view(dtype), order=order))
    assert npy_size(path) == (3, 5, size)
    x = read_matrix(path)
    assert type(x) is np.ndarray
    assert x.flags.c_contiguous
    assert x.dtype == bits.dtype
    assert np.array_equal(x, bits)


@pytest.mark.parametrize(
    ("array", "rule"),
    [
        (np.zeros((2, 2), "S3"), r"elements must have 1, 2, 4, 8 or 16 bytes: dtype \|S3 has 3"),
        (np.zeros((2, 2), "c32"), "dtype complex256 has 32"),
        (np.zeros((2, 2), [("a", "i4"), ("b", "i8")]), r"dtype \[\('a', '<i4'\), \('b', '<i8'\)\] has 12"),
        (np.zeros((2, 2), object), "dtype object holds pickled Python objects"),
        (np.zeros((2, 2), [("a", "O")]), r"dtype \[\('a', 'O'\)\] holds pickled"),
        (np.zeros(4, np.float32), r"the array must be 2-D: its shape is \(4,\)"),
        (np.zeros((2, 2, 2), np.float32), "must be 2-D"),
        (np.float32(3), r"must be 2-D: its shape is \(\)"),
        (np.zeros((0, 3), np.float32), r"rows and cols must be at least 1: the shape is \(0, 3\)"),
        (np.zeros((3, 0), np.float32), "must be at least 1"),
    ],
)
def test_other_arrays_are_refused_with_the_rule(tmp_path, array, rule):
    with pytest.raises(UsageError, match=rule):
        npy_size(saved(tmp_path / "x.npy", array))


def npy_bytes(array):
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def npz_bytes():
    buffer = io.BytesIO()
    np.savez(buffer, x=np.zeros((2, 2), np.float32))
    assert zipfile.is_zipfile(buffer)
    return buffer.getvalue()


GOOD = npy_bytes(np.zeros((9, 9), np.float32))


@pytest.mark.parametrize(
    ("content", "rule"),
    [
        (b"", "not a .npy file"),
        (b"hello", "not a .npy file"),
        (npz_bytes(), "not a .npy file: save one array with numpy.save"),
        (GOOD[:7], "damaged .npy header"),
        (GOOD[:50], "damaged .npy header"),
        (GOOD[:6] + b"\x09\x00" + GOOD[8:], "format 9.0 is not supported"),
        (GOOD.replace(b"'<f4'", b"'<z4'"), "damaged .npy header"),
        (GOOD.replace(b"(9, 9), }", b"((((((((("), "damaged .npy header"),
        (GOOD[:-1], "truncated: 9x9 elements need 324 bytes and 323 are there"),
    ],
)
def test_damaged_files_are_refused(tmp_path, content, rule):
    path = tmp_path / "x.npy"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=rule):
        npy_size(path)


def test_what_is_no_file_is_refused(tmp_path):
    with pytest.raises(UsageError, match="no such file"):
        npy_size(tmp_path / "missing.npy")
    with pytest.raises(UsageError, match="not a regular file"):
        npy_size(tmp_path)
