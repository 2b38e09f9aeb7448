"""Files of the laboratory: the user's own matrix in, results out without ever leaving half a file."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import numpy as np
from numpy.lib import format as npy

from cornerturn.errors import UsageError
from cornerturn.lab.matrices import ELEMENT_BYTES, Matrix

# Version 3.0 of the format exists for field names outside Latin-1 only.
_HEADER_READERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


def _refuse(path: Path, rule: str) -> UsageError:
    return UsageError(f"{path}: {rule}")


def npy_shape(path: Path) -> tuple[int, int]:
    """Rows and columns of the matrix in a ``.npy`` file, from its header alone.

    The format: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html

    Args:
        path: written by ``numpy.save``: 2-D, not empty, any dtype of 4 bytes, C or Fortran order.

    Raises:
        UsageError: the file breaks one of these rules.
    """
    if not path.is_file():
        raise _refuse(path, "not a regular file" if path.exists() else "no such file")
    try:
        with path.open("rb") as file:
            if file.read(len(npy.MAGIC_PREFIX)) != npy.MAGIC_PREFIX:
                raise _refuse(path, "not a .npy file: save one array with numpy.save")
            file.seek(0)
            version = npy.read_magic(file)
            if version not in _HEADER_READERS:
                raise _refuse(path, f".npy format {version[0]}.{version[1]} is not supported: save with 1.0 or 2.0")
            shape, _, dtype = _HEADER_READERS[version](file)
            present = path.stat().st_size - file.tell()
    except UsageError:
        raise
    except OSError as error:
        raise _refuse(path, str(error.strerror)) from error
    except Exception as error:  # NumPy's header parser lets through whatever its tokenizer raises
        raise _refuse(path, f"damaged .npy header: {error}") from error
    if dtype.hasobject:
        raise _refuse(path, f"dtype {dtype} holds pickled Python objects: save plain elements of 4 bytes")
    if dtype.itemsize != ELEMENT_BYTES:
        raise _refuse(path, f"elements must have {ELEMENT_BYTES} bytes: dtype {dtype} has {dtype.itemsize}")
    if len(shape) != 2:
        raise _refuse(path, f"the array must be 2-D: its shape is {shape}")
    rows, cols = shape
    if rows < 1 or cols < 1:
        raise _refuse(path, f"rows and cols must be at least 1: the shape is {shape}")
    if present < rows * cols * ELEMENT_BYTES:
        needed = rows * cols * ELEMENT_BYTES
        raise _refuse(path, f"truncated: {rows}x{cols} elements need {needed} bytes and {present} are there")
    return rows, cols


def read_matrix(path: Path) -> Matrix:
    """The matrix of a ``.npy`` file that `npy_shape` accepts: row-major, elements as ``uint32`` words."""
    mapped = np.load(path, mmap_mode="r", allow_pickle=False)
    return np.array(mapped, order="C", subok=False).view(np.uint32)


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """Open a temporary file that takes the place of ``path`` when the block ends well, and else vanishes.

    Opening it already proves that the folder can be written to, so enter the block before long work.

    Raises:
        UsageError: ``path`` cannot be written.
    """
    target = path.resolve()
    if target.exists() and not target.is_file():
        raise _refuse(path, "not a regular file: choose another path to write to")
    if target.exists() and not os.access(target, os.W_OK):
        raise _refuse(path, "the file is write-protected: choose another path to write to")
    temporary = target.with_name(f".{os.getpid()}-{target.name}")
    try:
        file = temporary.open("xb")
    except OSError as error:
        raise _refuse(path, f"cannot be written: {error.strerror}") from error
    try:
        with file:
            yield file
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
