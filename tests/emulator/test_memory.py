"""Arrays in global memory: which of their elements were written, and which arrays can be bound."""

from typing import Any

import numpy as np
import pytest

from cornerturn.emulator import Memory, emulate
from cornerturn.errors import EmulatorError

from .harness import image_of, ints, kernel


def _unwritten(body: str, dtype: Any, size: int) -> list[int]:
    memory = Memory()
    y = memory.bind(np.zeros(size, dtype), "y", written=False)
    image = image_of(kernel(f"{ {1: 'char', 4: 'int', 8: 'double'}[np.dtype(dtype).itemsize] }* y", body))
    emulate(image.ptx, image.symbol, memory, grid=(1, 1, 1), block=(32, 1, 1), arguments=[y])
    return [int(n) for n in y.unwritten()]


@pytest.mark.parametrize(
    ("body", "dtype", "missing"),
    [
        ("y[i] = 1;", np.int32, []),
        ("if (i != 3 && i != 17) y[i] = 1;", np.int32, [3, 17]),
        ("((char*)y)[i * 4 + 1] = 1; if (i == 2) y[i] = 0;", np.int32, [n for n in range(32) if n != 2]),
        ("((int2*)y)[i / 2] = make_int2(1, 2);", np.int32, []),
        ("((int*)y)[i] = 1;", np.float64, [*range(16, 32)]),
        ("if (i < 31) y[i] = 0;", np.int8, [31]),
    ],
)
def test_output_that_nobody_wrote_is_known(body: str, dtype: Any, missing: list[int]):
    assert _unwritten(body, dtype, 32) == missing


def test_an_array_must_be_contiguous():
    with pytest.raises(EmulatorError, match=r"array x is not C-contiguous: pass numpy\.ascontiguousarray\(x\)"):
        Memory().bind(ints(16).reshape(4, 4).T, "x")
