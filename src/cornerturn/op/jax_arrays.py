"""JAX arrays in main memory, read and returned without a copy."""

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from cornerturn.errors import UsageError
from cornerturn.op.arrays import check_ndim, empty_c_order, normalized_axes, view_of
from cornerturn.op.engines import move_on_cpu


def transpose(x: Any, axes: Sequence[int] | None = None, out: Any = None) -> Any:
    """Return a new ``jax.Array`` with the axes of ``x`` permuted; see `cornerturn.transpose`.

    Args:
        x: concrete array on one CPU device, any dtype but keys of random numbers.
        axes: axis ``axes[i]`` of ``x`` becomes axis i of the result; None reverses them.
        out: must be None: JAX arrays never change.

    Raises:
        UsageError: ``x``, ``axes`` or ``out`` breaks one of these rules.
    """
    _check(x, out)
    order = normalized_axes(axes, x.ndim)
    source = np.asarray(x)  # shares memory on the CPU, also for the dtypes that DLPack lacks in NumPy
    result = empty_c_order(tuple(x.shape[axis] for axis in order), source.dtype)
    move_on_cpu(view_of(source).permuted(order), view_of(result))
    with jax.enable_x64(True):  # or a 64-bit array made while it was on would come back narrowed
        return jax.device_put(result, x.device, may_alias=True)  # shares memory: result starts a cache line


def _check(x: Any, out: Any) -> None:
    if isinstance(x, jax.core.Tracer):
        raise UsageError(
            "x is traced by JAX (jit, grad, vmap ...) and has no memory yet: "
            "use jax.numpy.permute_dims(x, axes) there, and cornerturn outside"
        )
    if out is not None:
        raise UsageError("JAX arrays never change, so none can be out: leave it away")
    if jax.dtypes.issubdtype(x.dtype, jax.dtypes.extended):
        raise UsageError(f"elements must be plain bytes: got dtype {x.dtype}; use jax.numpy.permute_dims")
    if len(x.devices()) != 1:
        raise UsageError(f"x is spread over {len(x.devices())} devices: transpose its shards, x.addressable_shards")
    if x.device.platform != "cpu":
        raise UsageError(f"x is on device {x.device}, and no engine here serves it: use jax.numpy.permute_dims")
    check_ndim(x.ndim)
