"""The ``cornerturn`` command as a process; ``python -m cornerturn`` is the same."""

import os
import signal
import sys
from types import FrameType
from typing import NoReturn


def main() -> None:
    """Run the command; whatever ends it, also while it is still being imported, it tidies up and says it in a line."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # the shell closed it
            setattr(sys, name, open(os.devnull, "w"))  # noqa: PTH123, SIM115  open until the end
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:  # nohup ignores SIGHUP
            signal.signal(number, _end)
    try:
        from cornerturn.cli import main as command
    except KeyboardInterrupt:
        print("error: interrupted", file=sys.stderr)
        sys.exit(130)
    command()


def _end(number: int, _: FrameType | None) -> NoReturn:
    """End as by an exception, so that no half file stays behind; the status is what a shell would report."""
    sys.exit(128 + number)


if __name__ == "__main__":
    main()
