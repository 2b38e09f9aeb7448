"""Any other library in main memory, through DLPack: https://dmlc.github.io/dlpack/latest/python_spec.html."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from cornerturn.errors import UsageError
from cornerturn.op.engines import move_on_cpu
from cornerturn.op.strided_view import AnyArray, check_ndim, empty_c_order, normalized_axes, view_of

_CPU = 1  # kDLCPU


def transpose(x: Any, axes: Sequence[int] | None = None, out: Any = None) -> Any:
    """Return a new array with the axes of ``x`` permuted; see `cornerturn.transpose`.

    Args:
        x: exports DLPack, in main memory. Read without a copy.
        axes: axis ``axes[i]`` of ``x`` becomes axis i of the result; None reverses them.
        out: must be None: DLPack does not say whether an array may be written to.

    Returns:
        An array of x's own library if it has the Array API standard's ``__array_namespace__``, else a NumPy array.

    Raises:
        UsageError: ``x``, ``axes`` or ``out`` breaks one of these rules.
    """
    if out is not None:
        raise UsageError(f"out= does not work for x of type {type(x).__name__} in main memory: leave it away")
    source = read(x)
    check_ndim(source.ndim)
    order = normalized_axes(axes, source.ndim)
    result = empty_c_order(tuple(source.shape[axis] for axis in order), source.dtype)
    move_on_cpu(view_of(source).permuted(order), view_of(result))
    return x.__array_namespace__().from_dlpack(result) if hasattr(x, "__array_namespace__") else result


def read(x: Any) -> AnyArray:
    """Return x as a NumPy array that shares its memory.

    Raises:
        UsageError: x is not in main memory, or of a dtype that NumPy lacks.
    """
    device, index = x.__dlpack_device__()
    if device != _CPU:
        raise UsageError(
            f"x is on DLPack device ({int(device)}, {index}), and no engine here serves it: copy it to the CPU"
        )
    try:
        return np.from_dlpack(x)
    except (BufferError, RuntimeError, TypeError) as error:
        raise UsageError(f"NumPy cannot read x of type {type(x).__name__}: {error}") from error
