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
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

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
    ``~/Library/Caches`` on macOS and ``%LOCALAPPDATA%`` on Windows.
    """
    if chosen := os.environ.get("CORNERTURN_CACHE"):
        return Path(chosen).expanduser()
    if sys.platform == "win32":
        user_caches = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        user_caches = Path.home() / "Library" / "Caches"
    else:
        user_caches = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(user_caches) / "cornerturn"


def cache_key(parts: Iterable[str]) -> str:
    """One hexadecimal key for an ordered list of texts; two lists share a key only if they are equal."""
    return hashlib.sha256(json.dumps([_FORMAT, *parts]).encode()).hexdigest()


@dataclass(frozen=True)
class Cache:
    """The modules kept in ``folder``; safe under concurrent processes: entries appear whole or not at all."""

    folder: Path

    def load(self, key: str) -> Module | None:
        """The module stored under ``key``, or None when there is no intact one."""
        try:
            entry = self._path(key).read_bytes()
        except OSError:
            return None
        digest, body = entry[:_DIGEST_LENGTH], entry[_DIGEST_LENGTH:]
        return _decode(body) if digest == _digest(key, body) else None

    def store(self, key: str, module: Module) -> None:
        """Keep ``module`` under ``key``; does nothing where the folder cannot be written."""
        body = _encode(module)
        with suppress(OSError):
            self.folder.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=self.folder, suffix=".tmp", delete=False) as file:
                temporary = Path(file.name)
                try:
                    file.write(_digest(key, body) + body)
                    file.close()  # before it is renamed: Windows does not rename an open file
                    temporary.replace(self._path(key))
                except BaseException:
                    temporary.unlink(missing_ok=True)
                    raise

    def info(self) -> CacheInfo:
        """Count what the folder holds; a folder that does not exist yet holds nothing."""
        sizes = [path.stat().st_size for path in self.folder.glob("*" + _SUFFIX)]
        return CacheInfo(self.folder, len(sizes), sum(sizes), _is_writable(self.folder))

    def _path(self, key: str) -> Path:
        return self.folder / (key + _SUFFIX)


def _digest(key: str, body: bytes) -> bytes:
    # The key is hashed too: an entry that was renamed is as useless as a damaged one.
    return hashlib.sha256(key.encode() + body).hexdigest().encode()


def _encode(module: Module) -> bytes:
    return json.dumps(asdict(module) | {"cubin": base64.b64encode(module.cubin).decode()}).encode()


def _decode(body: bytes) -> Module:
    fields = json.loads(body)
    return Module(**fields | {"cubin": base64.b64decode(fields["cubin"])})


def _is_writable(folder: Path) -> bool:
    existing = next(path for path in (folder, *folder.absolute().parents) if os.access(path, os.F_OK))
    return existing.is_dir() and os.access(existing, os.W_OK | os.X_OK)
