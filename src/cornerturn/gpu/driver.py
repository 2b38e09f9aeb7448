"""What the CUDA driver answers: the values of a call, or an error that says what went wrong."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from cornerturn.errors import DeviceError


def check(result: tuple[Any, ...], complaint: str = "") -> Any:
    """Return the values of a driver call after its status: none, one, or a tuple.

    Args:
        result: status and values.
        complaint: what did not work, if the status is not success.

    Raises:
        DeviceError: the status is not success.
    """
    from cuda.bindings import driver

    status, *values = result
    if status != driver.CUresult.CUDA_SUCCESS:
        _, text = driver.cuGetErrorString(status)
        said = f"{status.name} ({text.decode() if text else 'no description'})"
        raise DeviceError(f"{complaint}: {said}" if complaint else said)
    return values[0] if len(values) == 1 else tuple(values)


@contextmanager
def device_errors(doing: str) -> Iterator[None]:
    """Raise whatever goes wrong as a DeviceError that begins with ``doing``."""
    try:
        yield
    except Exception as error:  # cuda.core raises types of its own that it does not publish
        raise DeviceError(f"{doing} failed: {error}") from error
