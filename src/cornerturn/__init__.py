"""cornerturn: the matrix transpose, to use and to understand."""

import threading
import time
from contextlib import suppress
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from cornerturn.op.adapters import registry as _registry  # noqa: F401  (registers what closes it when Python ends)

if TYPE_CHECKING:
    from cornerturn import lab as lab
    from cornerturn.op.transpose import explain_plan, matrix_transpose, permute_dims, transpose

    __version__: str

__all__ = ["__version__", "explain_plan", "matrix_transpose", "permute_dims", "transpose"]
_PUBLIC = (*__all__, "lab")  # `from cornerturn import *` does not load the laboratory


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used, so that the command can answer an interrupt from the first moment."""
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name == "__version__":
        value: Any = import_module("cornerturn.version").package_version()
    elif name == "lab":
        value = _imported("cornerturn.lab")
    else:
        value = getattr(_imported("cornerturn.op.transpose"), name)
    globals()[name] = value
    return value


def _imported(name: str) -> ModuleType:
    """Import a module in a thread of its own: a handler of signals raises in the main one, and would leave it half."""

    def work() -> None:
        with suppress(BaseException):  # raised again below
            import_module(name)

    thread = threading.Thread(target=work, daemon=True)
    with suppress(RuntimeError):  # an interpreter that shuts down, or is not the main one, starts no such thread
        thread.start()
    while thread.is_alive():  # joining a thread is not safe from handlers of signals
        time.sleep(0.001)
    return import_module(name)


def __dir__() -> list[str]:
    return sorted(_PUBLIC)


def load_ipython_extension(shell: Any) -> None:
    """``%load_ext cornerturn``: bring ``%%cuda_transpose``, which checks and explains the kernel in a cell."""
    _imported("cornerturn.cli.magic").register(shell)
