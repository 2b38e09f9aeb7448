"""A library to compare with: whether it is installed, which version, and what prepares its work."""

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from cornerturn.errors import MissingExtraError

PrepareT = TypeVar("PrepareT")
"""What prepares a library's work: `peers_cpu.Prepare` or `peers_gpu.Prepare`."""


@dataclass(frozen=True, slots=True)
class Library(Generic[PrepareT]):
    """A library that is installed: its version, and what prepares its work."""

    version: str
    prepare: PrepareT


@dataclass(frozen=True, slots=True)
class Peer(Generic[PrepareT]):
    """A library to compare with.

    Attributes:
        name: as shown.
        package: what pip installs.
        load: imports it, given the device if there is one; raises ImportError if it is not installed, and whatever it
            likes if it cannot be used.
    """

    name: str
    package: str
    load: Callable[..., Library[PrepareT]]

    def open(self, *device: Any) -> Library[PrepareT]:
        """Return the library, ready for work.

        Args:
            device: none for the CPU, else the `cornerturn.gpu.Device`, whose context is current.

        Raises:
            MissingExtraError: it is not installed, or cannot be used here.
        """
        remedy = f"pip install {shlex.quote(self.package)}"
        try:
            return self.load(*device)
        except ImportError as error:
            raise MissingExtraError(f"{self.name} is not installed: {remedy}") from error
        except Exception as error:  # whatever a library raises whose own libraries or device are not there
            raise MissingExtraError(f"{self.name} cannot be used here ({first_line(error)}): {remedy}") from error


def first_line(error: Exception) -> str:
    """Return what an exception says, in one line of at most 200 characters."""
    lines = str(error).strip().splitlines()
    return (lines[0] if lines else type(error).__name__)[:200]
