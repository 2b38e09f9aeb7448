"""Every instruction's meaning against bits worked out from the PTX ISA's text, one row a lane."""

from collections.abc import Callable, Iterator
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cornerturn.emulator import decode, instructions
from cornerturn.ptx import Instruction, parse

from .harness import WARP, instruction_kernel, run_instruction
from .tables.comparisons import COMPARISONS
from .tables.floats import FLOATS, PACKED
from .tables.integers import INTEGERS
from .tables.logic import LOGIC, PERMUTES
from .tables.moves import ADDRESSES, CONVERSIONS, MOVES
from .tables.notation import Case
from .tables.other_lanes import OTHER_LANES

CASES = (
    *INTEGERS,
    *LOGIC,
    *PERMUTES,
    *FLOATS,
    *PACKED,
    *CONVERSIONS,
    *MOVES,
    *ADDRESSES,
    *COMPARISONS,
    *OTHER_LANES,
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.lines)
def test_meaning(case: Case):
    for start in range(0, len(case.rows), WARP):
        rows = case.rows[start : start + WARP]
        found = run_instruction(case.signature, case.lines, [sources for sources, _ in rows])
        shown = [(tuple(map(hex, sources)), hex(bits)) for (sources, _), bits in zip(rows, found, strict=True)]
        assert shown == [(tuple(map(hex, sources)), hex(expected)) for sources, expected in rows]


def _instructions() -> Iterator[Instruction]:
    for case in CASES:
        yield from parse(instruction_kernel(case.signature, case.lines), "kernel").instructions


def test_the_tables_hold_every_instruction():
    tested = {instructions.key_of(i.opcode, i.modifiers) for i in _instructions()}
    assert sorted(set(instructions.MEANINGS) - tested) == []
    assert sorted(set(decode.ACTIONS) - {i.opcode for i in _instructions()}) == []


# --- integers against Python's own, which have no width -----------------------------------------------------------


def _signed(value: int, bits: int) -> int:
    return value - 2**bits if value >> (bits - 1) & 1 else value


