"""Special registers: where a thread is."""

from collections.abc import Callable

import numpy as np
import pytest

from cornerturn.emulator.special import SPECIAL_REGISTERS

from .harness import HEADER, launch_ptx

GRID, BLOCK = (2, 3, 4), (5, 4, 3)  # 60 threads: two warps, the second not full
THREADS = 60

Place = tuple[int, int, int]
"""Coordinates of a block, or of a thread in its block."""


def mask(lanes: range) -> int:
    return sum(1 << lane for lane in lanes)


VALUES: dict[str, Callable[[Place, Place, int], int]] = {
    "%laneid": lambda block, thread, number: number % 32,
    "%warpid": lambda block, thread, number: number // 32,
    "%nwarpid": lambda block, thread, number: 2,
    "%smid": lambda block, thread, number: 0,
    "%nsmid": lambda block, thread, number: 1,
    "%gridid": lambda block, thread, number: 0,
    "%lanemask_eq": lambda block, thread, number: 1 << number % 32,
    "%lanemask_lt": lambda block, thread, number: mask(range(number % 32)),
    "%lanemask_le": lambda block, thread, number: mask(range(number % 32 + 1)),
    "%lanemask_gt": lambda block, thread, number: mask(range(number % 32 + 1, 32)),
    "%lanemask_ge": lambda block, thread, number: mask(range(number % 32, 32)),
    "%cluster_ctarank": lambda block, thread, number: 0,
    "%cluster_nctarank": lambda block, thread, number: 1,
}
for axis, letter in enumerate("xyz"):
    VALUES |= {
        f"%tid.{letter}": lambda block, thread, number, axis=axis: thread[axis],
        f"%ntid.{letter}": lambda block, thread, number, axis=axis: BLOCK[axis],
        f"%ctaid.{letter}": lambda block, thread, number, axis=axis: block[axis],
        f"%nctaid.{letter}": lambda block, thread, number, axis=axis: GRID[axis],
        f"%clusterid.{letter}": lambda block, thread, number, axis=axis: block[axis],
        f"%nclusterid.{letter}": lambda block, thread, number, axis=axis: GRID[axis],
        f"%cluster_ctaid.{letter}": lambda block, thread, number: 0,
        f"%cluster_nctaid.{letter}": lambda block, thread, number: 1,
    }


def coordinates(number: int, extent: Place) -> Place:
    rest, x = divmod(number, extent[0])
    z, y = divmod(rest, extent[1])
    return x, y, z


def test_every_register_is_tested():
    assert VALUES.keys() == SPECIAL_REGISTERS.keys()


@pytest.mark.parametrize("name", SPECIAL_REGISTERS)
def test_special_register(name: str):
    kind = "u64" if name == "%gridid" else "u32"
    text = f"""{HEADER}
    .visible .entry kernel(.param .u64 p) {{
        .reg .u32 %b, %n, %t; .reg .u64 %at; .reg .{kind} %value;
        ld.param.u64 %at, [p];
        mov.u32 %b, %ctaid.z; mov.u32 %n, %nctaid.y; mul.lo.u32 %b, %b, %n;
        mov.u32 %n, %ctaid.y; add.u32 %b, %b, %n; mov.u32 %n, %nctaid.x; mul.lo.u32 %b, %b, %n;
        mov.u32 %n, %ctaid.x; add.u32 %b, %b, %n; mul.lo.u32 %b, %b, {THREADS};
        mov.u32 %t, %warpid; mov.u32 %n, %laneid; mad.lo.u32 %t, %t, 32, %n; add.u32 %t, %t, %b;
        mad.wide.u32 %at, %t, 8, %at;
        mov.{kind} %value, {name};
        st.global.{kind} [%at], %value;
        ret;
    }}"""
    y = np.zeros((24, THREADS), dtype=np.uint64)
    launch_ptx(text, "kernel", y, grid=GRID, block=BLOCK)
    for number, block in enumerate(y.tolist()):
        places = [(coordinates(number, GRID), coordinates(t, BLOCK), t) for t in range(THREADS)]
        assert block == [VALUES[name](*place) for place in places]
