"""The ``cornerturn`` command as a process; ``python -m cornerturn`` is the same."""

import os
import signal
import sys
from contextlib import suppress

from cornerturn import signals


def main() -> None:
    """Run the command; whatever ends it, also while it is still being imported, it tidies up and says it in a line."""
    number = signals.run(_command)
    if number is None:
        return
    if number == signal.SIGINT:
        with suppress(OSError):  # nobody listens
            print("error: interrupted", file=sys.stderr)
    sys.exit(128 + number)  # what a shell would report


def _command() -> None:
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # the shell closed it
            setattr(sys, name, open(os.devnull, "w"))  # noqa: PTH123, SIM115  open until the end
    from cornerturn.cli import main as command

    command()


if __name__ == "__main__":
    main()
