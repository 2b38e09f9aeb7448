"""cornerturn: the matrix transpose, to use and to understand."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from cornerturn.op.adapters import registry as _registry  # noqa: F401  (registers what closes it when Python ends)

if TYPE_CHECKING:
    from cornerturn.op.transpose import explain_plan, matrix_transpose, permute_dims, transpose

    __version__: str

__all__ = ["__version__", "explain_plan", "matrix_transpose", "permute_dims", "transpose"]


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used, so that the command can answer an interrupt from the first moment."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name == "__version__":
        value: Any = import_module("cornerturn.version").package_version()
    else:
        value = getattr(import_module("cornerturn.op.transpose"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
