"""Floating-point arithmetic, scalar and packed."""

from math import inf, nan

from .notation import MIN32, NAN16, NAN32, bf16, case, f16, f32, f64

FLOATS = (
    case(
        "f32 = f32, f32",
        "add.f32 %d, %a, %b;",
        ((f32(1.5), f32(2.25)), f32(3.75)),
        ((f32(2**24), f32(1.0)), f32(2**24)),
    ),
    case("f32 = f32, f32", "add.rn.f32 %d, %a, %b;", ((f32(inf), f32(1.0)), f32(inf)), ((1, 1), 2)),
    case("f64 = f64, f64", "add.f64 %d, %a, %b;", ((f64(0.1), f64(0.2)), f64(0.1 + 0.2))),
    case("f16 = f16, f16", "add.f16 %d, %a, %b;", ((f16(2048), f16(1)), f16(2048)), ((f16(2048), f16(3)), f16(2052))),
    case(
        "b16 = b16, b16", "add.bf16 %d, %a, %b;", ((bf16(256), bf16(1)), bf16(256)), ((bf16(256), bf16(3)), bf16(260))
    ),
    case("f32 = f32, f32", "sub.f32 %d, %a, %b;", ((f32(1.0), f32(1.0)), 0), ((f32(0.0), f32(0.0)), 0)),
    case(
        "f32 = f32, f32", "mul.f32 %d, %a, %b;", ((f32(-0.0), f32(5.0)), f32(-0.0)), ((f32(1e30), f32(1e30)), f32(inf))
    ),
    case("f64 = f64, f64", "mul.f64 %d, %a, %b;", ((f64(3.0), f64(-0.5)), f64(-1.5))),
    case("f32 = f32, f32", "add.ftz.f32 %d, %a, %b;", ((1, 1), 0), ((0x80000001, f32(-0.0)), f32(-0.0))),
    case(
        "f32 = f32, f32",
        "mul.ftz.f32 %d, %a, %b;",
        ((f32(2.0**-126), f32(0.5)), 0),
        ((f32(2.0**-126), f32(-0.5)), MIN32),
    ),
    case(
        "f32 = f32, f32", "div.rn.f32 %d, %a, %b;", ((f32(1.0), f32(4.0)), f32(0.25)), ((f32(1.0), f32(0.0)), f32(inf))
    ),
    case("f32 = f32, f32", "div.full.f32 %d, %a, %b;", ((f32(9.0), f32(3.0)), f32(3.0))),
    case("f32 = f32", "abs.f32 %d, %a;", ((f32(-1.5),), f32(1.5)), ((f32(-0.0),), 0)),
    case("f32 = f32", "neg.f32 %d, %a;", ((f32(1.5),), f32(-1.5)), ((0,), f32(-0.0))),
    case("f64 = f64", "neg.f64 %d, %a;", ((f64(1.5),), f64(-1.5))),
    case("f32 = f32", "rcp.rn.f32 %d, %a;", ((f32(4.0),), f32(0.25)), ((f32(-0.0),), f32(-inf))),
    case(
        "f32 = f32", "sqrt.rn.f32 %d, %a;", ((f32(2.25),), f32(1.5)), ((f32(-0.0),), f32(-0.0)), ((f32(inf),), f32(inf))
    ),
    case("f32 = f32", "rsqrt.approx.f32 %d, %a;", ((f32(0.25),), f32(2.0)), ((0,), f32(inf))),
    case(
        "f32 = f32, f32",
        "copysign.f32 %d, %a, %b;",
        ((f32(-1.0), f32(2.0)), f32(-2.0)),
        ((f32(1.0), f32(-2.0)), f32(2.0)),
    ),
    *(
        case(
            "f32 = f32, f32",
            f"{name}.f32 %d, %a, %b;",
            ((f32(1.0), f32(-2.0)), f32(ordered[0])),
            ((f32(0.0), f32(-0.0)), f32(ordered[1])),  # +0 is greater than -0
            ((f32(-0.0), f32(0.0)), f32(ordered[1])),
            ((f32(nan), f32(3.0)), f32(3.0)),
            ((f32(3.0), f32(nan)), f32(3.0)),
            ((0x7FC00001, 0xFFC00002), NAN32),
        )
        for name, ordered in (("min", (-2.0, -0.0)), ("max", (1.0, 0.0)))
    ),
    *(
        case(
            "f32 = f32, f32",
            f"{name}.NaN.f32 %d, %a, %b;",
            ((f32(1.0), f32(-2.0)), f32(ordered[0])),
            ((f32(0.0), f32(-0.0)), f32(ordered[1])),
            ((f32(-0.0), f32(0.0)), f32(ordered[1])),
            ((f32(nan), f32(3.0)), NAN32),
            ((f32(3.0), 0xFFC00002), NAN32),
        )
        for name, ordered in (("min", (-2.0, -0.0)), ("max", (1.0, 0.0)))
    ),
    case("b16 = b16, b16", "max.bf16 %d, %a, %b;", ((bf16(1.0), bf16(-2.0)), bf16(1.0)), ((0x7FC0, 0xFFC0), NAN16)),
    case("b16 = b16, b16", "min.NaN.f16 %d, %a, %b;", ((f16(1.0), f16(-2.0)), f16(-2.0)), ((f16(nan), 0), NAN16)),
    case(
        "f32 = f32, f32, f32",
        "fma.rn.f32 %d, %a, %b, %c;",
        ((f32(2.0), f32(3.0), f32(4.0)), f32(10.0)),
        ((f32(1 + 2**-12), f32(1 + 2**-12), f32(-1.0)), f32(2**-11 + 2**-24)),  # no rounding in between
        # 97 * 172961 = 2^24 + 1 lies half way between two float32; the addend is far below double's reach too.
        ((f32(97.0), f32(172961.0), f32(2**-60)), f32(2.0**24 + 2)),
        ((f32(97.0), f32(172961.0), f32(-(2**-60))), f32(2.0**24)),
        ((f32(97.0), f32(172961.0), 0), f32(2.0**24)),
        ((f32(inf), f32(1.0), f32(1.0)), f32(inf)),
        ((f32(1.0), f32(-1.0), f32(1.0)), 0),
    ),
    case(
        "f64 = f64, f64, f64",
        "fma.rn.f64 %d, %a, %b, %c;",
        ((f64(1 + 2**-52), f64(1 + 2**-52), f64(-1.0)), f64(2**-51 + 2**-104)),
        ((f64(-inf), f64(1.0), f64(1.0)), f64(-inf)),
        ((f64(1e300), f64(1e300), f64(-1e300)), f64(inf)),
    ),
    # 1 + 2^-8 lies half way between two bf16; the addend, far below float32's reach, decides.
    case(
        "b16 = b16, b16, b16",
        "fma.rn.bf16 %d, %a, %b, %c;",
        ((bf16(1.0), bf16(1 + 2**-7), bf16(2**-8)), bf16(1 + 2**-6)),
        ((bf16(2**-8), bf16(1.0), bf16(1.0)), bf16(1.0)),
        ((bf16(1.0), bf16(2.0), bf16(3.0)), bf16(5.0)),
        ((bf16(1 + 2**-4), bf16(1 + 2**-4), bf16(2.0**-60)), 0x3F91),  # 1 + 2^-3 + 2^-8 + a little
    ),
    case(
        "b16 = b16, b16, b16",
        "fma.rn.f16 %d, %a, %b, %c;",
        ((f16(1 + 2**-10), f16(1 + 2**-10), f16(-1)), f16(2**-9 + 2**-20)),
    ),
    case("f64 = ", "mov.f64 %d, 0d3FF8000000000000;", ((), f64(1.5))),
    case("f32 = f32", "add.f32 %d, %a, 0f3F800000;", ((f32(1.0),), f32(2.0))),
)


