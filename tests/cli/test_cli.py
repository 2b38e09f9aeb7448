"""The group of all commands."""

import pytest

from cornerturn import __version__

from .command import assert_refused, run


def test_an_unknown_command_is_bad_usage():
    assert_refused(["frobnicate"], "No such command 'frobnicate'.")


@pytest.mark.parametrize("command", [["info"], ["bench", "naive"], ["explain", "naive"]])
def test_a_cache_at_the_home_of_nobody_is_bad_usage(monkeypatch, command):
    monkeypatch.setenv("CORNERTURN_CACHE", "~nosuchuser/x")
    done = run(*command)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == "error: CORNERTURN_CACHE=~nosuchuser/x: there is no such home: give an absolute path\n"


def test_without_a_command_there_is_help():
    done = run()
    assert done.exit_code == 0
    assert "bench" in done.stdout


def test_no_summary_is_cut():
    done = run("--help")
    assert "The matrix transpose, to use and to understand.\n" in done.stdout
    assert "..." not in done.stdout.split("Commands:")[1]


def test_version():
    assert run("--version").stdout == f"cornerturn {__version__}\n"
