"""Conversions, moves, selection and addresses."""

import struct
from math import inf, nan

from .notation import MAX32, MAX64, MIN32, MIN64, NAN16, ONES, ONES64, bf16, case, f16, f32, f64, s

CONVERSIONS = (
    case("b64 = b32", "cvt.s64.s32 %d, %a;", ((s(-5),), s(-5, 64)), ((MAX32,), MAX32)),
    case("b64 = b32", "cvt.u64.u32 %d, %a;", ((ONES,), ONES)),
    case(
        "b64 = b32",
        "createpolicy.fractional.L2::evict_last.b64 %d, 1.0; sub.u64 %d, %d, %d; cvt.u64.u32 %d, %a;",
        ((7,), 7),
    ),
    case("b64 = b32", "cvt.s64.u32 %d, %a;", ((ONES,), ONES)),
    case("b32 = b64", "cvt.u32.u64 %d, %a;", ((0x1_2345_6789,), 0x2345_6789)),
    case("b32 = b32", "cvt.s32.s8 %d, %a;", ((0x180,), s(-128)), ((0x17F,), 127)),
    case("b32 = b32", "cvt.u32.u8 %d, %a;", ((0x1FF,), 255)),
    case("b32 = b32", "cvt.s8.s32 %d, %a;", ((0x180,), s(-128))),
    case("b16 = b32", "cvt.u16.u32 %d, %a;", ((0x12345,), 0x2345)),
    case("b32 = b16", "cvt.s32.s16 %d, %a;", ((0x8000,), s(-32768))),
    case("b32 = b16", "cvt.u32.u16 %d, %a;", ((0x8000,), 0x8000)),
    *(
        case("b32 = f32", f"cvt.{mode}.s32.f32 %d, %a;", *(((f32(a),), s(b)) for a, b in rows))
        for mode, rows in {
            "rzi": (
                (2.9, 2),
                (-2.9, -2),
                (3e9, 2**31 - 1),
                (-3e9, -(2**31)),
                (nan, 0),
                (inf, 2**31 - 1),
                (-inf, -(2**31)),
            ),
            "rni": ((2.5, 2), (3.5, 4), (-2.5, -2), (2.500001, 3)),
            "rmi": ((2.9, 2), (-2.1, -3)),
            "rpi": ((2.1, 3), (-2.9, -2)),
        }.items()
    ),
    case(
        "b32 = f32",
        "cvt.rzi.u32.f32 %d, %a;",
        ((f32(-1.0),), 0),
        ((f32(5e9),), ONES),
        ((f32(3e9),), 3000000000),
        ((f32(-0.9),), 0),
        ((f32(nan),), 0),
    ),
    case(
        "b32 = f64",
        "cvt.rzi.s32.f64 %d, %a;",
        ((f64(2147483646.5),), MAX32 - 1),
        ((f64(2147483647.5),), MAX32),
        ((f64(2147483648.0),), MAX32),
        ((f64(-2147483648.5),), MIN32),
        ((f64(-2147483649.0),), MIN32),
        ((f64(nan),), MIN32),
    ),
    case(
        "b32 = f64",
        "cvt.rzi.u32.f64 %d, %a;",
        ((f64(4294967294.0),), ONES - 1),
        ((f64(4294967296.0),), ONES),
        ((f64(nan),), MIN32),
    ),
    case("b32 = f32", "cvt.rzi.u8.f32 %d, %a;", ((f32(300.0),), 255), ((f32(-3.0),), 0)),
    case("b32 = f32", "cvt.rzi.s8.f32 %d, %a;", ((f32(300.0),), 127), ((f32(-200.0),), s(-128)), ((f32(nan),), 0)),
    case(
        "b64 = f64",
        "cvt.rzi.s64.f64 %d, %a;",
        ((f64(1e30),), MAX64),
        ((f64(-1e30),), MIN64),
        ((f64(-(2.0**62)),), s(-(1 << 62), 64)),
        ((f64(nan),), MIN64),
    ),
    case(
        "b64 = f64",
        "cvt.rzi.u64.f64 %d, %a;",
        ((f64(2.0**64),), ONES64),
        ((f64(2.0**63),), MIN64),
        ((f64(-1.0),), 0),
        ((f64(nan),), MIN64),
    ),
    case(
        "b64 = f32",
        "cvt.rzi.s64.f32 %d, %a;",
        ((f32(2.0**63),), MAX64),
        ((f32(-(2.0**63)),), MIN64),
        ((f32(nan),), MIN64),
    ),
    case("b64 = f32", "cvt.rni.u64.f32 %d, %a;", ((f32(2.0**64),), ONES64), ((f32(-1.0),), 0), ((f32(nan),), MIN64)),
    case("b64 = f16", "cvt.rzi.s64.f16 %d, %a;", ((f16(inf),), MAX64), ((f16(-2.5),), s(-2, 64)), ((f16(nan),), MIN64)),
    case("b64 = f16", "cvt.rpi.u64.f16 %d, %a;", ((f16(2.5),), 3), ((f16(-inf),), 0), ((f16(nan),), MIN64)),
    case(
        "b32 = f16",
        "cvt.rzi.s32.f16 %d, %a;",
        ((f16(-inf),), MIN32),
        ((f16(inf),), MAX32),
        ((f16(65504.0),), 65504),
        ((f16(nan),), 0),
    ),
    case("f32 = f32", "cvt.rzi.f32.f32 %d, %a;", ((f32(-2.5),), f32(-2.0)), ((f32(-0.3),), f32(-0.0))),
    case("f32 = f32", "cvt.rni.f32.f32 %d, %a;", ((f32(2.5),), f32(2.0)), ((f32(-3.5),), f32(-4.0))),
    case(
        "f32 = b32",
        "cvt.rn.f32.s32 %d, %a;",
        ((16777217,), f32(16777216.0)),
        ((16777219,), f32(16777220.0)),
        ((s(-1),), f32(-1.0)),
    ),
    case("f32 = b32", "cvt.rn.f32.u32 %d, %a;", ((ONES,), f32(2.0**32)), ((0,), 0)),
    case("f32 = b64", "cvt.rn.f32.u64 %d, %a;", ((ONES64,), f32(2.0**64)), (((1 << 40) + (1 << 16) + 1,), 0x53800001)),
    case("f64 = b64", "cvt.rn.f64.s64 %d, %a;", ((2**53 + 1,), f64(2.0**53)), ((s(-3, 64),), f64(-3.0))),
    case(
        "f32 = f64",
        "cvt.rn.f32.f64 %d, %a;",
        ((f64(1 + 2.0**-24),), f32(1.0)),
        ((f64(1 + 3 * 2.0**-24),), 0x3F800002),
        ((f64(1e300),), f32(inf)),
    ),
    case("f64 = f32", "cvt.f64.f32 %d, %a;", ((f32(0.1),), f64(struct.unpack("<f", struct.pack("<f", 0.1))[0]))),
    case(
        "f16 = f32",
        "cvt.rn.f16.f32 %d, %a;",
        ((f32(1 + 2**-11),), f16(1.0)),
        ((f32(1 + 3 * 2**-11),), f16(1 + 2**-9)),
        ((f32(65519.0),), f16(65504.0)),
        ((f32(65520.0),), f16(inf)),
        ((f32(2**-25),), 0),
        ((f32(1.5 * 2**-25),), 1),
    ),
    case("f16 = f64", "cvt.rn.f16.f64 %d, %a;", ((f64(1 + 2**-11 + 2**-40),), f16(1 + 2**-10))),
    case("f32 = f16", "cvt.f32.f16 %d, %a;", ((f16(-1.5),), f32(-1.5)), ((1,), f32(2.0**-24)), ((f16(inf),), f32(inf))),
    case(
        "b16 = f32",
        "cvt.rn.bf16.f32 %d, %a;",
        ((f32(1 + 2**-8),), bf16(1.0)),
        ((f32(1 + 3 * 2**-8),), bf16(1 + 2**-6)),
        ((0x3F808001,), 0x3F81),
        ((0x7F7FFFFF,), bf16(inf)),
        ((0x7F800001,), NAN16),
        ((0xFF800000,), bf16(-inf)),
    ),
    case("f32 = b16", "cvt.f32.bf16 %d, %a;", ((0x3FC0,), f32(1.5)), ((0x8001,), 0x80010000)),
    case(
        "f16 = b32",
        "cvt.rn.f16.s32 %d, %a;",
        ((2049,), f16(2048.0)),
        ((2051,), f16(2052.0)),
        ((s(-3),), f16(-3.0)),
        ((65520,), f16(inf)),
    ),
    # 0x1010001 lies just above the middle of two bf16; float32 does not see by how much.
    case(
        "b16 = b32",
        "cvt.rn.bf16.s32 %d, %a;",
        ((0x1010001,), 0x4B81),
        ((0x1010000,), 0x4B80),
        ((s(-0x1010001),), 0xCB81),
    ),
    case(
        "b16 = b64",
        "cvt.rn.bf16.u64 %d, %a;",
        (((1 << 63) + (1 << 55) + 1,), 0x5F01),
        (((1 << 63) + (1 << 55),), 0x5F00),
    ),
    case(
        "b16 = f64",
        "cvt.rn.bf16.f64 %d, %a;",
        ((f64(1 + 2**-8 + 2**-40),), bf16(1 + 2**-7)),
        ((f64(1 + 2**-8),), bf16(1.0)),
    ),
)

