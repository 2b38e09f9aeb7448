"""Compiled kernels: of this process, of the cache on disk, or new; and nothing that goes wrong with them is an error.

Numba is imported, and kernels are compiled and loaded, in threads of their own: a handler of signals raises in the main
thread, where it then ends a wait and no half-done import. A fork waits until none of them is at it.

Numba would keep compiled code beside the source, and trust what it finds there. Here an entry is one file of the
package's cache, named after all that decides its code, and it counts only if its digest is right.
"""

import hashlib
import importlib
import logging  # noqa: F401
import os
import pickle
import sys
import threading
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from cornerturn.files import appearing
from cornerturn.op.cpu.kernels import KERNELS
from cornerturn.toolchain.cache import cache_folder, not_kept

with suppress(RuntimeError):  # when Python ends it cannot be imported any more
    import concurrent.futures.thread  # noqa: F401  holds a lock during a fork, as logging does: see _before_fork

Kernel = Callable[[int, int, int, int, int], None]

SIGNATURE = "void(int64, int64, int64, int64, int64)"
FORK_SECONDS = 10.0  # that a fork waits for kernels at most
POLL_SECONDS = 0.001
_SUFFIX = ".cpu"
_DIGEST_BYTES = 32
_SOURCES = ("fill.py", "job.py", "kernels.py", "machine.py", "vectors.py")

_kernels: dict[str, Kernel | None] = {}
_workers: set[str] = set()
_at_it = threading.RLock()
_forking = False


def kernel(name: str) -> Kernel | None:
    """Return a kernel, or None where it cannot be compiled: then NumPy's copy serves.

    Args:
        name: one of ``kernels.KERNELS``.

    Raises:
        BaseException: what a handler of signals raises meanwhile; the next call goes on where this one stopped.
    """
    if not _in_main_interpreter():
        return None
    if name not in _kernels and name not in _workers:
        worker = threading.Thread(target=_prepare, args=(name,), daemon=True)
        try:
            worker.start()
            _workers.add(name)
        except RuntimeError:  # an interpreter that shuts down starts no threads any more
            _prepare(name)
    while name not in _kernels:  # joining a thread is not safe from handlers of signals
        time.sleep(POLL_SECONDS)
    return _kernels[name]


@cache
def _in_main_interpreter() -> bool:
    """Return whether this is the interpreter that the process began with: in no other one can Numba compile."""
    for name in ("_interpreters", "_xxsubinterpreters"):  # of Python 3.13 and of earlier ones
        with suppress(ImportError):
            interpreters = importlib.import_module(name)
            return bool(interpreters.get_current() == interpreters.get_main())
    return True


@cache
def imported() -> Any:
    """Return Numba, imported while no process forks: a child would inherit the locks of half imported modules."""
    with _at_it:
        import numba
    return numba


def turned_off() -> bool:
    """Return whether ``NUMBA_DISABLE_JIT`` turns compiling off."""
    numba = sys.modules.get("numba")
    config = getattr(numba, "config", None)
    if config is not None:
        return bool(config.DISABLE_JIT)
    return os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")


def _prepare(name: str) -> None:
    with _at_it:
        if name in _kernels:
            return
        found = None
        try:
            found = _compiled(name)
        except Exception as error:
            message = (
                f"the CPU kernel {name} cannot be compiled, and NumPy copies instead: {type(error).__name__}: {error}"
            )
            warnings.warn(message, RuntimeWarning, stacklevel=2)
        finally:
            _kernels[name] = found


def _compiled(name: str) -> Kernel | None:
    import numba
    from numba.core.caching import NullCache
    from numba.core.compiler import CompileResult
    from numba.core.serialize import dumps

    if numba.config.DISABLE_JIT:
        return None

    class Stored(NullCache):  # type: ignore[misc]
        """What Numba asks for compiled code, and gives it to."""

        def load_overload(self, signature: Any, target: Any) -> Any:
            try:
                body = _read(path)
                target.refresh()
                return CompileResult._rebuild(target, *pickle.loads(body)) if body else None
            except Exception:  # whatever is wrong with an entry: it is compiled anew
                return None

        def save_overload(self, signature: Any, result: Any) -> None:
            with suppress(Exception):  # kept or not, there it is
                try:
                    _write(path, dumps(result._reduce()))
                except OSError as error:
                    not_kept(cache_folder(), error)

    function = KERNELS[name].build()
    kernel: Any = numba.njit(nogil=True, error_model="numpy")(function)
    path = _path(name, kernel.targetctx.codegen().magic_tuple())
    kernel._cache = Stored()
    return kernel.compile(SIGNATURE)  # type: ignore[no-any-return]  # it looks at no types: half the time of a call


def _path(name: str, machine: tuple[str, ...]) -> Path | None:
    """Return the file of a kernel for a machine, named after all that decides its code; None if that is unknown."""
    import llvmlite  # type: ignore[import-untyped]
    import numba

    digest = hashlib.sha256()
    try:
        for source in _SOURCES:
            digest.update(Path(__file__).with_name(source).read_bytes())
        folder = cache_folder()
    except Exception:
        return None
    digest.update(repr((name, machine, numba.__version__, llvmlite.__version__, sys.version, SIGNATURE)).encode())
    return folder / f"{name}-{digest.hexdigest()[:32]}{_SUFFIX}"


def _read(path: Path | None) -> bytes | None:
    """Return what an intact entry holds."""
    if path is None or not path.is_file():
        return None
    entry = path.read_bytes()
    digest, body = entry[:_DIGEST_BYTES], entry[_DIGEST_BYTES:]
    return body if digest == _digest(path, body) else None


def _write(path: Path | None, body: bytes) -> None:
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        with appearing(path) as file:
            file.write(_digest(path, body) + body)


def _digest(path: Path, body: bytes) -> bytes:
    # The name is hashed too: an entry that was renamed is as useless as a damaged one.
    return hashlib.sha256(path.name.encode() + body).digest()


def _before_fork() -> None:
    """Wait until no thread compiles: a child would inherit locks that nobody releases.

    Locks that other modules take before a fork, and that are needed to import Numba, must not have been taken yet. The
    last hook to be registered comes first: so those modules are imported above. If there are others, the wait ends.
    """
    global _forking
    _forking = _at_it.acquire(timeout=FORK_SECONDS)


def _after_fork_in_parent() -> None:
    if _forking:
        _at_it.release()


def _after_fork_in_child() -> None:
    global _at_it
    _workers.clear()  # threads of the parent's
    if _forking:
        _at_it.release()
    else:  # a thread of the parent's was at it, and left Numba as it was
        _at_it = threading.RLock()
        _kernels.update((name, None) for name in KERNELS if name not in _kernels)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child)
