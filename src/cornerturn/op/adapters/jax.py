"""JAX arrays: a primitive of JAX's own kind, which ``jit``, ``grad`` and ``vmap`` understand.

Importing this module defines it; `cornerturn.transpose` does so at the first array. In a compiled function the
primitive is a custom call (`jax_ffi`).
"""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from cornerturn.errors import UsageError
from cornerturn.op.adapters.adapter import MainMemory
from cornerturn.op.adapters.numpy import few
from cornerturn.op.cpu.plan import FEW_ELEMENTS, Plan
from cornerturn.op.strided_view import StridedView, c_order, check_ndim, normalized_axes, view_of

if TYPE_CHECKING:
    from cornerturn.op.gpu.choice import Choice

Array = Any  # jax.Array, or a tracer: the type checker does not follow jax

transpose_p = Primitive("cornerturn_transpose")


class JaxAdapter(MainMemory):
    """``jax.Array`` and tracers: the primitive, which JAX runs or compiles.

    On a CPU, outside ``jit``, NumPy reads x without a copy, and the result shares the memory of NumPy's.
    """

    array = jax.Array

    def transpose(self, x: Array, axes: Sequence[int] | None = None, out: Any = None) -> Array:
        """Return a new ``jax.Array`` with the axes of ``x`` permuted; see `cornerturn.transpose`.

        Args:
            x: array on one device, a CPU or an NVIDIA GPU, or a tracer; any dtype but keys of random numbers, and of
                less than a byte only on a CPU outside ``jit``.
            axes: axis ``axes[i]`` of ``x`` becomes axis i of the result; None reverses them.
            out: must be None: JAX arrays never change.

        Raises:
            UsageError: ``x``, ``axes`` or ``out`` breaks one of these rules.
        """
        if out is not None:
            raise UsageError("JAX arrays never change, so none can be out: omit it")
        _check_elements(x)
        check_ndim(x.ndim)
        if isinstance(x, jax.core.Tracer):
            _check_bytes(x)
        return transpose_p.bind(x, axes=normalized_axes(axes, x.ndim))

    def explain(self, x: Array, axes: Sequence[int] | None = None) -> "Plan | Choice":
        """As every adapter does; a tracer has no memory, and is refused."""
        _check_elements(x)
        if isinstance(x, jax.core.Tracer):
            raise UsageError("x is traced and has no memory: call explain_plan outside of jit, grad and vmap")
        _check_place(x)
        return super().explain(np.asarray(x) if x.device.platform == "cpu" else x, axes)

    def view(self, x: Array) -> StridedView:
        """Return the strided view of NumPy's array, or of JAX's own on a GPU, where XLA keeps it in C order."""
        if isinstance(x, np.ndarray):
            return view_of(x)
        return c_order(x.shape, x.dtype.itemsize, x.unsafe_buffer_pointer(), x)

    def plan(self, source: StridedView, x: Array) -> "Plan | Choice":
        """Return the plan of the CPU engine for NumPy's array, else the candidates on x's GPU."""
        if isinstance(x, np.ndarray):
            return super().plan(source, x)
        from cornerturn.op.adapters.cuda_array import device_of
        from cornerturn.op.gpu.engine import choice_for

        with device_of(source.pointer) as ordinal:
            return choice_for(source, ordinal)


ADAPTER = JaxAdapter()


def _check_elements(x: Array) -> None:
    if jax.dtypes.issubdtype(x.dtype, jax.dtypes.extended):
        raise UsageError(f"elements must be plain bytes: got dtype {x.dtype}; use jax.numpy.permute_dims")


def _check_place(x: Array) -> None:
    if x.is_deleted():
        raise UsageError("x is deleted, as are arrays that a call takes over (donate_argnums): pass a copy there")
    if len(x.devices()) != 1:
        raise UsageError(
            f"x is spread over {len(x.devices())} devices: transpose its shards, x.addressable_shards, "
            "or call within jax.shard_map"
        )
    client = x.device.client
    if x.device.platform not in ("cpu", "gpu", "cuda") or "rocm" in client.platform_version:
        raise UsageError(f"x is on device {x.device}, and no engine here serves it: use jax.numpy.permute_dims")
    if x.device.platform != "cpu":
        _check_bytes(x)
        if x.sharding.memory_kind not in (None, "device"):
            raise UsageError(
                f"x is in memory of kind {x.sharding.memory_kind}: move it to that of its device, "
                "jax.device_put(x, x.device)"
            )


