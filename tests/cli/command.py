"""The ``cornerturn`` command, called within the process of the tests."""

import os
import sys

import numpy as np
from click.testing import CliRunner

from cornerturn.cli import main

COMMAND = [sys.executable, "-m", "cornerturn"]
ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


def run(*arguments, charset="utf-8"):
    """What the command prints, in ``charset``, and its exit status."""
    return CliRunner(charset=charset).invoke(main, [str(argument) for argument in arguments])


def assert_refused(arguments, message):
    """Bad usage is one line on stderr and status 2."""
    done = run(*arguments)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith("error: ")
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def saved(path, array):
    """The path, with the array written to it."""
    np.save(path, array)
    return path
