"""NumPy arrays: moved by the CPU engine, or by NumPy's own copy where that is faster."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from cornerturn.errors import UsageError
from cornerturn.op.adapters.adapter import MainMemory
from cornerturn.op.cpu.plan import streaming_bytes
from cornerturn.op.engines import SMALL_BYTES, move
from cornerturn.op.strided_view import (
    AnyArray,
    check_destination,
    check_ndim,
    empty_c_order,
    normalized_axes,
    view_of,
)


class NumpyAdapter(MainMemory):
    """``numpy.ndarray``, of any strides and dtype without object references; subclasses come back as plain arrays."""

    array = np.ndarray

    def check_input(self, x: AnyArray) -> None:
        """Refuse masks, objects, and more axes than the engines take."""
        if isinstance(x, np.ma.MaskedArray):
            raise UsageError("a masked array would lose its mask: transpose x.data and x.mask each on its own")
        if x.dtype.hasobject:
            raise UsageError(f"elements must be plain bytes: dtype {x.dtype} holds references; use numpy.transpose")
        check_ndim(x.ndim)

    def check_writable(self, out: AnyArray) -> None:
        """Refuse masks, and arrays that are read-only."""
        if isinstance(out, np.ma.MaskedArray):
            raise UsageError("out must not be a masked array, whose mask would stay as it is: pass out.data")
        if not out.flags.writeable:
            raise UsageError("out is read-only: pass a writable array")

    def transpose(self, x: AnyArray, axes: Sequence[int] | None = None, out: Any = None) -> AnyArray:
        """As every adapter does, but by fewer calls: on the smallest arrays each one counts."""
        self.check_input(x)
        view = np.asarray(x).transpose(None if axes is None else normalized_axes(axes, x.ndim))
        if out is None:
            if x.nbytes and _is_easy(x, view):  # copy() would give elements of no bytes one
                return view.copy(order="C")
            result = empty_c_order(view.shape, x.dtype)
        else:
            self.check_output(x, view.shape, out)
            if not out.flags.c_contiguous or np.may_share_memory(x, out):
                if _same_elements(view, out):
                    return out  # type: ignore[no-any-return]
                check_destination(view_of(x), view_of(out))
            if _is_easy(x, view):
                np.copyto(out, view)
                return out  # type: ignore[no-any-return]
            result = out
        move(view_of(view), view_of(result))
        return result


def _is_easy(x: AnyArray, view: AnyArray) -> bool:
    """Return whether NumPy's own copy is faster: for few elements, and for one run of bytes that the caches hold."""
    small = SMALL_BYTES * max(1, x.itemsize // 4)
    return x.nbytes <= small or (x.nbytes < streaming_bytes() and view.flags.c_contiguous)


def _same_elements(view: AnyArray, out: AnyArray) -> bool:
    """Return whether every element already is where it is to be written."""
    return view.ctypes.data == out.ctypes.data and all(
        here == there or extent <= 1 for extent, here, there in zip(view.shape, view.strides, out.strides, strict=True)
    )


ADAPTER = NumpyAdapter()
