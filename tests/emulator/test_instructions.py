"""Every instruction's meaning against bits worked out from the PTX ISA's text, one row per lane."""

from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cornerturn.emulator import decode, instructions
from cornerturn.ptx import Instruction, parse

from .harness import WARP, disagreements, instruction_kernel, on_emulator, run_instruction
from .tables.every import CASES
from .tables.exact import EXACT, WORDS, expected, signed
from .tables.notation import Case, case


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.lines)
def test_meaning(case: Case):
    found = disagreements(case)
    assert not found, "\n".join(found)


def test_a_disagreement_is_told_with_its_sources():
    def wrong(ptx: str, output: np.ndarray, inputs: list[np.ndarray]) -> None:
        on_emulator(ptx, output, inputs)
        output[1] ^= 1

    table = case("u32 = u32, u32", "add.u32 %d, %a, %b;", ((1, 2), 3), ((5, 7), 12))
    assert disagreements(table, wrong) == [
        "add.u32 %d, %a, %b; (u32 = u32, u32; %a = 0x5, %b = 0x7; lane 1): the table says 0xc, found 0xd"
    ]


def _instructions() -> Iterator[Instruction]:
    for each in CASES:
        yield from parse(instruction_kernel(each.signature, each.lines), "kernel").instructions


def test_the_tables_hold_every_instruction():
    tested = {instructions.key_of(i.opcode, i.modifiers) for i in _instructions()}
    assert sorted(set(instructions.MEANINGS) - tested) == []
    assert sorted(set(decode.ACTIONS) - {i.opcode for i in _instructions()}) == []


# --- integers against Python's own, which have no width -----------------------------------------------------------

ROWS = st.lists(st.tuples(WORDS, WORDS, WORDS, WORDS), min_size=WARP, max_size=WARP)


@pytest.mark.parametrize("line", EXACT)
@settings(max_examples=5)
@given(rows=ROWS)
def test_integers_are_exact(line: str, rows: list[tuple[int, ...]]):
    signature, _ = EXACT[line]
    assert run_instruction(signature, line, rows) == expected(line, rows)


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
        if exact:  # the sign of a zero and division by zero are in the table
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
        value = signed(word % 2**size, size) if source[0] == "s" else word % 2**size
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