def halves(low: int, high: int) -> int:
    return high << 16 | low


PACKED = (
    *(
        case(
            "b32 = b32, b32",
            f"{name}.{kind} %d, %a, %b;",
            ((halves(of(3.0), of(5.0)), halves(of(2.0), of(-1.0))), halves(of(results[0]), of(results[1]))),
        )
        for kind, of in (("f16x2", f16), ("bf16x2", bf16))
        for name, results in (
            ("add", (5.0, 4.0)),
            ("sub", (1.0, 6.0)),
            ("mul", (6.0, -5.0)),
            ("min", (2.0, -1.0)),
            ("max", (3.0, 5.0)),
        )
    ),
    case(
        "b32 = b32, b32, b32",
        "fma.rn.f16x2 %d, %a, %b, %c;",
        ((halves(f16(2), f16(3)), halves(f16(4), f16(5)), halves(f16(1), f16(-1))), halves(f16(9), f16(14))),
    ),
    case(
        "b32 = b32, b32, b32",
        "fma.rn.bf16x2 %d, %a, %b, %c;",
        ((halves(bf16(2), bf16(3)), halves(bf16(4), bf16(5)), halves(bf16(1), bf16(-1))), halves(bf16(9), bf16(14))),
    ),
    case("b32 = b32", "neg.f16x2 %d, %a;", ((halves(f16(1), f16(-2)),), halves(f16(-1), f16(2)))),
    case("b32 = b32", "abs.bf16x2 %d, %a;", ((halves(bf16(-1), bf16(-2)),), halves(bf16(1), bf16(2)))),
    # The first source becomes the upper half.
    case("b32 = f32, f32", "cvt.rn.f16x2.f32 %d, %a, %b;", ((f32(1.0), f32(2.0)), halves(f16(2.0), f16(1.0)))),
    case("b32 = f32, f32", "cvt.rn.bf16x2.f32 %d, %a, %b;", ((f32(1.0), f32(2.0)), halves(bf16(2.0), bf16(1.0)))),
)
