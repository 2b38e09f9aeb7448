"""Every number in a kernel's lesson, and the bits it moves, as the emulator sees them."""

from collections import defaultdict
from dataclasses import dataclass

import numpy as np
import pytest

from cornerturn.emulator import Emulation, Memory, emulate
from cornerturn.kernels.catalogue import CATALOGUE
from cornerturn.kernels.kernel import Kernel
from cornerturn.toolchain import build, unavailable_reason

KERNELS = [entry for entry in CATALOGUE if isinstance(entry, Kernel) and entry.family != "production"]
SHAPES = [(1, 1), (2, 65), (7, 9), (33, 65), (100, 60), (1, 520), (520, 1), (36, 132), (144, 144)]


@dataclass(frozen=True)
class Counts:
    """Of one space and kind of access; sectors and lines (global) or wavefronts (shared) of every request."""

    width: int
    requests: int
    sectors: int = 0
    lines: int = 0
    wavefronts: int = 0


def scalar(sectors: int, lines: int) -> Counts:
    return Counts(4, 2048, sectors=sectors, lines=lines)


def vector(sectors: int, lines: int) -> Counts:
    return Counts(16, 512, sectors=sectors, lines=lines)


def shared(wavefronts: int) -> Counts:
    return Counts(4, 2048, wavefronts=wavefronts)


def shared_vector(wavefronts: int) -> Counts:
    return Counts(16, 512, wavefronts=wavefronts)


# Global load, global store, shared store, shared load of a 256 x 256 matrix.
COUNTS: dict[str, tuple[Counts, ...]] = {
    "f32_col2row": (scalar(4, 1), scalar(32, 32)),
    "f32_row2col": (scalar(32, 32), scalar(4, 1)),
    "f32x4_col2row": (vector(16, 4), scalar(32, 32)),
    "f32x4_row2col": (scalar(32, 32), vector(16, 4)),
    "f32_col2row2d": (scalar(4, 2), scalar(16, 16)),
    "f32_row2col2d": (scalar(16, 16), scalar(4, 2)),
    "f32x4_col2row2d": (vector(16, 4), scalar(16, 16)),
    "f32x4_row2col2d": (scalar(16, 16), vector(16, 4)),
    "f32_diagonal2d": (scalar(16, 16), scalar(4, 2)),
    "f32x4_shared_col2row2d": (vector(16, 4), vector(16, 8), shared_vector(4), shared(4)),
    "f32x4_shared_row2col2d": (scalar(4, 2), vector(32, 16), shared(2), shared(2)),
    "f32x4_shared_bcf_col2row2d": (vector(16, 4), vector(16, 8), shared(1), shared(1)),
    "f32x4_shared_bcf_row2col2d": (scalar(4, 2), vector(32, 16), shared(1), shared(1)),
    "f32x4_shared_bcf_merge_write_row2col2d": (scalar(4, 2), vector(16, 4), shared(1), shared(1)),
    "naive": (scalar(4, 1), scalar(32, 32)),
    "tiled_8": (scalar(4, 4), scalar(4, 4), shared(2), shared(2)),
    "tiled_16": (scalar(4, 2), scalar(4, 2), shared(2), shared(2)),
    "tiled_32": (scalar(4, 1), scalar(4, 1), shared(1), shared(1)),
    "shared_no_padding": (scalar(4, 1), scalar(4, 1), shared(1), shared(32)),
    "shared_padding": (scalar(4, 1), scalar(4, 1), shared(1), shared(1)),
    "tiled_vectorized": (vector(16, 4), vector(16, 4), shared(1), shared(1)),
    "tiled_async": (scalar(4, 1), scalar(4, 1), shared(1), shared(1)),
    "cute_row2col_reg": (scalar(16, 16), scalar(4, 2)),
    "cute_col2row_reg": (scalar(4, 2), scalar(16, 16)),
    "cute_col_smem": (scalar(16, 16), scalar(16, 16), shared(8), shared(1)),
    "cute_row_smem": (scalar(4, 2), scalar(4, 2), shared(1), shared(8)),
    "cute_col_smem_swizzled": (scalar(16, 16), scalar(16, 16), shared(1), shared(1)),
    "cute_row_smem_swizzled": (scalar(4, 2), scalar(4, 2), shared(1), shared(1)),
    "cute_row_cvectorized": (scalar(4, 2), vector(16, 4), shared_vector(32), shared_vector(4)),
    "cute_row_cvectorized_swizzled": (scalar(4, 2), vector(16, 4), shared_vector(4), shared_vector(4)),
    "cute_row_rvectorized": (vector(16, 4), scalar(4, 2), shared_vector(4), shared_vector(32)),
    "cute_row_rvectorized_swizzled": (vector(16, 4), scalar(4, 2), shared_vector(4), shared_vector(4)),
    "cute_row_rvectorized_swizzled_optimized": (vector(16, 8), vector(16, 16), shared(1), shared_vector(4)),
    "copy": (vector(16, 4), vector(16, 4)),
}
ENDS = (("global", "load"), ("global", "store"), ("shared", "store"), ("shared", "load"))


def distinct_bits(rows: int, cols: int) -> np.ndarray:
    """Every element another bit pattern, NaNs with payloads among them."""
    return (np.arange(rows * cols, dtype=np.uint32) ^ np.uint32(0x7F800000)).reshape(rows, cols)


def run(kernel: Kernel, x: np.ndarray) -> tuple[np.ndarray, Emulation]:
    """The output, flat, and what was counted."""
    if reason := unavailable_reason(kernel.source):
        pytest.skip(reason)
    y = np.full(x.size, 0xDEADBEEF, dtype=np.uint32)
    memory = Memory()
    bound = {"x": memory.bind(x, "x"), "y": memory.bind(y, "y", written=False)}
    launch, image = kernel.launch(*x.shape), build(kernel)
    arguments = [bound[each] if isinstance(each, str) else each for each in launch.arguments]
    emulation = emulate(image.ptx, image.symbol, memory, grid=launch.grid, block=launch.block, arguments=arguments)
    return y, emulation


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_the_lesson_tells_the_counts(kernel: Kernel) -> None:
    found = defaultdict(list)
    for access in run(kernel, distinct_bits(256, 256))[1].accesses:
        found[access.space, access.kind].append(access)
    counts = []
    for end in ENDS:
        if accesses := found[end]:
            width = {access.width for access in accesses}.pop()
            requests = sum(access.requests for access in accesses)
            totals = [sum(getattr(access, name) for access in accesses) for name in ("sectors", "lines", "wavefronts")]
            assert all(total % requests == 0 for total in totals)
            counts.append(Counts(width, requests, *(total // requests for total in totals)))
    assert tuple(counts) == COUNTS[kernel.name]


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: f"{shape[0]}x{shape[1]}")
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_every_accepted_shape_is_right_to_the_last_bit(kernel: Kernel, shape: tuple[int, int]) -> None:
    if kernel.refuses(*shape):
        pytest.skip("refused")
    x = distinct_bits(*shape)
    y, emulation = run(kernel, x)
    assert emulation.hazards == ()
    assert np.array_equal(y, (x if kernel.name == "copy" else x.T).ravel())
