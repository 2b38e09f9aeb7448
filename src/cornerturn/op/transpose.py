"""The public functions: any array in, its transposed copy out."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from cornerturn.errors import UsageError
from cornerturn.op.adapters.numpy import ADAPTER as NUMPY
from cornerturn.op.adapters.numpy import few, known
from cornerturn.op.adapters.registry import adapter_of
from cornerturn.op.cpu.plan import FEW_ELEMENTS

if TYPE_CHECKING:
    from cornerturn.op.cpu.plan import Plan
    from cornerturn.op.gpu.choice import Choice

Array = TypeVar("Array")
"""An array of any library: what comes back is one of the same."""

_ndarray = np.ndarray  # a look-up less


def transpose(x: Array, axes: Sequence[int] | None = None, *, out: Array | None = None) -> Array:
    """Return a C-contiguous copy of ``x`` with its axes permuted.

    Args:
        x: array of NumPy, PyTorch, CuPy, JAX, Numba, or any library that exports ``__cuda_array_interface__`` or
            DLPack, of any rank up to 32, any strides, any dtype without object references.
        axes: axis ``axes[i]`` of ``x`` becomes axis i of the result; None reverses them. As in ``numpy.transpose``.
        out: array of x's library and the result's shape and dtype to write into, any strides, sharing no memory
            with ``x``. Not for arrays of JAX, nor for those that only export DLPack in main memory.

    Returns:
        ``out``, or a new array of x's library with its own memory: also where the transpose could have been a view.

    Raises:
        UsageError: ``x``, ``axes`` or ``out`` breaks one of these rules.

    Example:
        >>> x = np.arange(6).reshape(2, 3)
        >>> transpose(x)
        array([[0, 3],
               [1, 4],
               [2, 5]])
        >>> transpose(x, out=np.empty((3, 2), x.dtype)[::-1]).tolist()
        [[0, 3], [1, 4], [2, 5]]
    """
    if type(x) is _ndarray:
        few_or_known = few if x.size <= FEW_ELEMENTS else known  # type: ignore[attr-defined]
        result: Any = few_or_known(x, axes, out)  # type: ignore[arg-type]
        return NUMPY.transpose(x, axes, out) if result is None else result  # type: ignore[arg-type, return-value]
    return (NUMPY if isinstance(x, np.ndarray) else adapter_of(x)).transpose(x, axes, out)  # type: ignore[no-any-return]


def matrix_transpose(x: Array, *, out: Array | None = None) -> Array:
    """Return a C-contiguous copy of ``x`` with its last two axes exchanged (Array API ``matrix_transpose``).

    Args:
        x: array of at least two axes; leading axes are a stack of matrices.
        out: as in ``transpose``.

    Raises:
        UsageError: ``x`` has fewer than two axes, or breaks a rule of ``transpose``.

    Example:
        >>> matrix_transpose(np.zeros((5, 2, 3))).shape
        (5, 3, 2)
    """
    ndim = x.ndim if hasattr(x, "ndim") else adapter_of(x).ndim(x)
    if ndim < 2:
        raise UsageError(f"matrix_transpose exchanges the last two axes: x has {ndim}; give it at least two")
    return transpose(x, (*range(ndim - 2), ndim - 1, ndim - 2), out=out)


def permute_dims(x: Array, axes: Sequence[int], *, out: Array | None = None) -> Array:
    """Return a C-contiguous copy of ``x`` with its axes permuted (Array API ``permute_dims``).

    ``transpose`` with ``axes`` required.

    Example:
        >>> permute_dims(np.zeros((2, 3, 4)), (2, 0, 1)).shape
        (4, 2, 3)
    """
    return transpose(x, axes, out=out)


def explain_plan(x: Any, axes: Sequence[int] | None = None) -> "Plan | Choice":
    """Return how ``transpose(x, axes)`` would move the elements; print it to read it. Nothing moves.

    Args:
        x: as in ``transpose``, outside of ``jit`` and the like.
        axes: as in ``transpose``.

    Returns:
        the `Plan` of the CPU engine, or the `Choice` among candidates on x's GPU, whose times are predictions.
        Both have the attributes ``problem`` and ``kernel``.

    Raises:
        UsageError: x is empty, or has no memory of its own yet; or as ``transpose``.

    Example:
        >>> explain_plan(np.zeros((4096, 4096), np.float32)).kernel
        'tiles_4'
    """
    if isinstance(x, np.ndarray):
        return NUMPY.explain(x, axes)
    return adapter_of(x).explain(x, axes)
