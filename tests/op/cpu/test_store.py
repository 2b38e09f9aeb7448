"""Whatever goes wrong while a kernel is compiled, loaded or kept, a call still gives its result."""

import os
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest

from cornerturn.op.cpu import store

MOVE = """
import sys, time
import numpy as np
import cornerturn

def right(dtype="u4"):
    x = np.arange(300 * 301).astype(dtype).reshape(300, 301)
    return bool((cornerturn.transpose(x) == x.T).all())
"""


def run_python(program: str, cache: Path, *arguments: str, options: tuple[str, ...] = (), before: str = MOVE) -> str:
    path = os.pathsep.join(filter(None, sys.path))
    environment = {**os.environ, "PYTHONPATH": path, "NUMBA_NUM_THREADS": "2", "CORNERTURN_CACHE": str(cache)}
    command = [sys.executable, *options, "-c", before + textwrap.dedent(program), *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


COMPILED = """
from cornerturn.op.cpu import store
written = []
store._write = lambda path, body, write=store._write: (written.append(path.name), write(path, body))
print(right(), len(written))
"""


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    cache = tmp_path_factory.mktemp("cache")
    assert run_python(COMPILED, cache).split() == ["True", "1"]
    return cache


@pytest.fixture
def cache(filled: Path, tmp_path: Path) -> Path:
    for entry in filled.iterdir():
        (tmp_path / entry.name).write_bytes(entry.read_bytes())
    return tmp_path


def test_a_kernel_is_compiled_once_per_machine(cache: Path) -> None:
    assert run_python(COMPILED, cache).split() == ["True", "0"]


@pytest.mark.parametrize("damage", ["cut", "zeros", "flipped", "empty", "folder", "renamed"])
def test_a_damaged_entry_is_compiled_anew(cache: Path, damage: str) -> None:
    (entry,) = cache.iterdir()
    whole = entry.read_bytes()
    if damage == "folder":
        entry.unlink()
        entry.mkdir()
    elif damage == "renamed":
        other = cache / entry.name.replace("tiles_4", "tiles_8")
        entry.rename(other)
        assert store._read(other) is None
    else:
        damaged = {"cut": whole[:-9], "zeros": bytes(len(whole)), "flipped": whole[:-9] + b"x" * 9, "empty": b""}
        entry.write_bytes(damaged[damage])
    assert run_python(COMPILED, cache).split()[:2] == ["True", "1"]


def test_an_entry_that_numba_cannot_use_is_compiled_anew(cache: Path) -> None:
    (entry,) = cache.iterdir()
    store._write(entry, b"whole, and no kernel")
    assert run_python(COMPILED, cache).split() == ["True", "1"]


@pytest.mark.parametrize("cache", ["/dev/null", "/proc/nowhere"])
def test_a_cache_that_cannot_be_written_is_said_once(cache: str) -> None:
    output = run_python("print(right(), right('f8'))", Path(cache))
    assert output.startswith("True True\n")
    assert output.count("compiled kernels are not kept, and each process compiles anew") == 1


def test_a_full_disk(tmp_path: Path) -> None:
    output = run_python(
        """
        from cornerturn.op.cpu import store
        def full(path, body):
            raise OSError(28, "No space left on device")
        store._write = full
        print(right())
        """,
        tmp_path,
    )
    assert output.startswith("True\n")
    assert "(No space left on device): set CORNERTURN_CACHE to a folder that can be" in output


def test_what_cannot_be_compiled_is_copied_by_numpy_and_said(tmp_path: Path) -> None:
    output = run_python(
        """
        from cornerturn.op.cpu import store
        def broken(name):
            raise MemoryError("no room")
        store._compiled = broken
        print(right(), right())
        """,
        tmp_path,
    )
    assert output.startswith("True True\n")
    assert output.count("cannot be compiled, and NumPy copies instead: MemoryError: no room") == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs interval timers")
@pytest.mark.parametrize("delay", [0.01, 0.05, 0.1, 0.2, 0.4])
def test_an_interrupt_in_the_first_call_harms_no_later_one(filled: Path, delay: float) -> None:
    output = run_python(
        """
        import signal

        def alarm(*_):
            raise KeyboardInterrupt
        signal.signal(signal.SIGALRM, alarm)
        signal.setitimer(signal.ITIMER_REAL, float(sys.argv[1]))
        try:
            right()
            time.sleep(1)
        except KeyboardInterrupt:
            pass
        print(right(), right("u8"))
        """,
        filled,
        str(delay),
    )
    assert output == "True True\n"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.parametrize("delay", [0.0, 0.02, 0.3])
def test_a_child_forked_while_a_kernel_is_compiled(tmp_path: Path, delay: float) -> None:
    output = run_python(
        """
        import os, signal, threading
        cornerturn.transpose  # imports modules, which no fork waits for
        thread = threading.Thread(target=right, args=("u8",))
        thread.start()
        time.sleep(float(sys.argv[1]))
        child = os.fork()
        if child == 0:
            signal.alarm(60)
            os._exit(0 if right("u8") and right("u2") and right() else 1)
        print(os.waitpid(child, 0)[1], right())
        thread.join()
        """,
        tmp_path,
        str(delay),
        options=("-W", "ignore::DeprecationWarning"),
    )
    assert output == "0 True\n"


def test_a_subinterpreter_leaves_it_to_numpy(tmp_path: Path) -> None:
    interpreters = "_interpreters" if sys.version_info >= (3, 13) else "_xxsubinterpreters"
    pytest.importorskip(interpreters)
    output = run_python(
        f"""
        import sys
        import {interpreters} as interpreters
        interpreters.run_string(interpreters.create(), sys.argv[1] + "print(right())")
        """,
        tmp_path,
        MOVE,
        options=("-W", "ignore"),
        before="",  # NumPy is for one interpreter per process
    )
    assert output == "True\n"


def test_several_threads_wait_for_one_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    monkeypatch.setattr(store, "_kernels", {})
    monkeypatch.setattr(store, "_workers", set())
    monkeypatch.setattr(store, "_compiled", lambda name: made.append(name) or print)
    found: list[object] = []
    threads = [threading.Thread(target=lambda: found.append(store.kernel("tiles_4"))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made == ["tiles_4"]
    assert found == [print] * 8
