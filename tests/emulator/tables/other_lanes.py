"""Instructions that touch memory or other lanes, each in its simplest use; more of them in their own tests.

A lane's row is its place in the case: sources and results of one case belong to one warp of 32 lanes.
"""

from .notation import Case, case

_SHARED = ".shared .align 16 .b32 tile[32]; .reg .u32 %slot; mad.lo.u32 %slot, %lane, 4, 0; "


def _lanes(signature: str, lines: str, source: list[int], expected: list[int]) -> Case:
    return case(signature, lines, *(((a,), d) for a, d in zip(source, expected, strict=True)))


_IDS = list(range(32))
_FULL = 0xFFFF_FFFF

OTHER_LANES = (
    _lanes("b32 = b32", f"{_SHARED} st.shared.b32 [%slot], %a; ld.shared.b32 %d, [%slot];", _IDS, _IDS),
    _lanes(
        "b32 = b32",
        f"{_SHARED} st.shared.b32 [%slot], %a; bar.sync 0; xor.b32 %slot, %slot, 4; ld.shared.b32 %d, [%slot];",
        _IDS,
        [lane ^ 1 for lane in _IDS],
    ),
    _lanes("b32 = b64", "ld.param.u64 %a, [pa]; ldu.global.b32 %d, [%a + 8];", [7] * 32, [7] * 32),
    _lanes("b32 = b32", f"{_SHARED} st.shared.b32 [%slot], 5; atom.shared.add.u32 %d, [%slot], %a;", _IDS, [5] * 32),
    _lanes(
        "b32 = b32",
        f"{_SHARED} st.shared.b32 [%slot], 5; red.shared.add.u32 [%slot], %a; ld.shared.b32 %d, [%slot];",
        _IDS,
        [5 + lane for lane in _IDS],
    ),
    _lanes(
        "b32 = b32",
        f".reg .u64 %from; ld.param.u64 %from, [pa]; mad.wide.u32 %from, %lane, 4, %from; {_SHARED}"
        "cp.async.ca.shared.global [%slot], [%from], 4; cp.async.wait_all; ld.shared.b32 %d, [%slot];",
        _IDS,
        _IDS,
    ),
    _lanes("b32 = b32", "shfl.sync.bfly.b32 %d, %a, 1, 31, -1;", _IDS, [lane ^ 1 for lane in _IDS]),
    _lanes(
        "b32 = b32",
        ".reg .pred %odd; and.b32 %d, %a, 1; setp.eq.u32 %odd, %d, 1; vote.sync.ballot.b32 %d, %odd, -1;",
        _IDS,
        [0xAAAA_AAAA] * 32,
    ),
    _lanes("b32 = b32", "activemask.b32 %d;", _IDS, [_FULL] * 32),
    _lanes(
        "b32 = b32",
        ".reg .pred %leader; elect.sync %d|%leader, -1; @%leader add.u32 %d, %d, 100;",
        _IDS,
        [100] + [0] * 31,
    ),
    _lanes(
        "b32 = b32",
        "movmatrix.sync.aligned.m8n8.trans.b16 %d, %a;",
        [(2 * lane + 1) << 16 | 2 * lane for lane in _IDS],  # element (r, c) is 8 r + c
        [(lane // 4 + 16 * (lane % 4) + 8) << 16 | lane // 4 + 16 * (lane % 4) for lane in _IDS],
    ),
    _lanes("b32 = b32", "redux.sync.add.u32 %d, %a, -1;", _IDS, [sum(_IDS)] * 32),
)
