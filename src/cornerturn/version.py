"""The version of this package, on the lowest floor: whatever shows it may ask."""

from importlib.metadata import PackageNotFoundError, version


def package_version() -> str:
    """The version that is installed, for example ``0.1.0``; in a source tree that was never installed, its own."""
    try:
        return version("cornerturn")
    except PackageNotFoundError:
        return "0.1.0"