def _check_bytes(x: Array) -> None:
    if (bits := _bits(x)) < 8:
        raise UsageError(f"XLA packs elements of {bits} bits: got dtype {x.dtype}; use jax.numpy.permute_dims")


def _bits(x: Array) -> int:
    """Return how many bits of memory XLA gives to an element."""
    if x.dtype == bool:
        return 8
    numbers = jax.numpy.iinfo if jax.dtypes.issubdtype(x.dtype, np.integer) else jax.numpy.finfo
    return int(numbers(x.dtype).bits)


def _eager(x: Array, *, axes: tuple[int, ...]) -> Array:
    """Transpose an array that has its memory."""
    _check_place(x)
    return (_eager_on_cpu if _is_plain(x) else _eager_by_call)(x, axes)


def _is_plain(x: Array) -> bool:
    """Return whether x is on a CPU and says no more of itself than NumPy's memory and a device can bring along."""
    if x.device.platform != "cpu":
        return False
    plain = not x.weak_type and isinstance(x.sharding, jax.sharding.SingleDeviceSharding)
    return plain or _bits(x) < 8  # which no compiled call takes


def _eager_on_cpu(x: Array, axes: tuple[int, ...]) -> Array:
    """Write into memory of NumPy's: for large arrays its pages come cheaper than XLA's."""
    source = np.asarray(x)  # shares memory on the CPU, also for the dtypes that DLPack lacks in NumPy
    small = few(source, axes, None) if source.size <= FEW_ELEMENTS else None
    result = ADAPTER.moved(view_of(source).permuted(axes), source) if small is None else small
    # x64, or a 64-bit array made while it was on would come back narrowed
    with jax.enable_x64(True), jax.default_device(x.device):
        if x.committed:
            return jax.device_put(result, x.device, may_alias=True)  # shares memory: result starts a cache line
        if small is None:  # an array that was put nowhere may meet those of any device
            return jax.device_put(result, may_alias=True)
        with jax.transfer_guard_host_to_device("allow"):
            return jax.numpy.asarray(small)  # copies, in two thirds of the time of a call of device_put


def _eager_by_call(x: Array, axes: tuple[int, ...]) -> Array:
    """Let XLA allocate the result and call the engine, on its own stream."""
    with jax.default_device(x.device), jax.disable_jit(False):  # whatever the caller's settings
        return _compiled(x, axes)


@partial(jax.jit, static_argnums=1)
def _compiled(x: Array, axes: tuple[int, ...]) -> Array:
    return transpose_p.bind(x, axes=axes)


def _lowered(context: Any, x: Any, *, axes: tuple[int, ...]) -> Any:
    from cornerturn.op.adapters import jax_ffi  # which compiles: not for those who stay on a CPU and outside jit

    itemsize = context.avals_in[0].dtype.itemsize
    return jax.ffi.ffi_lowering(jax_ffi.TARGET)(context, x, **jax_ffi.attributes(axes, itemsize))


def _transposed(cotangent: Array, x: Any, *, axes: tuple[int, ...]) -> list[Array]:
    """The cotangent of a permutation is permuted back."""
    return [transpose_p.bind(cotangent, axes=tuple(sorted(range(len(axes)), key=axes.__getitem__)))]


def _batched(arrays: tuple[Array], dims: tuple[int], *, axes: tuple[int, ...]) -> tuple[Array, int]:
    """The batch axis goes first; the axes behind it in memory have a place more than ``axes`` says."""
    (x,), (batch,) = arrays, dims
    return transpose_p.bind(x, axes=(batch, *(axis + (axis >= batch) for axis in axes))), 0


transpose_p.def_impl(_eager)
# Shape, sharding and whatever else JAX traces are those of its own transpose.
transpose_p.def_effectful_abstract_eval(
    lambda x, *, axes: jax.lax.transpose_p.abstract_eval(x, permutation=axes)  # (what comes out, its effects)
)
ad.deflinear2(transpose_p, _transposed)
batching.primitive_batchers[transpose_p] = _batched
for _platform in ("cpu", "cuda"):
    mlir.register_lowering(transpose_p, _lowered, platform=_platform)
