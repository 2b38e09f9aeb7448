"""The public functions: any array in, its transposed copy out."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from cornerturn.errors import UsageError
from cornerturn.op.adapters import registry
from cornerturn.op.cpu.plan import Plan, plan_move, streaming_bytes
from cornerturn.op.engines import SMALL_BYTES, move_on_cpu
from cornerturn.op.strided_view import (
    AnyArray,
    c_order,
    check_destination,
    check_ndim,
    empty_c_order,
    normalized_axes,
    view_of,
)


def transpose(x: Any, axes: Sequence[int] | None = None, *, out: Any = None) -> Any:
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
    if not isinstance(x, np.ndarray):
        return registry.transpose(x, axes, out)
    _check_input(x)
    order = normalized_axes(axes, x.ndim)
    view = np.asarray(x).transpose(order)
    if out is None:
        if x.nbytes and _is_easy(x, view):  # copy() would give elements of no bytes one
            return view.copy(order="C")
        out = empty_c_order(view.shape, x.dtype)
    else:
        _check_output(out, view)
        if not out.flags.c_contiguous or np.may_share_memory(x, out):
            if _same_elements(view, out):
                return out
            check_destination(view_of(x), view_of(out))
        if _is_easy(x, view):
            np.copyto(out, view)
            return out
    move_on_cpu(view_of(view), view_of(out))
    return out


def matrix_transpose(x: Any, *, out: Any = None) -> Any:
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
    ndim = registry.ndim_of(x)
    if ndim < 2:
        raise UsageError(f"matrix_transpose exchanges the last two axes: x has {ndim}; give it at least two")
    return transpose(x, (*range(ndim - 2), ndim - 1, ndim - 2), out=out)


def permute_dims(x: Any, axes: Sequence[int], *, out: Any = None) -> Any:
    """Return a C-contiguous copy of ``x`` with its axes permuted (Array API ``permute_dims``).

    ``transpose`` with ``axes`` required.

    Example:
        >>> permute_dims(np.zeros((2, 3, 4)), (2, 0, 1)).shape
        (4, 2, 3)
    """
    return transpose(x, axes, out=out)


def explain_plan(x: Any, axes: Sequence[int] | None = None) -> Plan:
    """Return how ``transpose(x, axes)`` would move the elements on the CPU; print it to read it.

    Raises:
        UsageError: as ``transpose``.
    """
    if not isinstance(x, np.ndarray):
        raise UsageError(f"explain_plan takes a NumPy array: got {type(x).__name__}; numpy.asarray(x) makes one")
    _check_input(x)
    view = np.asarray(x).transpose(normalized_axes(axes, x.ndim))
    if not view.nbytes:
        raise UsageError(f"x of shape {x.shape} is empty: there is nothing to plan")
    return plan_move(view_of(view), c_order(view.shape, view.itemsize))


def _is_easy(x: AnyArray, view: AnyArray) -> bool:
    """Return whether NumPy's own copy is faster: for few elements, and for one run of bytes that the caches hold."""
    small = SMALL_BYTES * max(1, x.itemsize // 4)
    return x.nbytes <= small or (x.nbytes < streaming_bytes() and view.flags.c_contiguous)


def _check_input(x: AnyArray) -> None:
    if isinstance(x, np.ma.MaskedArray):
        raise UsageError("a masked array would lose its mask: transpose x.data and x.mask each on its own")
    if x.dtype.hasobject:
        raise UsageError(f"elements must be plain bytes: dtype {x.dtype} holds references; use numpy.transpose")
    check_ndim(x.ndim)


def _check_output(out: Any, view: AnyArray) -> None:
    if not isinstance(out, np.ndarray):
        raise UsageError(f"out must be a numpy.ndarray as x is: got {type(out).__name__}")
    if isinstance(out, np.ma.MaskedArray):
        raise UsageError("out must not be a masked array, whose mask would stay as it is: pass out.data")
    if out.shape != view.shape:
        raise UsageError(f"out must have the result's shape {view.shape}: got {out.shape}")
    if out.dtype != view.dtype:
        raise UsageError(f"out must have x's dtype {view.dtype}: got {out.dtype}; nothing is converted")
    if not out.flags.writeable:
        raise UsageError("out is read-only: pass a writeable array")


def _same_elements(view: AnyArray, out: AnyArray) -> bool:
    """Return whether every element already lies where it is to be written."""
    return view.ctypes.data == out.ctypes.data and all(
        here == there or extent <= 1 for extent, here, there in zip(view.shape, view.strides, out.strides, strict=True)
    )
