"""Instructions on integers whose meaning Python's own integers give, which have no width: for any bits."""

from collections.abc import Callable, Sequence
from functools import partial

from hypothesis import strategies as st

from cornerturn.emulator.counting import WARP


def signed(value: int, bits: int) -> int:
    return value - 2**bits if value >> (bits - 1) & 1 else value


def _quotient(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _divide(a: int, b: int) -> int:
    return _quotient(a, b or 1)


def _remainder(a: int, b: int) -> int:
    return a - _quotient(a, b or 1) * (b or 1)


def _place(value: int, bits: int) -> int:
    """Of a 32-bit field the low 8 bits count, of a 64-bit one all; 255 and more are past every top."""
    return value & 255 if bits == 32 else min(value, 255)


def _extract(bits: int, a: int, position: int, length: int) -> int:
    return a >> _place(position, bits) & (2 ** _place(length, bits) - 1)


def _extract_signed(bits: int, a: int, position: int, length: int) -> int:
    """A Python integer repeats its sign for ever, so a field past the top ends with it."""
    length = _place(length, bits)
    return signed(_extract(bits, a, position, length), length) if length else 0


def _insert(bits: int, a: int, b: int, position: int, length: int) -> int:
    position = _place(position, bits)
    mask = (2 ** _place(length, bits) - 1) << position
    return b & ~mask | a << position & mask


def _bytes_of(a: int, b: int) -> bytes:
    return a.to_bytes(4, "little") + b.to_bytes(4, "little")


def _permute(a: int, b: int, selector: int) -> int:
    def byte(nibble: int) -> int:
        picked = _bytes_of(a, b)[nibble & 7]
        return (255 if picked & 128 else 0) if nibble & 8 else picked

    return int.from_bytes([byte(selector >> 4 * k & 15) for k in range(4)], "little")


def _lop3(table: int) -> Callable[[int, int, int], int]:
    def function(a: int, b: int, c: int) -> int:
        rows = ((a >> k & 1) << 2 | (b >> k & 1) << 1 | (c >> k & 1) for k in range(32))
        return sum((table >> row & 1) << k for k, row in enumerate(rows))

    return function


def _arithmetic(kind: str) -> dict[str, tuple[str, Callable[..., int]]]:
    bits, two = int(kind[1:]), f"{kind} = {kind}, {kind}"
    return {
        f"add.{kind} %d, %a, %b;": (two, lambda a, b: a + b),
        f"sub.{kind} %d, %a, %b;": (two, lambda a, b: a - b),
        f"mul.lo.{kind} %d, %a, %b;": (two, lambda a, b: a * b),
        f"mul.hi.{kind} %d, %a, %b;": (two, lambda a, b: a * b >> bits),
        f"mad.lo.{kind} %d, %a, %b, %c;": (f"{two}, {kind}", lambda a, b, c: a * b + c),
        f"mad.hi.{kind} %d, %a, %b, %c;": (f"{two}, {kind}", lambda a, b, c: (a * b >> bits) + c),
        f"sad.{kind} %d, %a, %b, %c;": (f"{two}, {kind}", lambda a, b, c: abs(a - b) + c),
        f"min.{kind} %d, %a, %b;": (two, min),
        f"max.{kind} %d, %a, %b;": (two, max),
        # By zero the ISA leaves the result open: here the divisor is then made 1.
        f".reg .pred %z; setp.eq.{kind} %z, %b, 0; selp.{kind} %b, 1, %b, %z; div.{kind} %d, %a, %b;": (two, _divide),
        f".reg .pred %z; setp.eq.{kind} %z, %b, 0; selp.{kind} %b, 1, %b, %z; rem.{kind} %d, %a, %b;": (
            two,
            _remainder,
        ),
    }


def _wide(kind: str) -> dict[str, tuple[str, Callable[..., int]]]:
    twice = f"{kind[0]}{2 * int(kind[1:])}"
    return {
        f"mul.wide.{kind} %d, %a, %b;": (f"{twice} = {kind}, {kind}", lambda a, b: a * b),
        f"mad.wide.{kind} %d, %a, %b, %c;": (f"{twice} = {kind}, {kind}, {twice}", lambda a, b, c: a * b + c),
    }


def _shifts(kind: str) -> dict[str, tuple[str, Callable[..., int]]]:
    bits, shift = int(kind[1:]), f"{kind} = {kind}, u32"
    return {
        f"shl.b{bits} %d, %a, %b;": (shift, lambda a, n: a << min(n, bits)),
        f"shr.{kind} %d, %a, %b;": (shift, lambda a, n: a >> min(n, bits)),
    }


def _bits(bits: int) -> dict[str, tuple[str, Callable[..., int]]]:
    u, s, b = f"u{bits}", f"s{bits}", f"b{bits}"
    return {
        f"bfe.{u} %d, %a, %b, %c;": (f"{u} = {u}, u32, u32", partial(_extract, bits)),
        f"bfe.{s} %d, %a, %b, %c;": (f"{s} = {s}, u32, u32", partial(_extract_signed, bits)),
        f"bfi.{b} %d, %a, %b, %c, %e;": (f"{b} = {b}, {b}, u32, u32", partial(_insert, bits)),
        f"popc.{b} %d, %a;": (f"u32 = {b}", int.bit_count),
        f"clz.{b} %d, %a;": (f"u32 = {b}", lambda a: bits - a.bit_length()),
        f"bfind.{u} %d, %a;": (f"u32 = {u}", lambda a: a.bit_length() - 1),
        f"bfind.{s} %d, %a;": (f"u32 = {s}", lambda a: (~a if a < 0 else a).bit_length() - 1),
        f"brev.{b} %d, %a;": (f"{b} = {b}", lambda a: int(f"{a:0{bits}b}"[::-1], 2)),
        f"not.{b} %d, %a;": (f"{b} = {b}", lambda a: ~a),
        f"cnot.{b} %d, %a;": (f"{b} = {b}", lambda a: int(a == 0)),
    }


_KINDS = ("u16", "s16", "u32", "s32", "u64", "s64")
_THREE = "b32 = b32, b32, b32"
ARITHMETIC: dict[str, tuple[str, Callable[..., int]]] = {
    **{line: row for kind in _KINDS for line, row in _arithmetic(kind).items()},
    **{line: row for kind in _KINDS[:4] for line, row in _wide(kind).items()},
    "mul24.lo.u32 %d, %a, %b;": ("u32 = u32, u32", lambda a, b: (a & 0xFFFFFF) * (b & 0xFFFFFF)),
    "mul24.lo.s32 %d, %a, %b;": (
        "u32 = u32, u32",
        lambda a, b: signed(a & 0xFFFFFF, 24) * signed(b & 0xFFFFFF, 24),
    ),
}
BITS: dict[str, tuple[str, Callable[..., int]]] = {
    **{line: row for kind in _KINDS for line, row in _shifts(kind).items()},
    **_bits(32),
    **_bits(64),
    **{f"lop3.b32 %d, %a, %b, %c, {n};": (_THREE, _lop3(n)) for n in (0x00, 0x1B, 0x78, 0xE8, 0xFE)},
    "prmt.b32 %d, %a, %b, %c;": (_THREE, _permute),
    "shf.l.wrap.b32 %d, %a, %b, %c;": (_THREE, lambda a, b, n: (b << 32 | a) << (n & 31) >> 32),
    "shf.r.wrap.b32 %d, %a, %b, %c;": (_THREE, lambda a, b, n: (b << 32 | a) >> (n & 31)),
    "shf.l.clamp.b32 %d, %a, %b, %c;": (_THREE, lambda a, b, n: (b << 32 | a) << min(n, 32) >> 32),
    "shf.r.clamp.b32 %d, %a, %b, %c;": (_THREE, lambda a, b, n: (b << 32 | a) >> min(n, 32)),
}
EXACT = ARITHMETIC | BITS


def expected(line: str, rows: Sequence[tuple[int, ...]]) -> list[int]:
    """Bits of ``%d`` for each row of words, of which each source takes its low bits."""
    signature, function = EXACT[line]
    result, sources = signature.split(" = ")
    kinds = sources.split(", ")
    bits = []
    for row in rows:
        values = [word % 2 ** int(kind[1:]) for word, kind in zip(row, kinds, strict=False)]
        values = [signed(v, int(kind[1:])) if kind[0] == "s" else v for v, kind in zip(values, kinds, strict=True)]
        bits.append(function(*values) % 2 ** int(result[1:]))
    return bits


EDGES = (0, 1, 2, 7, 8, 15, 16, 31, 32, 33, 63, 64, 255, 256, 0x7FFF, 0x8000, 2**31 - 1, 2**31, 2**63 - 1, 2**63)
WORDS = st.one_of(st.sampled_from([*EDGES, *(2**64 - edge for edge in EDGES)]), st.integers(0, 2**64 - 1))
ROWS = st.lists(st.tuples(WORDS, WORDS, WORDS, WORDS), min_size=WARP, max_size=WARP)
"""Sources of an instruction, a row per lane of a warp."""