def _quotient(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _divide(a: int, b: int) -> int:
    return _quotient(a, b or 1)


def _remainder(a: int, b: int) -> int:
    return a - _quotient(a, b or 1) * (b or 1)


def _extract(a: int, position: int, length: int) -> int:
    return a >> (position & 255) & (2 ** (length & 255) - 1)


def _extract_signed(a: int, position: int, length: int) -> int:
    """A Python integer repeats its sign for ever, so a field past the top ends with it."""
    return _signed(_extract(a, position, length), length & 255) if length & 255 else 0


def _insert(a: int, b: int, position: int, length: int) -> int:
    mask = (2 ** (length & 255) - 1) << (position & 255)
    return b & ~mask | a << (position & 255) & mask


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
    shift = f"{kind} = {kind}, u32"
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
        f"shl.b{bits} %d, %a, %b;": (shift, lambda a, n: a << min(n, bits)),
        f"shr.{kind} %d, %a, %b;": (shift, lambda a, n: a >> min(n, bits)),
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


def _bits(bits: int) -> dict[str, tuple[str, Callable[..., int]]]:
    u, s, b = f"u{bits}", f"s{bits}", f"b{bits}"
    return {
        f"bfe.{u} %d, %a, %b, %c;": (f"{u} = {u}, u32, u32", _extract),
        f"bfe.{s} %d, %a, %b, %c;": (f"{s} = {s}, u32, u32", _extract_signed),
        f"bfi.{b} %d, %a, %b, %c, %e;": (f"{b} = {b}, {b}, u32, u32", _insert),
        f"popc.{b} %d, %a;": (f"u32 = {b}", int.bit_count),
        f"clz.{b} %d, %a;": (f"u32 = {b}", lambda a: bits - a.bit_length()),
        f"bfind.{u} %d, %a;": (f"u32 = {u}", lambda a: a.bit_length() - 1),
        f"bfind.{s} %d, %a;": (f"u32 = {s}", lambda a: (~a if a < 0 else a).bit_length() - 1),
        f"brev.{b} %d, %a;": (f"{b} = {b}", lambda a: int(f"{a:0{bits}b}"[::-1], 2)),
        f"not.{b} %d, %a;": (f"{b} = {b}", lambda a: ~a),
        f"cnot.{b} %d, %a;": (f"{b} = {b}", lambda a: int(a == 0)),
    }


_THREE = "b32 = b32, b32, b32"
EXACT: dict[str, tuple[str, Callable[..., int]]] = {
    **{line: row for kind in ("u16", "s16", "u32", "s32", "u64", "s64") for line, row in _arithmetic(kind).items()},
    **{line: row for kind in ("u16", "s16", "u32", "s32") for line, row in _wide(kind).items()},
    **_bits(32),
    **_bits(64),
    **{f"lop3.b32 %d, %a, %b, %c, {n};": (_THREE, _lop3(n)) for n in (0x00, 0x1B, 0x78, 0xE8, 0xFE)},
    "prmt.b32 %d, %a, %b, %c;": (_THREE, _permute),
    "shf.l.wrap.b32 %d, %a, %b, %c;": (_THREE, lambda a, b, n: (b << 32 | a) << (n & 31) >> 32),
    "shf.r.wrap.b32 %d, %a, %b, %c;": (_THREE, lambda a, b, n: (b << 32 | a) >> (n & 31)),
    "shf.l.clamp.b32 %d, %a, %b, %c;": (_THREE, lambda a, b, n: (b << 32 | a) << min(n, 32) >> 32),
    "shf.r.clamp.b32 %d, %a, %b, %c;": (_THREE, lambda a, b, n: (b << 32 | a) >> min(n, 32)),
    "mul24.lo.u32 %d, %a, %b;": ("u32 = u32, u32", lambda a, b: (a & 0xFFFFFF) * (b & 0xFFFFFF)),
    "mul24.lo.s32 %d, %a, %b;": (
        "u32 = u32, u32",
        lambda a, b: _signed(a & 0xFFFFFF, 24) * _signed(b & 0xFFFFFF, 24),
    ),
}

_EDGES = (0, 1, 2, 7, 8, 15, 16, 31, 32, 33, 63, 64, 255, 256, 0x7FFF, 0x8000, 2**31 - 1, 2**31, 2**63 - 1, 2**63)
WORDS = st.one_of(st.sampled_from([*_EDGES, *(2**64 - edge for edge in _EDGES)]), st.integers(0, 2**64 - 1))
ROWS = st.lists(st.tuples(WORDS, WORDS, WORDS, WORDS), min_size=WARP, max_size=WARP)


@pytest.mark.parametrize("line", EXACT)
@settings(max_examples=5)
@given(rows=ROWS)
def test_integers_are_exact(line: str, rows: list[tuple[int, ...]]):
    signature, function = EXACT[line]
    result, sources = signature.split(" = ")
    kinds = sources.split(", ")
    expected = []
    for row in rows:
        values = [word % 2 ** int(kind[1:]) for word, kind in zip(row, kinds, strict=False)]
        values = [_signed(v, int(kind[1:])) if kind[0] == "s" else v for v, kind in zip(values, kinds, strict=True)]
        expected.append(function(*values) % 2 ** int(result[1:]))
    assert run_instruction(signature, line, rows) == expected


@pytest.mark.parametrize("kind", ["u32", "s32", "u64", "s64"])
@pytest.mark.parametrize("name", ["div", "rem"])
def test_division_by_zero_disturbs_no_other_lane(name: str, kind: str):
    found = run_instruction(f"{kind} = {kind}, {kind}", f"{name}.{kind} %d, %a, %b;", [(9, 0), (9, 4), (0, 0)])
    assert found[1] == {"div": 2, "rem": 1}[name]


# --- floating point against exact fractions, rounded once ---------------------------------------------------------


class Format:
    """An IEEE binary format of ``precision`` significant bits and least exponent ``least``."""

    def __init__(self, bits: int, precision: int, least: int) -> None:
        self.bits, self.precision, self.least = bits, precision, least
        self.infinity = (2 ** (bits - precision) - 1) << (precision - 1)

    def value(self, bits: int) -> Fraction:
        """The exact value of a finite number."""
        sign, rest = divmod(bits, 2 ** (self.bits - 1))
        exponent, fraction = divmod(rest, 2 ** (self.precision - 1))
        significand = fraction + (2 ** (self.precision - 1) if exponent else 0)
        power = max(exponent - 1, 0) + self.least - (self.precision - 1)
        return (-1) ** sign * significand * Fraction(2) ** power

    def nearest(self, exact: Fraction) -> int:
        """Bits of the number nearest to a value that is not zero, ties to even."""
        size, sign = abs(exact), int(exact < 0) << (self.bits - 1)
        exponent = size.numerator.bit_length() - size.denominator.bit_length()
        exponent -= size < Fraction(2) ** exponent
        exponent = max(exponent, self.least)
        units = round(size / Fraction(2) ** (exponent - self.precision + 1))  # Python rounds ties to even
        return sign | min(units + ((exponent - self.least) << (self.precision - 1)), self.infinity)


FORMATS = {
    "f16": Format(16, 11, -14),
    "bf16": Format(16, 8, -126),
    "f32": Format(32, 24, -126),
    "f64": Format(64, 53, -1022),
}
OPERATIONS: dict[str, Callable[..., Fraction | None]] = {
    "add": lambda a, b, c: a + b,
    "sub": lambda a, b, c: a - b,
    "mul": lambda a, b, c: a * b,
    "div.rn": lambda a, b, c: a / b if b else None,
    "fma.rn": lambda a, b, c: a * b + c,
}


def _near(bits: st.SearchStrategy[int], form: Format) -> st.SearchStrategy[int]:
    """Finite numbers, most of them near 1, where sums and products get in each other's way."""
    one = (2 ** (form.bits - form.precision - 1) - 1) << (form.precision - 1)
    spread = min(1 << (form.precision + 3), one // 2)
    near_one = st.builds(
        lambda n, sign: (one + n % (2 * spread) - spread) | sign << (form.bits - 1), bits, st.booleans()
    )
    anywhere = bits.map(lambda n: n % 2**form.bits).filter(lambda n: n % 2 ** (form.bits - 1) < form.infinity)
    return st.one_of(near_one, anywhere)


@pytest.mark.parametrize(
    ("name", "kind"),
    [(name, kind) for name in OPERATIONS for kind in FORMATS if name != "div.rn" or kind in ("f32", "f64")],
)
@settings(max_examples=10)
@given(data=st.data())
def test_floats_are_rounded_once(name: str, kind: str, data: st.DataObject):
    form, operation = FORMATS[kind], OPERATIONS[name]
    number = _near(st.integers(0, 2**64 - 1), form)
    rows = data.draw(st.lists(st.tuples(number, number, number), min_size=WARP, max_size=WARP))
    register = f"b{form.bits}"
    third = ", %c" if name == "fma.rn" else ""
    found = run_instruction(
        f"{register} = {register}, {register}, {register}", f"{name}.{kind} %d, %a, %b{third};", rows
    )
    for row, bits in zip(rows, found, strict=True):
        exact = operation(*map(form.value, row))
        if exact:  # the sign of a zero and division by zero stand in the table
            assert (row, hex(bits)) == (row, hex(form.nearest(exact)))


@pytest.mark.parametrize(
    ("source", "target"),
    [(a, b) for a in FORMATS for b in FORMATS if a != b and {a, b} != {"f16", "bf16"}],
)
@settings(max_examples=10)
@given(data=st.data())
def test_conversions_round_once(source: str, target: str, data: st.DataObject):
    wide, narrow = FORMATS[source], FORMATS[target]
    numbers = data.draw(st.lists(_near(st.integers(0, 2**64 - 1), wide), min_size=WARP, max_size=WARP))
    how = "" if narrow.precision > wide.precision else ".rn"
    found = run_instruction(
        f"b{narrow.bits} = b{wide.bits}", f"cvt{how}.{target}.{source} %d, %a;", [(n,) for n in numbers]
    )
    for number, bits in zip(numbers, found, strict=True):
        exact = wide.value(number)
        zero = number >> (wide.bits - 1) << (narrow.bits - 1)
        assert (hex(number), hex(bits)) == (hex(number), hex(narrow.nearest(exact) if exact else zero))


@pytest.mark.parametrize("target", FORMATS)
@pytest.mark.parametrize("source", ["u32", "s32", "u64", "s64"])
@settings(max_examples=5)
@given(words=st.lists(WORDS, min_size=WARP, max_size=WARP))
def test_integers_become_floats_by_one_rounding(source: str, target: str, words: list[int]):
    form, size = FORMATS[target], int(source[1:])
    rows = [(word,) for word in words]
    found = run_instruction(f"b{form.bits} = {source}", f"cvt.rn.{target}.{source} %d, %a;", rows)
    for word, bits in zip(words, found, strict=True):
        value = _signed(word % 2**size, size) if source[0] == "s" else word % 2**size
        assert (value, hex(bits)) == (value, hex(form.nearest(Fraction(value)) if value else 0))


@pytest.mark.parametrize("source", FORMATS)
@pytest.mark.parametrize("target", ["u8", "s16", "u32", "s32", "u64", "s64"])
@settings(max_examples=5)
@given(data=st.data())
def test_floats_become_integers_by_cutting_and_clamping(source: str, target: str, data: st.DataObject):
    form, size = FORMATS[source], int(target[1:])
    number = st.integers(0, 2**form.bits - 1).filter(lambda n: n % 2 ** (form.bits - 1) < form.infinity)
    numbers = data.draw(st.lists(number, min_size=WARP, max_size=WARP))
    register = f"b{max(size, 32)}"
    found = run_instruction(f"{register} = b{form.bits}", f"cvt.rzi.{target}.{source} %d, %a;", [(n,) for n in numbers])
    low, high = (-(2 ** (size - 1)), 2 ** (size - 1) - 1) if target[0] == "s" else (0, 2**size - 1)
    for bits, value in zip(found, map(form.value, numbers), strict=True):
        clamped = max(low, min(high, int(value)))  # int() cuts towards zero
        assert (value, bits) == (value, clamped % 2 ** max(size, 32))


# --- what has no meaning ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("opcode", "modifiers"),
    [
        ("add", ("rz", "f32")),
        ("add", ("sat", "s32")),
        ("add", ("cc", "u32")),
        ("cvt", ("sat", "u8", "s32")),
        ("cvt", ("rz", "f32", "f64")),
        ("mul", ("wide", "u64")),
        ("tex", ("2d", "v4", "f32", "s32")),
        ("add", ()),
    ],
)
def test_what_is_not_known_is_not_computed(opcode: str, modifiers: tuple[str, ...]):
    assert instructions.resolve(opcode, modifiers) is None
