"""The tables hold every instruction, a disagreement with them is told, and what is not known is not computed."""

from collections.abc import Iterator

import numpy as np
import pytest

from cornerturn.emulator import decode, instructions
from cornerturn.ptx import Instruction, parse

from .harness import disagreements, instruction_kernel, on_emulator
from .tables.every import CASES
from .tables.notation import case


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
