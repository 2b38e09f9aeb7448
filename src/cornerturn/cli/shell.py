"""What all commands share: errors in one line, exit status, output fit for a terminal or a pipe.

Output in an encoding that lacks a character has an ASCII one in its place; rich itself draws its boxes in ASCII there.
"""

import codecs
import json
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import Any, NoReturn

import click
from rich.console import Console, RenderableType

from cornerturn.errors import CompileError, CornerturnError, DeviceError, EmulatorError
from cornerturn.files import replacing

_NARROWEST, _PIPED_WIDTH, _UNLIMITED = 80, 120, 10_000  # columns; a narrower table or drawing would be cut
_INTERRUPTED, _BROKEN_PIPE = 130, 141  # what a shell reports for a program ended by SIGINT or SIGPIPE


_STAND_INS = {"│": "|", "─": "-", "▸": ">", "·": ".", "⋮": ":", "µ": "u"}
_STRICT = ("strict", "surrogateescape")  # ways of encoding that fail at a character


def _stand_in(error: UnicodeError) -> tuple[str | bytes, int]:
    """What to print for characters that the output's encoding lacks; bytes of a file's name stay as they are."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    character = error.object[error.start]
    if "\udc80" <= character <= "\udcff":
        return bytes([ord(character) - 0xDC00]), error.start + 1
    return _STAND_INS.get(character, "?"), error.start + 1


codecs.register_error("cornerturn", _stand_in)


def _print_anything() -> None:
    """Have no character end the command, whatever the encoding of its output."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper) and stream.errors in _STRICT:
            stream.reconfigure(errors="cornerturn")


class CommandLine(click.Group):
    """A click group that turns every error into one line on stderr and an exit status."""

    def main(self, args: Sequence[str] | None = None, prog_name: str | None = None, *_: Any, **__: Any) -> NoReturn:
        """Run the command and end the process with its status; ``args`` default to the process's own."""
        _print_anything()
        try:
            given = sys.argv[1:] if args is None else list(args)
            with self.make_context(prog_name or "cornerturn", given) as context:
                self.invoke(context)
            sys.stdout.flush()
        except click.exceptions.Exit as done:
            sys.exit(done.exit_code)
        except click.ClickException as error:
            fail(error.format_message(), 2)
        except CompileError as error:
            say(f"error: {error}")  # a compiler's log is several lines, and they stay as they are
            sys.exit(2)
        except EmulatorError as error:
            fail(str(error), 1)
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # or Python's own flush at exit would complain
            sys.exit(_BROKEN_PIPE)
        except (CornerturnError, OSError) as error:
            fail(str(error), 2)
        except MemoryError as error:
            fail(f"not enough memory: {error}: choose a smaller size", 2)
        except (KeyboardInterrupt, click.Abort):
            exec("")  # or Python ends by the signal, if the interrupt came out of executed text
            fail("interrupted", _INTERRUPTED)
        sys.exit(0)


def show(table: RenderableType) -> None:
    """Print to stdout: in colour on a terminal and plain elsewhere, as wide as it is, but never cutting a number."""
    width = shutil.get_terminal_size((_PIPED_WIDTH, 0)).columns
    needed = Console(width=_UNLIMITED).measure(table).minimum
    console = Console(width=max(width, needed, _NARROWEST), highlight=False)
    with console.capture() as shown:
        console.print(table)
    for line in shown.get().splitlines():
        click.echo(line.rstrip(), sys.stdout, color=console.is_terminal)


def write_json(path: Path, report: object) -> None:
    """Write ``report`` as JSON to a file."""
    with replacing(path) as file:
        file.write(json.dumps(report, indent=1).encode() + b"\n")


def say(line: str) -> None:
    """Print a line to stderr."""
    click.echo(line, sys.stderr)


def fail(message: str, status: int) -> NoReturn:
    """Say what went wrong, in one line, and end the process."""
    say("error: " + " ".join(message.split()))
    sys.exit(status)


@contextmanager
def or_else(remedy: str) -> Iterator[None]:
    """Add a remedy to the reason why a GPU cannot be used."""
    try:
        yield
    except DeviceError as error:
        raise DeviceError(f"{error}: {remedy}") from error
