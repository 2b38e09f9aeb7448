"""Counters that an H200 reported through Nsight Compute for 4096 x 4096 floats, reproduced to the last one."""

from dataclasses import dataclass

import numpy as np
import pytest

from cornerturn.emulator import Access, Memory
from cornerturn.kernels.catalogue import find
from cornerturn.kernels.kernel import Kernel
from cornerturn.toolchain import build

from ..emulated_move import launched

SIZE = 4096


@dataclass(frozen=True)
class Measured:
    """One kernel's counters: ``_ld`` and ``_st`` where the hardware tells loads from stores."""

    l1tex__t_requests_global_ld: int
    l1tex__t_requests_global_st: int
    l1tex__t_sectors_global_ld: int
    l1tex__t_sectors_global_st: int
    memory_l2_theoretical_sectors_global: int
    memory_l2_theoretical_sectors_global_ideal: int
    memory_l1_tag_requests_global: int
    sass_inst_executed_shared_ld: int
    sass_inst_executed_shared_st: int
    memory_l1_wavefronts_shared: int
    memory_l1_wavefronts_shared_ideal: int


_K, _M = 2**10, 2**20
H200 = {
    "shared_no_padding": Measured(
        *(512 * _K, 512 * _K, 2 * _M, 2 * _M, 4 * _M, 4 * _M, _M), *(512 * _K, 512 * _K, 17_301_504, _M)
    ),
    "shared_padding": Measured(
        *(512 * _K, 512 * _K, 2 * _M, 2 * _M, 4 * _M, 4 * _M, _M), *(512 * _K, 512 * _K, _M, _M)
    ),
    "f32_col2row": Measured(512 * _K, 512 * _K, 2 * _M, 16 * _M, 18 * _M, 4 * _M, 17_301_504, 0, 0, 0, 0),
    "f32_row2col": Measured(512 * _K, 512 * _K, 16 * _M, 2 * _M, 18 * _M, 4 * _M, 17_301_504, 0, 0, 0, 0),
    "f32x4_col2row": Measured(128 * _K, 512 * _K, 2 * _M, 16 * _M, 18 * _M, 4 * _M, 17_301_504, 0, 0, 0, 0),
    "f32x4_row2col": Measured(512 * _K, 128 * _K, 16 * _M, 2 * _M, 18 * _M, 4 * _M, 17_301_504, 0, 0, 0, 0),
}


def counted(accesses: tuple[Access, ...]) -> Measured:
    def total(attribute: str, space: str, *kinds: str) -> int:
        chosen = (a for a in accesses if a.space == space and (not kinds or a.kind in kinds))
        return sum(getattr(access, attribute) for access in chosen)

    return Measured(
        total("requests", "global", "load"),
        total("requests", "global", "store"),
        total("sectors", "global", "load"),
        total("sectors", "global", "store"),
        total("sectors", "global"),
        total("sectors_ideal", "global"),
        total("lines", "global"),
        total("requests", "shared", "load"),
        total("requests", "shared", "store"),
        total("wavefronts", "shared"),
        total("wavefronts_ideal", "shared"),
    )


@pytest.mark.parametrize("name", H200)
def test_the_emulator_counts_what_the_hardware_counted(name: str):
    kernel = find(name)
    assert isinstance(kernel, Kernel)
    memory = Memory()
    x = np.arange(SIZE * SIZE, dtype=np.uint32).reshape(SIZE, SIZE)
    matrices = {"x": memory.bind(x, "x"), "y": memory.bind(np.zeros_like(x), "y", written=False)}
    emulation = launched(build(kernel), kernel.launch(SIZE, SIZE), matrices, memory, races=False)
    assert emulation.hazards == ()
    assert counted(emulation.accesses) == H200[name]
