import os
import signal
import subprocess
import sys

import pytest

from .default_signals import default_signals

ENVIRONMENT = os.environ | {
    "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
    "PYTHONUNBUFFERED": "",  # nor does Python write through by default
}

# Each ends without an exception, though the handler of a signal has raised one within.
SWALLOWING = {
    "callback from C": "ctypes.CFUNCTYPE(None)(come)()",
    "finalizer": "type('Finalized', (), {'__del__': lambda _: come()})()",
    "weak reference": "reference = weakref.ref(owned := type('Owned', (), {})(), lambda _: come()); del owned",
    "handler of exceptions": "with suppress(BaseException): come()",
}
# So do these, and the exception lives on.
KEEPING = {
    "executed text": "ctypes.pythonapi.PyRun_SimpleString(b'import signal; signal.raise_signal(%d)' % number)",
    "handler that keeps it": "kept = Kept()\nwith kept: come()",
}


def run_command(number, work, later=60):
    """Run the command with ``work`` in place of one of its commands."""
    lines = "\n    ".join(work.splitlines())
    code = f"""
import atexit, ctypes, signal, sys, time, weakref
from contextlib import suppress
from cornerturn import signals
from cornerturn.__main__ import main
from cornerturn.cli import main as command

number = {int(number)}
signals._LATER = {later}

class Kept:
    def __enter__(self):
        pass

    def __exit__(self, kind, error, trace):
        self.error = error
        return True

def come():
    signal.raise_signal(number)
    time.sleep(0)  # the handler has run by now

def work():
    {lines}

command.commands["info"].callback = work
sys.argv = ["cornerturn", "info"]
main()
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=120,
        preexec_fn=default_signals,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    ("number", "said"), [(signal.SIGINT, "error: interrupted\n"), (signal.SIGTERM, ""), (signal.SIGHUP, "")]
)
@pytest.mark.parametrize("swallowing", [*SWALLOWING, *KEEPING])
def test_a_signal_ends_the_command_though_its_exception_is_swallowed(number, said, swallowing):
    work = f"{(SWALLOWING | KEEPING)[swallowing]}\ntime.sleep(20)\nprint('went on')"
    later = 0.1 if swallowing in KEEPING else 60
    assert run_command(number, work, later) == (128 + number, "", said)


def test_it_comes_back_as_often_as_it_is_swallowed():
    work = """
for _ in range(5):
    with suppress(BaseException):
        come()
        time.sleep(20)
time.sleep(20)
print('went on')
"""
    assert run_command(signal.SIGTERM, work) == (143, "", "")


def test_a_signal_ends_a_command_that_is_done_before_it_comes_back():
    assert run_command(signal.SIGTERM, SWALLOWING["callback from C"]) == (143, "", "")


def test_an_error_that_a_swallowed_signal_leads_to_is_not_reported():
    work = "with suppress(BaseException): come()\nraise RuntimeError('nothing was compiled')"
    assert run_command(signal.SIGTERM, work) == (143, "", "")


@pytest.mark.parametrize(
    "clean_up",
    [
        "time.sleep(0.5)",
        "with suppress(BaseException): come()\n    time.sleep(0.5)",
        "try:\n        {}['absent']\n    except KeyError:\n        time.sleep(0.5)",
    ],
    ids=["long", "swallowing another", "in a handler of its own"],
)
def test_nothing_comes_back_into_a_clean_up(clean_up):
    work = f"try:\n    come()\nfinally:\n    {clean_up}\n    print('tidied', flush=True)"
    assert run_command(signal.SIGTERM, work, later=0.1) == (143, "tidied\n", "")


@pytest.mark.parametrize("swallowing", ["come()", SWALLOWING["callback from C"]])
def test_nothing_comes_after_the_command_has_ended(swallowing):
    work = f"""
@atexit.register
def tidy():
    time.sleep(0.3)
    come()
    print('tidied')

{swallowing}
"""
    assert run_command(signal.SIGHUP, work) == (129, "tidied\n", "")


def test_output_that_nobody_reads_any_more_is_no_error():
    code = """
import signal, sys
from cornerturn.__main__ import main
from cornerturn.cli import main as command

def work():
    print("unread")
    signal.raise_signal(signal.SIGTERM)

command.commands["info"].callback = work
sys.argv = ["cornerturn", "info"]
main()
"""
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 143


def test_no_step_of_llvm_is_left_undone():
    """An object that is disposed of and does not know it would be disposed of again."""
    work = """
step = "come(); print('done', flush=True)"
exec(step, {'__name__': 'llvmlite.binding.ffi', 'come': come})
time.sleep(20)
print('went on')
"""
    assert run_command(signal.SIGTERM, work) == (143, "done\n", "")


def test_exceptions_of_others_are_reported_as_ever():
    work = "type('Finalized', (), {'__del__': lambda _: {}['absent']})()"
    status, printed, said = run_command(signal.SIGTERM, work)
    assert (status, printed) == (0, "")
    assert said.startswith("Exception ignored in: ")
    assert said.endswith("KeyError: 'absent'\n")


def test_without_timers_and_hangup_a_signal_ends_all_the_same():
    code = """
import signal
del signal.setitimer, signal.SIGALRM, signal.SIGHUP
from cornerturn import signals
print(signals.run(lambda: signal.raise_signal(signal.SIGTERM)))
"""
    done = subprocess.run([sys.executable, "-c", code], env=ENVIRONMENT, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "15\n", "")
