"""Compiled modules on disk, so that a source is compiled once for a user and not once for a process.

The cache knows nothing of compilers: it maps a key, which the caller makes of everything that decides the
code, to a Module. One file holds one module, and no state of the folder is an error: an entry that is
missing, damaged or cut short is a miss, and a folder that cannot be written stays as it is.
"""

import base64
import hashlib
import json
import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from cornerturn.errors import UsageError
from cornerturn.files import appearing
from cornerturn.toolchain.module import Module

_SUFFIX = ".module"
_DIGEST_LENGTH = 64  # characters of a hexadecimal SHA-256
_FORMAT = "1"  # part of every key: another layout of the file never meets an old entry


@dataclass(frozen=True)
class CacheInfo:
    """State of a cache: its folder, its modules, their bytes in all, and whether it can be written."""

    folder: Path
    entries: int
    bytes: int
    writable: bool


def cache_folder() -> Path:
    """The folder in use: ``CORNERTURN_CACHE``, or ``cornerturn`` in the user's cache folder of the platform.

    The latter is ``$XDG_CACHE_HOME`` or ``~/.cache`` (XDG Base Directory Specification),
    ``~/Library/Caches`` on macOS and ``%LOCALAPPDATA%`` on Windows. For a user without a home it is
    the null device, where nothing can be kept.

    Raises:
        UsageError: ``CORNERTURN_CACHE`` begins with the home of a user whom the system does not know.
    """
    if chosen := os.environ.get("CORNERTURN_CACHE"):
        try:
            return Path(chosen).expanduser()
        except RuntimeError as error:
            raise UsageError(f"CORNERTURN_CACHE={chosen}: there is no such home: give an absolute path") from error
    try:
        return _user_caches() / "cornerturn"
    except RuntimeError:  # no home
        return Path(os.devnull)


def _user_caches() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    chosen = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return chosen if chosen.is_absolute() else Path.home() / ".cache"  # a relative one is to be ignored


def cache_key(parts: Iterable[str]) -> str:
    """One hexadecimal key for an ordered list of texts; two lists share a key only if they are equal."""
    return hashlib.sha256(json.dumps([_FORMAT, *parts]).encode()).hexdigest()


@dataclass(frozen=True)
class Cache:
    """The modules kept in ``folder``; safe under concurrent processes: entries appear whole or not at all."""

    folder: Path

    def load(self, key: str) -> Module | None:
        """The module stored under ``key``, or None when there is no intact one."""
        path = self._path(key)
        try:
            entry = path.read_bytes() if path.is_file() else b""  # to read a pipe would wait for its writer
        except OSError:
            return None
        digest, body = entry[:_DIGEST_LENGTH], entry[_DIGEST_LENGTH:]
        return _decode(body) if digest == _digest(key, body) else None

    def store(self, key: str, module: Module) -> None:
        """Keep ``module`` under ``key``, for all who may read the folder; does nothing where it cannot be written."""
        body = _encode(module)
        with suppress(OSError):
            self.folder.mkdir(parents=True, exist_ok=True)
            with appearing(self._path(key)) as file:
                file.write(_digest(key, body) + body)

    def info(self) -> CacheInfo:
        """Count what the folder holds; a folder that does not exist yet, or cannot be read, holds nothing."""
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
    except (LookupError, TypeError, ValueError):  # whoever wrote it, it is no module
        return None


def _is_writable(folder: Path) -> bool:
    """Whether the folder can be written, or made."""
    for path in (folder, *folder.absolute().parents):
        try:
            path.lstat()
            return path.is_dir() and os.access(path, os.W_OK | os.X_OK)
        except FileNotFoundError:
            continue
        except OSError:
            break
    return False
