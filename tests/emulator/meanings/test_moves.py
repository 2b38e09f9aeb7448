"""Moves and conversions: against the tables, and conversions of numbers against exact fractions, rounded once."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ..formats import FORMATS, near
from ..harness import WARP, disagreements, run_instruction
from ..tables.exact import WORDS, signed
from ..tables.moves import ADDRESSES, CONVERSIONS, MOVES
from ..tables.notation import Case


@pytest.mark.parametrize("case", (*CONVERSIONS, *MOVES, *ADDRESSES), ids=lambda case: case.lines)
def test_meaning(case: Case):
    found = disagreements(case)
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("source", "target"),
    [(a, b) for a in FORMATS for b in FORMATS if a != b and {a, b} != {"f16", "bf16"}],
)
@settings(max_examples=10)
@given(data=st.data())
def test_conversions_round_once(source: str, target: str, data: st.DataObject):
    wide, narrow = FORMATS[source], FORMATS[target]
    numbers = data.draw(st.lists(near(st.integers(0, 2**64 - 1), wide), min_size=WARP, max_size=WARP))
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
