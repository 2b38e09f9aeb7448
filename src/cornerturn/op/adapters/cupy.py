"""CuPy arrays: moved on CuPy's current stream, into memory from CuPy's own pool."""

from typing import Any

import cupy

from cornerturn.op.adapters.adapter import Adapter
from cornerturn.op.gpu import engine
from cornerturn.op.gpu.choice import Choice
from cornerturn.op.strided_view import StridedView


class CupyAdapter(Adapter):
    """``cupy.ndarray``, of any strides and dtype."""

    array = cupy.ndarray

    def view(self, x: Any) -> StridedView:
        """Return the strided view of a CuPy array."""
        return StridedView(x.data.ptr, x.itemsize, x.shape, x.strides, x)

    def empty(self, x: Any, shape: tuple[int, ...]) -> Any:
        """Return a new CuPy array on x's device."""
        with x.device:
            return cupy.empty(shape, x.dtype)

    def move(self, source: StridedView, destination: StridedView, x: Any, out: Any) -> None:
        """Move the elements on CuPy's current stream of x's device."""
        with x.device:
            engine.run(source, destination, cupy.cuda.get_current_stream().ptr, x.device.id)

    def plan(self, source: StridedView, x: Any) -> Choice:
        """Return the candidates on x's device."""
        return engine.choice_for(source, x.device.id)


ADAPTER = CupyAdapter()
