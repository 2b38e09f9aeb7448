import io
import zipfile

import numpy as np
import pytest

from cornerturn.errors import UsageError
from cornerturn.lab.files import npy_shape, read_matrix


def saved(path, array, **options):
    np.save(path, array, **options)
    return path


@pytest.mark.parametrize("dtype", ["f4", "<i4", ">f4", "u4", "U1", "S4", "V4", [("re", "f2"), ("im", "f2")]])
@pytest.mark.parametrize("order", ["C", "F"])
def test_any_matrix_of_4_byte_elements_is_read_row_major(tmp_path, dtype, order):
    bits = np.arange(15, dtype=np.uint32).reshape(3, 5)
    path = saved(tmp_path / "x.npy", np.array(bits.view(dtype), order=order))
    assert npy_shape(path) == (3, 5)
    x = read_matrix(path)
    assert type(x) is np.ndarray
    assert x.flags.c_contiguous
    assert x.dtype == np.uint32
    assert np.array_equal(x, bits)


@pytest.mark.parametrize(
    ("array", "rule"),
    [
        (np.zeros((2, 2)), "elements must have 4 bytes: dtype float64 has 8"),
        (np.zeros((2, 2), np.float16), "dtype float16 has 2"),
        (np.zeros((2, 2), [("a", "i4"), ("b", "i4")]), r"dtype \[\('a', '<i4'\), \('b', '<i4'\)\] has 8"),
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
        npy_shape(saved(tmp_path / "x.npy", array))


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
        npy_shape(path)


def test_what_is_no_file_is_refused(tmp_path):
    with pytest.raises(UsageError, match="no such file"):
        npy_shape(tmp_path / "missing.npy")
    with pytest.raises(UsageError, match="not a regular file"):
        npy_shape(tmp_path)
