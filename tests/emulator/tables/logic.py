"""Logic, shifts, bit fields and byte permutation (PTX ISA, logic and shift instructions)."""

from itertools import product

from .notation import MAX32, MAX64, MIN32, MIN64, ONES, ONES64, case, s

LOGIC = (
    case("b32 = b32, b32", "and.b32 %d, %a, %b;", ((0xFF00FF00, 0x0FF00FF0), 0x0F000F00)),
    case("b64 = b64, b64", "or.b64 %d, %a, %b;", ((1 << 63, 1), (1 << 63) + 1)),
    case("b16 = b16, b16", "xor.b16 %d, %a, %b;", ((0xFFFF, 0x0F0F), 0xF0F0)),
    case("b32 = b32", "not.b32 %d, %a;", ((0,), ONES), ((0x0F0F0F0F,), 0xF0F0F0F0)),
    case("b64 = b64", "not.b64 %d, %a;", ((1,), ONES64 - 1)),
    case("b32 = b32", "cnot.b32 %d, %a;", ((0,), 1), ((1,), 0), ((ONES,), 0)),
    case("pred = pred, pred", "and.pred %d, %a, %b;", *(((a, b), a & b) for a, b in product((0, 1), repeat=2))),
    case("pred = pred, pred", "or.pred %d, %a, %b;", *(((a, b), a | b) for a, b in product((0, 1), repeat=2))),
    case("pred = pred, pred", "xor.pred %d, %a, %b;", *(((a, b), a ^ b) for a, b in product((0, 1), repeat=2))),
    case("pred = pred", "not.pred %d, %a;", ((0,), 1), ((1,), 0)),
    case("pred = pred", "mov.pred %d, %a;", ((0,), 0), ((1,), 1)),
    # The table is what the function gives for a = 0xF0, b = 0xCC, c = 0xAA.
    case("b32 = b32, b32, b32", "lop3.b32 %d, %a, %b, %c, 0x80;", ((0xF0, 0xCC, 0xAA), 0x80)),
    case("b32 = b32, b32, b32", "lop3.b32 %d, %a, %b, %c, 0x96;", ((0xF0, 0xCC, 0xAA), 0x96)),
    case("b32 = b32, b32, b32", "lop3.b32 %d, %a, %b, %c, 0x1;", ((0xF0, 0xCC, 0xAA), 0xFFFFFF01)),
    case(
        "b32 = b32, b32",
        "shl.b32 %d, %a, %b;",
        ((1, 31), MIN32),
        ((ONES, 0), ONES),
        ((ONES, 32), 0),
        ((ONES, 33), 0),
        ((ONES, ONES), 0),
    ),
    case("b64 = b64, b32", "shl.b64 %d, %a, %b;", ((1, 63), MIN64), ((1, 40), 1 << 40), ((ONES64, 64), 0)),
    case("b16 = b16, b32", "shl.b16 %d, %a, %b;", ((1, 15), 0x8000), ((0xFFFF, 16), 0)),
    case("b32 = b32", "shl.b32 %d, %a, 32;", ((ONES,), 0)),
    case("b32 = b32, b32", "shr.u32 %d, %a, %b;", ((MIN32, 31), 1), ((ONES, 32), 0), ((ONES, 256), 0)),
    case(
        "b32 = b32, b32",
        "shr.s32 %d, %a, %b;",
        ((MIN32, 31), ONES),
        ((MIN32, 32), ONES),
        ((MAX32, 32), 0),
        ((s(-8), 1), s(-4)),
        ((MIN32, ONES), ONES),
    ),
    case("b64 = b64, b32", "shr.s64 %d, %a, %b;", ((MIN64, 63), ONES64), ((MIN64, 70), ONES64), ((MAX64, 62), 1)),
    case("b64 = b64, b32", "shr.u64 %d, %a, %b;", ((MIN64, 63), 1), ((MIN64, 64), 0)),
    case("b16 = b16, b32", "shr.s16 %d, %a, %b;", ((0x8000, 4), 0xF800), ((0x8000, 99), 0xFFFF)),
    case(
        "b32 = b32, b32, b32",
        "shf.l.wrap.b32 %d, %a, %b, %c;",
        ((0x89ABCDEF, 0x01234567, 8), 0x23456789),
        ((0x89ABCDEF, 0x01234567, 32), 0x01234567),
        ((0x89ABCDEF, 0x01234567, 40), 0x23456789),
    ),
    case(
        "b32 = b32, b32, b32",
        "shf.l.clamp.b32 %d, %a, %b, %c;",
        ((0x89ABCDEF, 0x01234567, 8), 0x23456789),
        ((0x89ABCDEF, 0x01234567, 32), 0x89ABCDEF),
        ((0x89ABCDEF, 0x01234567, 40), 0x89ABCDEF),
    ),
    case(
        "b32 = b32, b32, b32",
        "shf.r.wrap.b32 %d, %a, %b, %c;",
        ((0x89ABCDEF, 0x01234567, 8), 0x6789ABCD),
        ((0x89ABCDEF, 0x01234567, 32), 0x89ABCDEF),
        ((0x89ABCDEF, 0x01234567, 40), 0x6789ABCD),
    ),
    case(
        "b32 = b32, b32, b32",
        "shf.r.clamp.b32 %d, %a, %b, %c;",
        ((0x89ABCDEF, 0x01234567, 8), 0x6789ABCD),
        ((0x89ABCDEF, 0x01234567, 32), 0x01234567),
        ((0x89ABCDEF, 0x01234567, 40), 0x01234567),
    ),
    case(
        "b32 = b32, b32, b32",
        "bfe.u32 %d, %a, %b, %c;",
        ((0x12345678, 8, 8), 0x56),
        ((0xF0000000, 28, 8), 0xF),  # past the top: zeros
        ((0xF0000000, 28, 0), 0),
        ((ONES, 32, 8), 0),
        ((ONES, 0, 32), ONES),
        ((ONES, 0, 255), ONES),
        ((0x12345678, 0x108, 0x108), 0x56),  # only the low 8 bits count
    ),
    case(
        "b32 = b32, b32, b32",
        "bfe.s32 %d, %a, %b, %c;",
        ((0x0000F800, 8, 8), s(-8)),
        ((0x00007800, 8, 8), 0x78),
        ((0x80000000, 28, 8), s(-8)),  # past the top: the sign
        ((0x70000000, 28, 8), 7),
        ((ONES, 5, 0), 0),
        ((MIN32, 32, 4), ONES),
        ((MAX32, 40, 4), 0),
        ((MIN32, 0, 32), MIN32),
    ),
    case(
        "b64 = b64, b32, b32",
        "bfe.u64 %d, %a, %b, %c;",
        ((0x0123456789ABCDEF, 32, 16), 0x4567),
        ((MIN64, 63, 9), 1),
        ((ONES64, 0x100, 8), 0),  # all bits count
        ((0x1234, 4, 0x101), 0x123),
    ),
    case(
        "b64 = b64, b32, b32",
        "bfe.s64 %d, %a, %b, %c;",
        ((MIN64, 60, 9), s(-8, 64)),
        ((0xF << 32, 32, 4), ONES64),
        ((MIN64, 0x100, 1), ONES64),
        ((1, 0x80000000, 1), 0),
    ),
    case(
        "b32 = b32, b32, b32, b32",
        "bfi.b32 %d, %a, %b, %c, %e;",
        ((0xAB, 0x12345678, 8, 8), 0x1234AB78),
        ((ONES, 0x12345678, 8, 0), 0x12345678),
        ((0xFF, 0, 28, 8), 0xF0000000),  # past the top: cut off
        ((ONES, 0x12345678, 32, 8), 0x12345678),
        ((0x89ABCDEF, 0, 0, 32), 0x89ABCDEF),
    ),
    case(
        "b64 = b64, b64, b32, b32",
        "bfi.b64 %d, %a, %b, %c, %e;",
        ((0xAB, 0, 40, 8), 0xAB << 40),
        ((3, 0, 63, 2), MIN64),
        ((ONES64, 5, 0x100, 8), 5),  # all bits count
        ((0xABCD, 0x1234, 0, 0x100), 0xABCD),
    ),
    case(
        "b32 = b32, b32",
        "bmsk.clamp.b32 %d, %a, %b;",
        ((1, 2), 6),
        ((0, 32), ONES),
        ((0, 0), 0),
        ((32, 4), 0),
        ((28, 40), 0xF0000000),
        ((31, 1), MIN32),
    ),
    case("b32 = b32", "popc.b32 %d, %a;", ((0,), 0), ((ONES,), 32), ((0x80000001,), 2)),
    case("b32 = b64", "popc.b64 %d, %a;", ((ONES64,), 64), ((1 << 40,), 1)),
    case("b32 = b32", "clz.b32 %d, %a;", ((0,), 32), ((1,), 31), ((ONES,), 0), ((0x00010000,), 15)),
    case("b32 = b64", "clz.b64 %d, %a;", ((0,), 64), ((1,), 63), ((1 << 40,), 23), ((MIN64,), 0)),
    case("b32 = b32", "bfind.u32 %d, %a;", ((0,), ONES), ((1,), 0), ((MIN32,), 31), ((0x00FF0000,), 23)),
    case("b32 = b32", "bfind.s32 %d, %a;", ((s(-1),), ONES), ((0,), ONES), ((s(-2),), 0), ((MIN32,), 30), ((5,), 2)),
    case("b32 = b64", "bfind.u64 %d, %a;", ((0,), ONES), ((1 << 40,), 40), ((MIN64,), 63)),
    case("b32 = b64", "bfind.s64 %d, %a;", ((MIN64,), 62), ((ONES64,), ONES)),
    case("b32 = b32", "bfind.shiftamt.u32 %d, %a;", ((0,), ONES), ((1,), 31), ((MIN32,), 0)),
    case("b32 = b32", "bfind.shiftamt.s32 %d, %a;", ((s(-1),), ONES), ((s(-2),), 31), ((MIN32,), 1)),
    case("b32 = b64", "bfind.shiftamt.u64 %d, %a;", ((1 << 40,), 23)),
    case("b32 = b32", "brev.b32 %d, %a;", ((1,), MIN32), ((0x12345678,), 0x1E6A2C48)),
    case("b64 = b64", "brev.b64 %d, %a;", ((1,), MIN64), ((0x12345678,), 0x1E6A2C48 << 32)),
    case(
        "b32 = b32, b32, b32",
        "prmt.b32 %d, %a, %b, %c;",
        ((0x33221100, 0x77665544, 0x3210), 0x33221100),
        ((0x33221100, 0x77665544, 0x7654), 0x77665544),
        ((0x33221100, 0x77665544, 0x0123), 0x00112233),
        ((0x33228100, 0x77665544, 0x9890), 0xFF00FF00),  # bit 3 of a nibble: the byte's sign
        ((0x33221100, 0x77665544, 0xABCD0000), 0x00000000),  # upper bits are not read
    ),
)

# prmt's modes: for c = 0, 1, 2, 3 with the bytes of b:a numbered 7 to 0 (PTX ISA, table of prmt modes).
_BYTES = {n: 0x11 * n for n in range(8)}
PERMUTE_MODES = {
    "f4e": ("3210", "4321", "5432", "6543"),
    "b4e": ("5670", "6701", "7012", "0123"),
    "rc8": ("0000", "1111", "2222", "3333"),
    "ecl": ("3210", "3211", "3222", "3333"),
    "ecr": ("0000", "1110", "2210", "3210"),
    "rc16": ("1010", "3232", "1010", "3232"),
}
PERMUTES = tuple(
    case(
        "b32 = b32, b32, b32",
        f"prmt.b32.{mode} %d, %a, %b, %c;",
        *(
            ((0x33221100, 0x77665544, c), int("".join(f"{_BYTES[int(digit)]:02x}" for digit in picked), 16))
            for c, picked in enumerate(selections)
        ),
        ((0x33221100, 0x77665544, 4), int("".join(f"{_BYTES[int(digit)]:02x}" for digit in selections[0]), 16)),
    )
    for mode, selections in PERMUTE_MODES.items()
)
