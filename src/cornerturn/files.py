"""Files: what a ``.npy`` holds, from its header alone, and results that appear whole or not at all."""

import atexit
import errno
import math
import os
import secrets
import shutil
import stat
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy

from cornerturn.errors import UsageError
from cornerturn.wording import counted

_HEADER_LENGTH_BYTES = {(1, 0): 2, (2, 0): 4, (3, 0): 4}  # by version of the format
_HEADER_CHARACTERS = 10_000  # at most, as for numpy.load: parsing text of any length is not safe
_ADDRESSABLE = 2**63 - 1  # bytes of an array, extents of zero omitted, as NumPy counts
TEXT_BYTES = 8 << 20
_TEMPORARY = ".cornerturn.tmp"
_DISK_IS_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


@dataclass(frozen=True, slots=True)
class NpyHeader:
    """What a ``.npy`` file says about its array.

    Attributes:
        shape: extent of each axis.
        fortran_order: whether the first axis is the contiguous one.
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
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise refuse(path, "not a regular file")
        with path.open("rb") as file, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # NumPy reads a header of Python 2 and says so: nothing to act on
            if file.read(len(npy.MAGIC_PREFIX)) != npy.MAGIC_PREFIX:
                raise refuse(path, "not a .npy file: save one array with numpy.save")
            file.seek(0)
            version = npy.read_magic(file)
            if version not in _HEADER_LENGTH_BYTES:
                raise refuse(path, f".npy format {version[0]}.{version[1]} is not supported: save with 1.0 to 3.0")
            header = _parse_header(path, file, version)
            present = path.stat().st_size - header.offset
    except UsageError:
        raise
    except FileNotFoundError as error:
        raise refuse(path, "no such file") from error
    except OSError as error:
        raise refuse(path, str(error.strerror)) from error
    except Exception as error:  # NumPy's header parser lets through all that its tokenizer raises
        raise refuse(path, f"damaged .npy header: {error}") from error
    if any(type(extent) is not int or extent < 0 for extent in header.shape):  # NumPy's parser takes True for 1
        raise refuse(path, f"damaged .npy header: its shape is {header.shape}")
    if header.dtype.hasobject:
        kept = "pickled Python objects" if header.dtype.kind == "O" or header.dtype.names else "text of any length"
        raise refuse(path, f"dtype {header.dtype} holds {kept}: save plain elements")
    if header.dtype.subdtype:
        raise refuse(path, f"dtype {header.dtype} makes arrays of elements: save them as further axes")
    if math.prod(filter(None, header.shape)) * header.dtype.itemsize > _ADDRESSABLE:
        raise refuse(path, f"damaged .npy header: no array can have the shape {header.shape}")
    if present < header.nbytes:
        shape = "x".join(map(str, header.shape))
        raise refuse(path, f"truncated: {shape} elements need {counted(header.nbytes, 'byte')} and {present} are there")
    return header


def _parse_header(path: Path, file: IO[bytes], version: tuple[int, int]) -> NpyHeader:
    """Read on after the version; leave the file at the first element."""
    size = _HEADER_LENGTH_BYTES[version]
    field = file.read(size)
    length = int.from_bytes(field, "little")
    if length > _HEADER_CHARACTERS:
        rule = f"its header of {length} characters is too long: at most {_HEADER_CHARACTERS} are read"
        raise refuse(path, f"{rule}; give the fields shorter names")
    text = file.read(length)
    if version == (3, 0):  # as 2.0 but in UTF-8, which escapes say as well
        text = text.decode().encode("ascii", "backslashreplace")
        field = len(text).to_bytes(size, "little")
    read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    return NpyHeader(*read(BytesIO(field + text), max_header_size=len(text)), file.tell())


def write_utf8_header(file: IO[bytes], facts: Mapping[str, object]) -> None:
    """Write a header of format 3.0, which exists for names of fields outside Latin-1.

    Args:
        file: at its beginning.
        facts: ``descr``, ``fortran_order`` and ``shape``.
    """
    magic = npy.magic(3, 0)
    text = repr(dict(facts)).encode()
    length = len(text) + 1 + -(len(magic) + 4 + len(text) + 1) % npy.ARRAY_ALIGN
    file.write(magic + length.to_bytes(4, "little") + text.ljust(length - 1) + b"\n")


def read_text(path: Path) -> str:
    """The text of a file, of at most 8 MiB.

    Raises:
        UsageError: it is not there, not a regular file, too large, or not UTF-8.
    """
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            raise refuse(path, "not a regular file")
        if found.st_size > TEXT_BYTES:
            raise refuse(path, f"{found.st_size} bytes are too many: at most {TEXT_BYTES} are read")
        return path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise refuse(path, "no such file") from error
    except OSError as error:
        raise refuse(path, str(error.strerror)) from error
    except UnicodeDecodeError as error:
        raise refuse(path, "not a text file: UTF-8 is expected") from error


def check_outputs(outputs: Mapping[str, Path | None], inputs: Mapping[str, Path | None] | None = None) -> None:
    """Prove before long work that results can be written, and that no file would take the place of another.

    Args:
        outputs: by option, the path that it was given, or None.
        inputs: the same of the files that are read.

    Raises:
        UsageError: one of them cannot be written, or is an input or another output at once.
    """
    used = {_real(path): option for option, path in (inputs or {}).items() if path}
    for option, path in outputs.items():
        if path is None:
            continue
        target = _real(path)
        if target in used:
            raise UsageError(f"{option} {path}: that is the file of {used[target]}: choose another path to write to")
        used[target] = option
        if _present(path) is None or _is_writable(target.parent):
            try:
                with tempfile.TemporaryFile(dir=target.parent):
                    pass
            except OSError as error:
                raise _unwritable(path, error) from error


@contextmanager
def replacing(path: Path, *, new: bool = False) -> Iterator[IO[bytes]]:
    """Open a temporary file that takes the place of ``path`` when the block ends well, and else vanishes.

    A link is written through, and a file that is replaced keeps its permissions and, where that is allowed, its owner.
    Where its folder cannot be written, it is overwritten when the block ends well, which is not a single step.

    Args:
        path: where to write.
        new: whether a file that appears at ``path`` meanwhile is kept.

    Raises:
        UsageError: ``path`` cannot be written, or its disk is full, or a file that is kept has appeared there.
    """
    present = _present(path)
    target = _real(path)
    in_place = present is not None and not _is_writable(target.parent)
    try:
        with _overwriting(target) if in_place else appearing(target, new=new) as file:
            if present and not in_place:
                with suppress(OSError):  # only root gives files away
                    os.chown(file.fileno(), present.st_uid, present.st_gid)
                Path(file.name).chmod(stat.S_IMODE(present.st_mode))
            yield file
            file.flush()
            os.fsync(file.fileno())  # or after a loss of power the name might stand for half a file
    except FileExistsError as error:
        if error.filename2 != str(target):
            raise
        rule = "a file has appeared there meanwhile: give another path, or --force to replace it"
        raise refuse(path, rule) from error
    except OSError as error:
        # A failed write names no file; what else fails within the block is not ours to explain.
        ours = str(error.filename).endswith(_TEMPORARY) or error.filename == str(target)
        if ours or error.errno in _DISK_IS_FULL:
            raise _unwritable(path, error) from error
        raise


@contextmanager
def appearing(target: Path, *, new: bool = False) -> Iterator[IO[bytes]]:
    """Open a temporary file beside ``target`` that is renamed to it when the block ends well, and else vanishes.

    Args:
        target: the file to be.
        new: whether a file that appears there meanwhile is kept.

    Raises:
        OSError: as the system says it; a FileExistsError whose ``filename2`` is ``target`` where a file is kept.
    """
    temporary = target.with_name(f".{secrets.token_hex(8)}{_TEMPORARY}")
    _unfinished.add((os.getpid(), temporary))
    try:
        with temporary.open("xb") as file:
            yield file
        if new:
            _rename_to_new(temporary, target)
        else:
            temporary.replace(target)
    except BaseException:
        _remove(temporary)
        _unfinished.discard((os.getpid(), temporary))  # not before it is gone: another signal may come
        raise
    _unfinished.discard((os.getpid(), temporary))


def _rename_to_new(temporary: Path, target: Path) -> None:
    """Rename a file to one that is not there yet: a second name for it cannot replace anything."""
    try:
        os.link(temporary, target)
    except FileExistsError:
        raise
    except OSError:  # a file system without second names: between the question and the answer a file may appear
        if target.exists():
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(temporary), None, str(target)) from None
        temporary.replace(target)
    else:
        temporary.unlink()


_unfinished: set[tuple[int, Path]] = set()
"""Temporary files by the process that made them."""


@atexit.register
def _remove_unfinished() -> None:
    """Remove what a signal left that came between the making of a file and the block that would have removed it."""
    for process, temporary in list(_unfinished):
        if process == os.getpid():  # a fork leaves its parent's alone
            _remove(temporary)


def _remove(temporary: Path) -> None:
    with suppress(OSError):  # of a file system that is read-only, where it never was
        temporary.unlink(missing_ok=True)


@contextmanager
def _overwriting(target: Path) -> Iterator[IO[bytes]]:
    with tempfile.TemporaryFile() as file:
        yield file
        file.seek(0)
        with target.open("wb") as overwritten:
            shutil.copyfileobj(file, overwritten)


def _present(path: Path) -> os.stat_result | None:
    """What is at ``path`` now, None when nothing is; refuses what must not be replaced."""
    remedy = "choose another path to write to"
    if str(path) == "-":
        raise refuse(path, f"results go to a file, not to standard output: {remedy}")
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unwritable(path, error) from error
    if not stat.S_ISREG(found.st_mode):
        raise refuse(path, f"not a regular file: {remedy}")
    if any(_is_same(found, stream) for stream in (1, 2)):
        raise refuse(path, f"standard output or standard error goes there: {remedy}")
    if not os.access(path, os.W_OK):
        raise refuse(path, f"the file is write-protected: {remedy}")
    return found


def _is_same(found: os.stat_result, descriptor: int) -> bool:
    try:
        return os.path.samestat(found, os.fstat(descriptor))
    except OSError:  # it is closed
        return False


def _real(path: Path) -> Path:
    """Where ``path`` leads; unlike ``Path.resolve``, a circle of links is not an error."""
    return Path(os.path.realpath(path))


def _is_writable(folder: Path) -> bool:
    return os.access(folder, os.W_OK | os.X_OK)


def _unwritable(path: Path, error: OSError) -> UsageError:
    return refuse(path, f"cannot be written: {error.strerror}")
