"""NumPy arrays: moved by the CPU engine, or by NumPy's own copy where that is predicted to be faster."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from operator import index
from typing import Any, NamedTuple

import numpy as np
from numpy.ma import MaskedArray  # which NumPy would import in a call, and no fork wait for

from cornerturn.errors import UsageError
from cornerturn.op.adapters.adapter import MainMemory
from cornerturn.op.cpu import engine
from cornerturn.op.cpu.plan import Plan, plan_move
from cornerturn.op.cpu.way import NUMPY_COPY
from cornerturn.op.strided_view import (
    MAX_NDIM,
    AnyArray,
    check_destination,
    check_ndim,
    empty_c_order,
    normalized_axes,
    view_of,
)

_CALLS_MAX = 4096
_NUMBERS = "biufc"  # kinds of dtypes that copy() keeps as they are, and that hold no references
_ndarray, _may_share = np.ndarray, np.may_share_memory  # a look-up less in a call of half a microsecond


class _Call(NamedTuple):
    """How arrays of one layout are moved.

    Attributes:
        given: the axes as they were given.
        order: the same, normal; None reverses them.
        shape: of the result.
        kernel: what to call; None where NumPy copies.
        address: of the numbers that it reads.
        scratch_bytes: that it needs.
        launch: what holds the numbers.
    """

    given: Any
    order: tuple[int, ...] | None
    shape: tuple[int, ...]
    kernel: Callable[[int, int, int, int, int], None] | None = None
    address: int = 0
    scratch_bytes: int = 0
    launch: engine.Reference | None = None


_calls: dict[tuple[Any, ...], _Call] = {}


def few(x: AnyArray, axes: Any, out: Any) -> AnyArray | None:
    """Let NumPy move elements so few that a look-up takes longer; None where a rule of ``transpose`` may be broken.

    Args:
        x: of class ``numpy.ndarray`` itself.
        axes: as in ``transpose``.
        out: as in ``transpose``.
    """
    dtype = x.dtype
    if dtype.kind not in _NUMBERS or x.ndim > MAX_NDIM:
        return None
    if axes is None:
        view = x.T
    elif type(axes) is tuple or type(axes) is list:
        try:
            view = x.transpose(axes)
        except (TypeError, ValueError):
            return None
    else:  # NumPy takes bytes too
        return None
    if out is None:
        return view.copy()
    if type(out) is not _ndarray or out.shape != view.shape or out.dtype != dtype:
        return None
    if not out.flags.c_contiguous or not _may_write(x, out):
        return None
    out[...] = view
    return out


def known(x: AnyArray, axes: Any, out: Any) -> AnyArray | None:
    """Do what an earlier call did with arrays of this layout, by as few steps as there are; None if there was none.

    Args:
        x: of class ``numpy.ndarray`` itself.
        axes: as in ``transpose``.
        out: as in ``transpose``.
    """
    try:
        if out is None:
            given, order, shape, kernel, address, nbytes, _ = _calls[x.shape, x.strides, x.dtype, axes]
        elif type(out) is _ndarray and out.dtype == x.dtype and _may_write(x, out):
            key = x.shape, x.strides, x.dtype, axes, out.shape, out.strides
            given, order, shape, kernel, address, nbytes, _ = _calls[key]
        else:
            return None
        if axes is not given:
            tuple(map(index, axes))  # 1.0 finds what 1 did
    except (KeyError, TypeError):
        return None
    if kernel is None:
        view = x.T if order is None else x.transpose(order)
        if out is None:
            return view.copy()
        out[...] = view
        return out  # type: ignore[no-any-return]
    result = np.empty(shape, x.dtype) if out is None else out
    kernel(id(x), id(result), address, 0, engine.scratch(nbytes) if nbytes else 0)
    return result


def _may_write(x: AnyArray, out: AnyArray) -> bool:
    """Return whether ``out`` may be written while x is read; two arrays that own their memory share none."""
    flags = out.flags
    apart = flags.owndata and x.flags.owndata and x is not out
    return flags.writeable and (apart or not _may_share(x, out))


class NumpyAdapter(MainMemory):
    """``numpy.ndarray``, of any strides and dtype without object references; subclasses come back as plain arrays."""

    array = np.ndarray

    def check_input(self, x: AnyArray) -> None:
        """Refuse masks, objects, and more axes than the engines take."""
        if isinstance(x, MaskedArray):
            raise UsageError("a masked array would lose its mask: transpose x.data and x.mask each on its own")
        if x.dtype.hasobject:
            raise UsageError(f"elements must be plain bytes: dtype {x.dtype} holds references; use numpy.transpose")
        check_ndim(x.ndim)

    def check_writable(self, out: AnyArray) -> None:
        """Refuse masks, and arrays that are read-only."""
        if isinstance(out, MaskedArray):
            raise UsageError("out must not be a masked array, whose mask would stay as it is: pass out.data")
        if not out.flags.writeable:
            raise UsageError("out is read-only: pass a writable array")

    def transpose(self, x: AnyArray, axes: Sequence[int] | None = None, out: Any = None) -> AnyArray:
        """As every adapter does, but NumPy copies itself what the plan gives it, and a small move is remembered."""
        self.check_input(x)
        order = normalized_axes(axes, x.ndim)
        view = np.asarray(x).transpose(order)
        if out is None:
            result = empty_c_order(view.shape, x.dtype)
        else:
            self.check_output(x, view.shape, out)
            if not out.flags.c_contiguous or np.may_share_memory(x, out):
                if _same_elements(view, out):
                    return out  # type: ignore[no-any-return]
                check_destination(view_of(x), view_of(out))
            result = out
        if not view.nbytes:
            return result
        source, destination = view_of(view), view_of(result)
        plan = plan_move(source, destination)
        if plan.kernel == NUMPY_COPY:
            np.copyto(result, view)
        else:
            engine.run(plan, source.pointer, destination.pointer, (x, result))
        if type(x) is np.ndarray:
            _remember(x, axes, out, order, plan)
        return result


def _remember(x: AnyArray, axes: Any, out: Any, order: tuple[int, ...], plan: Plan) -> None:
    """Keep how a small move is done; a large one may need threads and an output of its own alignment."""
    call = _Call(axes, None if axes is None else order, tuple(x.shape[axis] for axis in order))
    if plan.kernel != NUMPY_COPY:
        launch = engine.by_reference(plan)
        if launch is None:
            return
        call = call._replace(
            kernel=launch.kernel, address=launch.address, scratch_bytes=launch.scratch_bytes, launch=launch
        )
    if isinstance(axes, list):
        call = call._replace(given=tuple(axes))
    key: tuple[Any, ...] = (x.shape, x.strides, x.dtype, call.given)
    if out is not None:
        key += (out.shape, out.strides)
    if len(_calls) >= _CALLS_MAX:
        _calls.clear()
    with suppress(TypeError):  # axes of a kind that has no hash
        _calls[key] = call


def _same_elements(view: AnyArray, out: AnyArray) -> bool:
    """Return whether every element already is where it is to be written."""
    return view.ctypes.data == out.ctypes.data and all(
        here == there or extent <= 1 for extent, here, there in zip(view.shape, view.strides, out.strides, strict=True)
    )


ADAPTER = NumpyAdapter()
