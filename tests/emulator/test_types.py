"""PTX's types: register bits to values and back."""

import math
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cornerturn.emulator.types import PACKED, TYPES, WIDER

WORDS = st.integers(0, 2**64 - 1)
CODES = {"f16": "e", "f32": "f", "f64": "d"}


def register(bits: int, value: int) -> np.ndarray:
    """A register of so many bits that holds a value's low ones."""
    return np.array([value % 2**bits], f"u{bits // 8}")


def meaning(name: str, bits: int) -> float:
    """What so many low bits mean as a type."""
    size = TYPES[name].bytes
    raw = (bits % 2 ** (8 * size)).to_bytes(size, "little")
    if name in CODES:
        return struct.unpack(CODES[name], raw)[0]
    if name == "bf16":
        return struct.unpack("f", b"\0\0" + raw)[0]
    return int.from_bytes(raw, "little", signed=name[0] == "s")


NUMBERS = [name for name in TYPES if name != "pred"]


@pytest.mark.parametrize("name", NUMBERS)
@given(word=WORDS, wider=st.sampled_from([8, 16, 32, 64]))
def test_a_register_gives_its_low_bits_as_the_type(name: str, word: int, wider: int):
    kind = TYPES[name]
    (value,) = kind.decode(register(max(wider, 8 * kind.bytes), word))
    said = meaning(name, word)
    assert value == said or (math.isnan(value) and math.isnan(said))


@pytest.mark.parametrize("name", [name for name in NUMBERS if name[0] in "us"])
@given(word=WORDS, wider=st.sampled_from([16, 32, 64]))
def test_a_narrow_integer_extends_by_its_own_sign(name: str, word: int, wider: int):
    kind = TYPES[name]
    size = max(wider, 8 * kind.bytes)
    (bits,) = kind.encode(kind.decode(register(8 * kind.bytes, word)), np.dtype(f"u{size // 8}"))
    assert int(bits) == meaning(name, word) % 2**size


@pytest.mark.parametrize("name", ["f16", "bf16", "f32", "f64", *(f"b{bits}" for bits in (8, 16, 32, 64))])
@given(word=WORDS)
def test_values_become_the_bits_that_they_came_from(name: str, word: int):
    kind = TYPES[name]
    bits = register(8 * kind.bytes, word)
    back = kind.encode(kind.decode(bits), bits.dtype)
    assert back.dtype == bits.dtype
    if not math.isnan(meaning(name, word)):
        assert back.tolist() == bits.tolist()


@pytest.mark.parametrize(
    ("value", "name", "said"),
    [
        (300.0, "u8", 255),
        (-1.5, "u32", 0),
        (-129.0, "s8", 0x80),
        (2.0**63, "s64", 2**63 - 1),
        (math.inf, "u64", 2**64 - 1),
        (math.nan, "s32", 0x8000_0000),  # the source has 64 bits
        (np.float32(math.nan), "s32", 0),
        (np.float32(math.nan), "u64", 2**63),
        (1.0 + 2.0**-8, "bf16", 0x3F80),  # a tie goes to even
        (1.0 + 3 * 2.0**-8, "bf16", 0x3F82),
        (1.0 + 2.0**-8 + 2.0**-40, "bf16", 0x3F81),  # no tie, though float32 would make it one
        (math.nan, "bf16", 0x7FFF),
    ],
)
def test_what_a_type_cannot_hold_is_clamped_or_rounded_once(value: float, name: str, said: int):
    kind = TYPES[name]
    (bits,) = kind.encode(np.array([value], np.asarray(value).dtype), kind.bits)
    assert int(bits) == said


def test_a_predicate_is_a_bool_in_every_register():
    kind = TYPES["pred"]
    assert kind.bits == np.bool_
    assert kind.decode(np.array([True, False])).tolist() == [True, False]


def test_packed_and_wider_types_are_half_and_twice_as_wide():
    assert {name: kind.bytes for name, kind in PACKED.items()} == {"f16x2": 2, "bf16x2": 2}
    assert all(WIDER[name].bytes == 2 * TYPES[name].bytes for name in WIDER)
    assert all(WIDER[name].name[0] == name[0] for name in WIDER)
