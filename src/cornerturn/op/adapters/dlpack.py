"""Any other library in main memory, through DLPack: https://dmlc.github.io/dlpack/latest/python_spec.html."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from cornerturn.errors import UsageError
from cornerturn.op.adapters.adapter import MainMemory
from cornerturn.op.strided_view import AnyArray

_CPU = 1  # kDLCPU


class DlpackAdapter(MainMemory):
    """Arrays that export DLPack in main memory: read without a copy.

    The result is of x's own library if it has the Array API standard's ``__array_namespace__``, else NumPy's. There is
    no ``out``: DLPack does not say whether an array may be written to.
    """

    array = np.ndarray

    def ndim(self, x: Any) -> int:
        """Return the number of axes of an array."""
        return read(x).ndim

    def transpose(self, x: Any, axes: Sequence[int] | None = None, out: Any = None) -> Any:
        """As every adapter does, between NumPy arrays that share the memory of x and of the result."""
        if out is not None:
            raise UsageError(f"out= does not work for x of type {type(x).__name__} in main memory: omit it")
        result = super().transpose(read(x), axes)
        return x.__array_namespace__().from_dlpack(result) if hasattr(x, "__array_namespace__") else result

    def explain(self, x: Any, axes: Sequence[int] | None = None) -> Any:
        """As every adapter does, on the NumPy array that shares x's memory."""
        return super().explain(read(x), axes)


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


ADAPTER = DlpackAdapter()
