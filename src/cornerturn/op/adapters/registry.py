"""Arrays that are not NumPy's: find the adapter of their library. No library is imported unless its array is here."""

import atexit
import sys
from collections.abc import Sequence
from typing import Any

from cornerturn.errors import UsageError

_DLPACK_CUDA = (2, 13)  # kDLCUDA, kDLCUDAManaged


def transpose(x: Any, axes: Sequence[int] | None, out: Any) -> Any:
    """Transpose an array of PyTorch, JAX, CuPy, Numba, or any library that exports its arrays, by its adapter.

    Args:
        x: array of any library but NumPy.
        axes: as in `cornerturn.transpose`.
        out: array of the same library to write into, or None.

    Returns:
        ``out``, or a new array of x's own library on x's device.

    Raises:
        UsageError: no adapter knows x, or the adapter refuses it.
    """
    # In this form an import of what is there costs the host of a GPU least.
    if _is_instance(x, "torch", "Tensor"):
        import cornerturn.op.adapters.torch as torch_adapter

        return torch_adapter.transpose(x, axes, out)
    if _is_instance(x, "jax", "Array"):
        import cornerturn.op.adapters.jax as jax_adapter

        return jax_adapter.transpose(x, axes, out)
    if _is_instance(x, "cupy", "ndarray"):
        import cornerturn.op.adapters.cupy as cupy_adapter

        return cupy_adapter.transpose(x, axes, out)
    if _is_on_cuda(x):
        from cornerturn.op.adapters import cuda_array

        return cuda_array.transpose(x, axes, out)
    if _exports_dlpack(x):
        from cornerturn.op.adapters import dlpack

        return dlpack.transpose(x, axes, out)
    raise _no_array(x)


def ndim_of(x: Any) -> int:
    """Return how many axes an array has, also where it exports its memory and nothing else.

    Raises:
        UsageError: x is no array, or cannot be read.
    """
    if hasattr(x, "ndim"):
        return int(x.ndim)
    if _is_on_cuda(x):
        from cornerturn.op.adapters import cuda_array

        return len(cuda_array.read(x).view.shape)
    if _exports_dlpack(x):
        from cornerturn.op.adapters import dlpack

        return dlpack.read(x).ndim
    raise _no_array(x)


def _is_on_cuda(x: Any) -> bool:
    if hasattr(x, "__cuda_array_interface__"):
        return True
    return _exports_dlpack(x) and x.__dlpack_device__()[0] in _DLPACK_CUDA


def _exports_dlpack(x: Any) -> bool:
    return hasattr(x, "__dlpack__") and hasattr(x, "__dlpack_device__")


def _no_array(x: Any) -> UsageError:
    return UsageError(f"transpose takes an array: got {type(x).__name__}; numpy.asarray(x) makes one")


def _is_instance(x: Any, library: str, class_name: str) -> bool:
    """Return whether x is of a class of a library, without importing it: nobody has its arrays before that."""
    module = sys.modules.get(library)
    return module is not None and isinstance(x, getattr(module, class_name, ()))


@atexit.register
def _close_gates() -> None:
    """Let no compiled function of JAX call into an interpreter that ends.

    Registered as `cornerturn` is imported: what a program registers after that runs first, and may still transpose.
    """
    close = getattr(sys.modules.get("cornerturn.op.adapters.jax_ffi"), "close", None)
    if close is not None:
        close()
