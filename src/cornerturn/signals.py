"""Signals that end the command: each is raised as an exception, and raised again where a library swallowed that.

A handler runs between any two steps of the main thread. Where it interrupts a callback from C, a finalizer or the body
of an ``except BaseException``, its exception goes no further, and the program would go on as if nothing had happened.
So the exception is raised again soon after it was dropped, until `run` has caught it.
"""

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType

_NUMBERS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
_DEFAULTS = (signal.SIG_DFL, signal.default_int_handler)
_HAS_TIMER = hasattr(signal, "setitimer")
_SOON, _LATER = 0.01, 2.0  # seconds until it is raised again: after it was dropped, or while it is being handled

_is_working = False
_asked: int | None = None


class Ended(BaseException):
    """A signal ends the program; not a ``KeyboardInterrupt`` or ``SystemExit``, at which C code may print or exit."""

    def __del__(self) -> None:
        if _is_working:
            _come_back(_SOON)


def run(work: Callable[[], None]) -> int | None:
    """Do the last work of a program, which SIGINT, SIGTERM or SIGHUP ends; afterwards they are ignored.

    A signal that is ignored already, as SIGHUP is under ``nohup``, stays ignored.

    Returns:
        The number of the signal, and then anything that ``work`` raised is dropped; None without a signal.

    Raises:
        BaseException: ``work`` raised it, and there was no signal.
    """
    global _is_working
    caught = [number for number in _NUMBERS if signal.getsignal(number) in _DEFAULTS]
    for number in caught:
        signal.signal(number, _end)
    if _HAS_TIMER:
        signal.signal(signal.SIGALRM, _end_again)
    with _unreported():
        try:
            try:
                _is_working = True
                if _asked is None:
                    work()
            finally:
                _is_working = False  # first: a handler runs only at calls, and now raises nothing
                for number in caught:
                    signal.signal(number, signal.SIG_IGN)  # no handler may run while the interpreter shuts down
                if _HAS_TIMER:
                    signal.setitimer(signal.ITIMER_REAL, 0)
                    signal.signal(signal.SIGALRM, signal.SIG_IGN)
        except BaseException:
            if _asked is None:
                raise
    return _asked


def _end(number: int, frame: FrameType | None) -> None:
    global _asked
    _asked = number
    if _is_working:
        _raise_or_wait(frame)


def _end_again(_: int, frame: FrameType | None) -> None:
    if _is_working:
        error = sys.exc_info()[1]
        while error is not None and not isinstance(error, Ended):
            error = error.__context__
        if error is None:
            _raise_or_wait(frame)
        else:  # it is being handled: this is the clean-up
            _come_back(_LATER)


def _raise_or_wait(frame: FrameType | None) -> None:
    if _HAS_TIMER and _is_delicate(frame):
        _come_back(_SOON)
    else:
        _come_back(_LATER)
        raise Ended


def _is_delicate(frame: FrameType | None) -> bool:
    """Whether an exception could leave an object of LLVM with two owners, to be freed twice."""
    while frame is not None:
        if str(frame.f_globals.get("__name__")).startswith("llvmlite.binding"):
            return True
        frame = frame.f_back
    return False


def _come_back(seconds: float) -> None:
    if _HAS_TIMER:
        signal.setitimer(signal.ITIMER_REAL, seconds)


@contextmanager
def _unreported() -> Iterator[None]:
    """Have Python say nothing where it drops an `Ended`: it comes back."""
    report_unraisable, report_uncaught = sys.unraisablehook, sys.excepthook

    def unraisable(dropped: "sys.UnraisableHookArgs") -> None:
        if not isinstance(dropped.exc_value, Ended):
            report_unraisable(dropped)

    def uncaught(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if not isinstance(error, Ended):
            report_uncaught(kind, error, trace)

    sys.unraisablehook, sys.excepthook = unraisable, uncaught
    try:
        yield
    finally:
        sys.unraisablehook, sys.excepthook = report_unraisable, report_uncaught
