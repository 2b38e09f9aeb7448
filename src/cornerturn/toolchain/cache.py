"""Compiled modules on disk, so that a source is compiled once per user and not once per process.

The cache knows nothing of compilers. It maps a key to a Module, and the caller makes the key from everything that
decides the code. One file holds one module. No state of the folder is an error: an entry that is missing, damaged or
cut short is a miss, and a folder that cannot be written is left as it is.
"""

import base64
import getpass
import hashlib
import json
import os
import shutil
import stat
import sys
import tempfile
import warnings
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from cornerturn.errors import UsageError
from cornerturn.files import appearing
from cornerturn.toolchain.module import Module

_SUFFIX = ".module"
_DIGEST_LENGTH = 64  # characters of a hexadecimal SHA-256
_FORMAT = "1"  # part of every key: another layout of the file never meets an old entry


@dataclass(frozen=True)
class CacheInfo:
    """State of a cache: its folder, the number of modules in it, their total bytes, and whether it can be written."""

    folder: Path
    entries: int
    bytes: int
    writable: bool


def cache_folder() -> Path:
    """The folder in use: ``CORNERTURN_CACHE``, or the folder ``cornerturn`` among the user's caches.

    The user's caches are in ``$XDG_CACHE_HOME`` or ``~/.cache`` (XDG Base Directory Specification), on macOS in
    ``~/Library/Caches``, on Windows in ``%LOCALAPPDATA%``. If that cannot be written, or the user has no home, the
    folder is one of the user's own among temporary files, and a warning says so once.

    Raises:
        UsageError: ``CORNERTURN_CACHE`` begins with ``~`` and a user that the system does not know.
    """
    if chosen := os.environ.get("CORNERTURN_CACHE"):
        try:
            return Path(chosen).expanduser()
        except RuntimeError as error:
            raise UsageError(f"CORNERTURN_CACHE={chosen}: there is no such home: give an absolute path") from error
    try:
        folder = _user_caches() / "cornerturn"
    except RuntimeError:  # no home
        folder = Path(os.devnull)
    return folder if _is_writable(folder) else _temporary(folder)


@cache
def _temporary(closed: Path) -> Path:
    """A folder in place of one that cannot be written, with what that holds; the same for all processes of a user."""
    folder = Path(tempfile.gettempdir()) / f"cornerturn-{getattr(os, 'getuid', getpass.getuser)()}"
    try:
        with suppress(FileExistsError):
            folder.mkdir(mode=0o700)
            with suppress(OSError, shutil.Error):
                shutil.copytree(closed, folder, dirs_exist_ok=True)
        if not _is_own(folder):
            raise PermissionError(f"{folder} belongs to somebody else")
    except OSError as error:
        not_kept(closed, error)
        return closed
    _warn(f"{closed} cannot be written, and compiled kernels are kept in {folder}: {_REMEDY}")
    return folder


def _is_own(folder: Path) -> bool:
    """Whether a folder among temporary files is this user's, and nobody else could have put a kernel there."""
    found = folder.lstat()
    mine = found.st_uid == getattr(os, "getuid", lambda: found.st_uid)()
    return stat.S_ISDIR(found.st_mode) and mine and (os.name == "nt" or not found.st_mode & 0o022)


_REMEDY = "set CORNERTURN_CACHE to a folder that can be"


def not_kept(folder: Path, error: OSError) -> None:
    """Say once that what was compiled is not kept."""
    if folder not in _told:
        _told.add(folder)
        _warn(
            f"compiled kernels are not kept, and each process compiles anew: {folder} cannot be written "
            f"({error.strerror or error}): {_REMEDY}"
        )


_told: set[Path] = set()


def _warn(message: str) -> None:
    warnings.warn(message, RuntimeWarning, stacklevel=3)


def _user_caches() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    chosen = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return chosen if chosen.is_absolute() else Path.home() / ".cache"  # the specification says to ignore a relative one


def cache_key(parts: Iterable[str]) -> str:
    """The hexadecimal key of an ordered list of texts. Two lists have the same key only if they are equal."""
    return hashlib.sha256(json.dumps([_FORMAT, *parts]).encode()).hexdigest()


@dataclass(frozen=True)
class Cache:
    """The modules kept in ``folder``. Concurrent processes are safe: an entry appears whole or not at all."""

    folder: Path

    def load(self, key: str) -> Module | None:
        """The module stored under ``key``, or None if there is no intact one."""
        path = self._path(key)
        try:
            entry = path.read_bytes() if path.is_file() else b""  # reading a pipe would wait for its writer
        except OSError:
            return None
        digest, body = entry[:_DIGEST_LENGTH], entry[_DIGEST_LENGTH:]
        return _decode(body) if digest == _digest(key, body) else None

    def store(self, key: str, module: Module) -> None:
        """Keep ``module`` under ``key``, readable for all who may read the folder; warn once if it cannot be kept."""
        body = _encode(module)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with appearing(self._path(key)) as file:
                file.write(_digest(key, body) + body)
        except OSError as error:
            not_kept(self.folder, error)

    def info(self) -> CacheInfo:
        """Count the folder's modules. A folder that does not exist yet, or cannot be read, has none."""
        sizes: list[int] = []
        with suppress(OSError):
            for path in self.folder.iterdir():
                if path.suffix == _SUFFIX and path.is_file():
                    sizes.append(path.stat().st_size)  # noqa: PERF401  keeps what was counted before an error
        return CacheInfo(self.folder, len(sizes), sum(sizes), _is_writable(self.folder))

    def _path(self, key: str) -> Path:
        return self.folder / (key + _SUFFIX)


def _digest(key: str, body: bytes) -> bytes:
    # The key is hashed too: an entry that was renamed is as useless as a damaged one.
    return hashlib.sha256(key.encode() + body).hexdigest().encode()


def _encode(module: Module) -> bytes:
    return json.dumps(asdict(module) | {"cubin": base64.b64encode(module.cubin).decode()}).encode()


def _decode(body: bytes) -> Module | None:
    try:
        fields = json.loads(body)
        return Module(**fields | {"cubin": base64.b64decode(fields["cubin"])})
    except (LookupError, TypeError, ValueError):  # whoever wrote it, it is not a module
        return None


def _is_writable(folder: Path) -> bool:
    """Whether the folder can be written, or created if it does not exist."""
    for path in (folder, *folder.absolute().parents):
        try:
            path.lstat()
            return path.is_dir() and os.access(path, os.W_OK | os.X_OK)
        except FileNotFoundError:
            continue
        except OSError:
            break
    return False
