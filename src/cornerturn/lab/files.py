"""The user's own matrix: a ``.npy`` file of 4-byte elements."""

from pathlib import Path
from typing import Literal

import numpy as np

from cornerturn.files import read_npy_header, refuse
from cornerturn.lab.matrices import ELEMENT_BYTES, Matrix


def npy_shape(path: Path) -> tuple[int, int]:
    """Rows and columns of the matrix in a ``.npy`` file, from its header alone.

    Args:
        path: written by ``numpy.save``: 2-D, not empty, any dtype of 4 bytes, C or Fortran order.

    Raises:
        UsageError: the file breaks one of these rules.
    """
    header = read_npy_header(path)
    if header.dtype.itemsize != ELEMENT_BYTES:
        raise refuse(
            path, f"elements must have {ELEMENT_BYTES} bytes: dtype {header.dtype} has {header.dtype.itemsize}"
        )
    if len(header.shape) != 2:
        raise refuse(path, f"the array must be 2-D: its shape is {header.shape}")
    rows, cols = header.shape
    if rows < 1 or cols < 1:
        raise refuse(path, f"rows and cols must be at least 1: the shape is {header.shape}")
    return rows, cols


def read_matrix(path: Path) -> Matrix:
    """The matrix of a ``.npy`` file that `npy_shape` accepts: row-major, elements as ``uint32`` words."""
    header = read_npy_header(path)
    order: Literal["C", "F"] = "F" if header.fortran_order else "C"
    mapped = np.memmap(path, header.dtype, "r", header.offset, header.shape, order)
    return np.array(mapped, order="C", subok=False).view(np.uint32)
