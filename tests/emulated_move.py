"""One move by a production kernel on the emulator, checked whole."""

import math
from typing import Any

import numpy as np

from cornerturn.emulator import Emulation, Memory, emulate
from cornerturn.emulator.memory import Allocation
from cornerturn.kernels.kernel import Launch
from cornerturn.kernels.production.axes import MoveAxis
from cornerturn.kernels.production.device_code import Production
from cornerturn.toolchain import Image, compile_source


def run(
    kernel: Production, shape: tuple[int, ...], order: tuple[int, ...], element: int, x_skew: int = 0, y_skew: int = 0
) -> Emulation:
    """Emulate one move of random bytes, and check every byte of it and that nothing was done wrong."""
    x = np.random.default_rng(0).integers(0, 256, (*shape, element), dtype=np.uint8)
    want = np.ascontiguousarray(x.transpose(*order, len(shape)))
    y = np.zeros_like(want)
    memory = Memory()
    arrays = {
        "x": memory.bind(x.reshape(-1), "x", skew=x_skew),
        "y": memory.bind(y.reshape(-1), "y", written=False, skew=y_skew),
    }
    emulation = launched(image_of(kernel), kernel.launch, arrays, memory)
    assert not emulation.hazards
    assert not len(arrays["y"].unwritten())
    assert np.array_equal(y, want)
    return emulation


def image_of(kernel: Production) -> Image:
    """Compile a production kernel."""
    return compile_source(kernel.source).image(kernel.entry)


def launched(image: Image, launch: Launch, arrays: dict[str, Allocation], memory: Memory, **how: Any) -> Emulation:
    """Emulate a launch on arrays that are bound already; ``how`` is for the emulator."""
    return emulate(
        image.ptx,
        image.symbol,
        memory,
        grid=launch.grid,
        block=launch.block,
        arguments=[arrays[item] if isinstance(item, str) else item for item in launch.arguments],
        shared_bytes=launch.shared_bytes,
        **how,
    )


def moved_axes(shape: tuple[int, ...], order: tuple[int, ...], element: int) -> list[MoveAxis]:
    """The axes of ``x.transpose(order)`` into a C-contiguous y."""
    strides_in = [element * math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
    result = [shape[axis] for axis in order]
    return [(shape[axis], strides_in[axis], element * math.prod(result[k + 1 :])) for k, axis in enumerate(order)]
