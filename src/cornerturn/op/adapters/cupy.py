"""CuPy arrays: moved on CuPy's current stream, into memory from CuPy's own pool."""

from collections.abc import Sequence
from typing import Any

import cupy

from cornerturn.errors import UsageError
from cornerturn.op.engines import move_on_gpu
from cornerturn.op.strided_view import StridedView, check_destination, check_ndim, normalized_axes


def transpose(x: Any, axes: Sequence[int] | None = None, out: Any = None) -> Any:
    """Return a C-contiguous ``cupy.ndarray`` with the axes of ``x`` permuted; see `cornerturn.transpose`.

    Args:
        x: array on an NVIDIA GPU, of any strides and dtype.
        axes: axis ``axes[i]`` of ``x`` becomes axis i of the result; None reverses them.
        out: array of the result's shape and x's dtype and device to write into, sharing no memory with ``x``.

    Raises:
        UsageError: ``x``, ``axes`` or ``out`` breaks one of these rules.
    """
    check_ndim(x.ndim)
    order = normalized_axes(axes, x.ndim)
    shape = tuple(x.shape[axis] for axis in order)
    with x.device:
        if out is None:
            out = cupy.empty(shape, x.dtype)
        else:
            _check_output(x, shape, out)
        source, destination = view_of(x).permuted(order), view_of(out)
        if source != destination:
            check_destination(source, destination)
            move_on_gpu(source, destination, cupy.cuda.get_current_stream().ptr, x.device.id)
    return out


def view_of(x: Any) -> StridedView:
    """Return the strided view of a CuPy array."""
    return StridedView(x.data.ptr, x.itemsize, x.shape, x.strides, x)


def _check_output(x: Any, shape: tuple[int, ...], out: Any) -> None:
    if not isinstance(out, cupy.ndarray):
        raise UsageError(f"out must be a cupy.ndarray as x is: got {type(out).__name__}")
    if out.shape != shape:
        raise UsageError(f"out must have the result's shape {shape}: got {out.shape}")
    if out.dtype != x.dtype:
        raise UsageError(f"out must have x's dtype {x.dtype}: got {out.dtype}; nothing is converted")
    if out.device != x.device:
        raise UsageError(f"out must be on x's device {x.device}: got {out.device}; nothing moves between devices")
