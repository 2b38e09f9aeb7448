"""Signals of a command under test: as in a terminal, whatever the tests were started to ignore, as by nohup."""

import signal


def default_signals() -> None:
    """Give the signals that end a command their defaults; for ``preexec_fn`` of `subprocess`."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