MOVES = (
    case("b32 = b32", "mov.b32 %d, %a;", ((0xDEADBEEF,), 0xDEADBEEF)),
    case("f32 = f32", "mov.f32 %d, %a;", ((0x7F800001,), 0x7F800001)),  # a signalling NaN keeps its bits
    case("b32 = ", "mov.u32 %d, %laneid;", ((), 0)),
    case("b32 = b16, b16", "mov.b32 %d, {%a, %b};", ((0x1111, 0x2222), 0x22221111)),
    case("b64 = b32, b32", "mov.b64 %d, {%a, %b};", ((1, 2), 0x2_0000_0001)),
    case("b64 = b16, b16, b16, b16", "mov.b64 %d, {%a, %b, %c, %e};", ((1, 2, 3, 4), 0x0004_0003_0002_0001)),
    case("b32 = b64", ".reg .b32 %other; mov.b64 {%other, %d}, %a;", ((0x2_0000_0001,), 2)),
    case("b32 = b64", "mov.b64 {%d, _}, %a;", ((0x2_0000_0001,), 1)),
    case("b16 = b32", "mov.b32 {_, %d}, %a;", ((0x22221111,), 0x2222)),
    case("b32 = b32, b32, pred", "selp.b32 %d, %a, %b, %c;", ((1, 2, 1), 1), ((1, 2, 0), 2)),
    case(
        "f64 = f64, f64, pred", "selp.f64 %d, %a, %b, %c;", ((f64(1), f64(2), 1), f64(1)), ((f64(1), f64(2), 0), f64(2))
    ),
    case("b32 = b32, b32, s32", "slct.b32.s32 %d, %a, %b, %c;", ((1, 2, 0), 1), ((1, 2, s(-1)), 2), ((1, 2, MAX32), 1)),
    case(
        "b32 = b32, b32, f32",
        "slct.u32.f32 %d, %a, %b, %c;",
        ((1, 2, f32(-0.0)), 1),
        ((1, 2, f32(-1.0)), 2),
        ((1, 2, f32(nan)), 2),
    ),
)

# Shared, local and global windows are one generic space: an address that goes there comes back, and only one claims it.
ADDRESSES = tuple(
    case(
        "b32 = b64",
        f".reg .u64 %generic; .reg .pred %inside; cvta.{space}.u64 %generic, %a; isspacep.{asked} %inside, %generic; "
        f"cvta.to.{space}.u64 %generic, %generic; cvt.u32.u64 %d, %generic; @!%inside add.u32 %d, %d, 1;",
        ((128,), 128 if asked in members else 129),
    )
    for space, members in {
        "shared": {"shared", "shared::cta"},
        "shared::cta": {"shared", "shared::cta"},
        "local": {"local"},
        "global": {"global", "const", "param"},
        "const": {"global", "const", "param"},
        "param": {"global", "const", "param"},
    }.items()
    for asked in ("shared", "shared::cta", "local", "global", "const", "param")
    # Constants and parameters are windows of the global space: whether they hold an address is for a driver to say.
    if asked not in ("const", "param") or space not in ("global", "const", "param")
)
