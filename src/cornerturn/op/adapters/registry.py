"""Which adapter serves an array. No library is imported unless its array is here."""

import atexit
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from cornerturn.errors import UsageError

if TYPE_CHECKING:
    from cornerturn.op.adapters.adapter import Adapter

_DLPACK_CUDA = (2, 13)  # kDLCUDA, kDLCUDAManaged
_registered: dict[type, "Adapter"] = {}


def register(adapter: "Adapter") -> None:
    """Let an adapter serve the arrays of its class and of subclasses.

    Those of NumPy, PyTorch, JAX and CuPy keep their own adapters.
    """
    _registered[adapter.array] = adapter


def adapter_of(x: Any) -> "Adapter":
    """Return the adapter that serves an array of any library but NumPy.

    Raises:
        UsageError: there is none.
    """
    module: ModuleType
    # In this form torch.compile traces an import, and one that is done already costs the host of a GPU least.
    if _is_instance(x, "torch", "Tensor"):
        import cornerturn.op.adapters.torch as module
    elif _is_instance(x, "jax", "Array"):
        import cornerturn.op.adapters.jax as module
    elif _is_instance(x, "cupy", "ndarray"):
        import cornerturn.op.adapters.cupy as module
    else:
        for array, adapter in _registered.items():
            if isinstance(x, array):
                return adapter
        if _is_on_cuda(x):
            import cornerturn.op.adapters.cuda_array as module
        elif _exports_dlpack(x):
            import cornerturn.op.adapters.dlpack as module
        else:
            raise UsageError(_refusal(x))
    return module.ADAPTER  # type: ignore[no-any-return]


_NOT_IN_MEMORY = {
    "scipy": ("a sparse matrix", "x.toarray() makes an array; x.T stays sparse"),
    "sparse": ("a sparse array", "x.todense() makes an array; x.T stays sparse"),
    "dask": (
        "an array in blocks that are not computed yet",
        "x.compute() makes an array; x.T.map_blocks(lambda block: cornerturn.transpose(block.T)) goes block by block",
    ),
    "zarr": ("an array in a store", "x[...] reads it"),
    "h5py": ("a data set in a file", "x[...] reads it"),
    "pandas": ("a table or a column of one", "x.to_numpy() makes an array"),
    "polars": ("a table or a column of one", "x.to_numpy() makes an array"),
    "xarray": ("an array with names", "x.data is the array in it"),
}
"""What objects of a library are that this package does not move, and what to do, by the library's name."""


def _refusal(x: Any) -> str:
    """Return why an object is not moved, and what to do."""
    kind = f"{type(x).__module__}.{type(x).__qualname__}"
    library = kind.partition(".")[0]
    if library in _NOT_IN_MEMORY:
        what, remedy = _NOT_IN_MEMORY[library]
        return f"transpose takes an array in memory: got {kind}, {what}; {remedy}"
    return f"transpose takes an array: got {type(x).__name__}; numpy.asarray(x) makes one"


def _is_instance(x: Any, library: str, class_name: str) -> bool:
    """Return whether x is of a class of a library, without importing it: nobody has its arrays before that."""
    module = sys.modules.get(library)
    return module is not None and isinstance(x, getattr(module, class_name, ()))


def _is_on_cuda(x: Any) -> bool:
    if hasattr(x, "__cuda_array_interface__"):
        return True
    return _exports_dlpack(x) and x.__dlpack_device__()[0] in _DLPACK_CUDA


def _exports_dlpack(x: Any) -> bool:
    return hasattr(x, "__dlpack__") and hasattr(x, "__dlpack_device__")


@atexit.register
def _close_gates() -> None:
    """Let no compiled function of JAX call into an interpreter that ends.

    Registered as `cornerturn` is imported: what a program registers after that runs first, and may still transpose.
    """
    close = getattr(sys.modules.get("cornerturn.op.adapters.jax_ffi"), "close", None)
    if close is not None:
        close()
