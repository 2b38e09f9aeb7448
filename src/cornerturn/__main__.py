"""The ``cornerturn`` command as a process; ``python -m cornerturn`` is the same."""

import atexit
import os
import signal
import sys
import warnings
from contextlib import suppress
from typing import NoReturn

from cornerturn import signals


def main() -> None:
    """Run the command; whatever ends it, even during its imports, it tidies up and reports it in one line."""
    number = signals.run(_command)
    if number == signal.SIGINT:
        with suppress(OSError):  # the reader is gone
            print("error: interrupted", file=sys.stderr)
    if number is not None:
        _leave(128 + number)  # what a shell would report


def _command() -> None:
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # the shell closed it
            setattr(sys, name, open(os.devnull, "w"))  # noqa: PTH123, SIM115  open until the end
    warnings.formatwarning = lambda message, *_, **__: f"warning: {message}\n"  # as errors are said
    from cornerturn.cli import main as command

    command()


def _leave(status: int) -> NoReturn:
    """End without tearing down modules: C libraries that were interrupted might crash in it."""
    atexit._run_exitfuncs()
    for stream in filter(None, (sys.stdout, sys.stderr)):
        with suppress(OSError, ValueError):  # the reader is gone, or it is closed
            stream.flush()
    os._exit(status)


if __name__ == "__main__":
    main()
