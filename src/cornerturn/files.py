"""Files: what a ``.npy`` holds, from its header alone, and results that appear whole or not at all."""

import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy

from cornerturn.errors import UsageError

# Version 3.0 of the format exists for field names outside Latin-1 only.
_HEADER_READERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


@dataclass(frozen=True, slots=True)
class NpyHeader:
    """What a ``.npy`` file says about its array.

    Attributes:
        shape: extent of each axis.
        fortran_order: whether the first axis is the one that lies contiguous.
        dtype: of plain elements, any byte order.
        offset: bytes before the first element.
    """

    shape: tuple[int, ...]
    fortran_order: bool
    dtype: np.dtype[Any]
    offset: int

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return math.prod(self.shape) * self.dtype.itemsize

    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes to the next element along each axis."""
        ndim, fortran = len(self.shape), self.fortran_order
        inner = [self.shape[:axis] if fortran else self.shape[axis + 1 :] for axis in range(ndim)]
        return tuple(math.prod(extents) * self.dtype.itemsize for extents in inner)


def refuse(path: Path, rule: str) -> UsageError:
    """Return the error that says which rule a file breaks."""
    return UsageError(f"{path}: {rule}")


def read_npy_header(path: Path) -> NpyHeader:
    """Return what the header of a ``.npy`` file says.

    The format: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html

    Args:
        path: written by ``numpy.save``, any dtype without object references, whole.

    Raises:
        UsageError: the file breaks one of these rules.
    """
    if not path.is_file():
        raise refuse(path, "not a regular file" if path.exists() else "no such file")
    try:
        with path.open("rb") as file:
            if file.read(len(npy.MAGIC_PREFIX)) != npy.MAGIC_PREFIX:
                raise refuse(path, "not a .npy file: save one array with numpy.save")
            file.seek(0)
            version = npy.read_magic(file)
            if version not in _HEADER_READERS:
                raise refuse(path, f".npy format {version[0]}.{version[1]} is not supported: save with 1.0 or 2.0")
            header = NpyHeader(*_HEADER_READERS[version](file), file.tell())
            present = path.stat().st_size - header.offset
    except UsageError:
        raise
    except OSError as error:
        raise refuse(path, str(error.strerror)) from error
    except Exception as error:  # NumPy's header parser lets through whatever its tokenizer raises
        raise refuse(path, f"damaged .npy header: {error}") from error
    if header.dtype.hasobject:
        raise refuse(path, f"dtype {header.dtype} holds pickled Python objects: save plain elements")
    if present < header.nbytes:
        shape = "x".join(map(str, header.shape))
        raise refuse(path, f"truncated: {shape} elements need {header.nbytes} bytes and {present} are there")
    return header


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """Open a temporary file that takes the place of ``path`` when the block ends well, and else vanishes.

    Opening it already proves that the folder can be written to, so enter the block before long work.

    Raises:
        UsageError: ``path`` cannot be written.
    """
    target = path.resolve()
    if target.exists() and not target.is_file():
        raise refuse(path, "not a regular file: choose another path to write to")
    if target.exists() and not os.access(target, os.W_OK):
        raise refuse(path, "the file is write-protected: choose another path to write to")
    temporary = target.with_name(f".{os.getpid()}-{target.name}")
    try:
        file = temporary.open("xb")
    except OSError as error:
        raise refuse(path, f"cannot be written: {error.strerror}") from error
    try:
        with file:
            yield file
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
