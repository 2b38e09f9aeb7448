"""The user's own matrix: a ``.npy`` file of elements of 1, 2, 4, 8 or 16 bytes."""

from pathlib import Path
from typing import Literal

import numpy as np

from cornerturn.files import read_npy_header, refuse
from cornerturn.lab.matrices import WORDS, Matrix, words_of


def npy_size(path: Path) -> tuple[int, int, int]:
    """Rows, columns and bytes of an element of the matrix in a ``.npy`` file, from its header alone.

    Args:
        path: written by ``numpy.save``: 2-D, not empty, any dtype of 1, 2, 4, 8 or 16 bytes, C or Fortran order.

    Raises:
        UsageError: the file breaks one of these rules.
    """
    header = read_npy_header(path)
    if header.dtype.itemsize not in WORDS:
        raise refuse(
            path, f"elements must have 1, 2, 4, 8 or 16 bytes: dtype {header.dtype} has {header.dtype.itemsize}"
        )
    if len(header.shape) != 2:
        raise refuse(path, f"the array must be 2-D: its shape is {header.shape}")
    rows, cols = header.shape
    if rows < 1 or cols < 1:
        raise refuse(path, f"rows and cols must be at least 1: the shape is {header.shape}")
    return rows, cols, header.dtype.itemsize


def read_matrix(path: Path) -> Matrix:
    """The matrix of a ``.npy`` file that `npy_size` accepts: row-major, elements as words."""
    header = read_npy_header(path)
    order: Literal["C", "F"] = "F" if header.fortran_order else "C"
    mapped = np.memmap(path, header.dtype, "r", header.offset, header.shape, order)
    return words_of(np.array(mapped, order="C", subok=False))
