"""Operands: what is read and written, and what is no operand."""

import re

import pytest

from cornerturn.errors import EmulatorError

from .harness import run_instruction

ROWS = [(1, 0x8000_0001), (0xFFFF_FFFF, 3), (5, 0)]

BY_FORM: list[tuple[str, str, list[int]]] = [
    ("u32 = u32, u32", "add.u32 %d, %a, -1;", [0, 0xFFFF_FFFE, 4]),
    ("u32 = u32, u32", "add.u32 %d, %a, 0x10;", [17, 15, 21]),
    ("u64 = u32, u32", "cvt.s64.s32 %d, %a;", [1, 2**64 - 1, 5]),
    ("u64 = u32, u32", "cvt.u64.u32 %d, %a;", [1, 2**32 - 1, 5]),
    ("u32 = u32, u32", "cvt.s32.s8 %d, %a;", [1, 0xFFFF_FFFF, 5]),  # a register's low byte
    ("u32 = u32, u32", "mov.b32 %d, 0f3F800000;", [0x3F80_0000] * 3),
    ("u64 = u32, u32", "mov.b64 %d, 0d3FF0000000000000;", [0x3FF0 << 48] * 3),
    ("u32 = u32, u32", "mov.f32 %d, 0d3FF8000000000000;", [0x3FC0_0000] * 3),  # a double where a float is meant
    ("u32 = u32, u32", "mov.u32 %d, %laneid;", [0, 1, 2]),
    ("pred = u32, u32", "setp.gt.u32 %d, %a, %b; not.pred %d, %d;", [1, 0, 0]),
    ("u32 = u32, u32", "{ .reg .pred %p; setp.gt.u32 %p, %a, %b; selp.u32 %d, 1, 2, %p; }", [2, 1, 1]),
    ("u32 = u32, u32", "mov.u32 %d, 0; { .reg .pred %p; setp.gt.u32 %p, %a, %b; @!%p mov.u32 %d, 3; }", [3, 0, 0]),
    ("u32 = u32, u32", "{ .reg .pred %p, %q; setp.gt.u32 %p, %a, %b; setp.ne.and.u32 %q, %a, 5, !%p; "
     "selp.u32 %d, 1, 2, %q; }", [1, 2, 2]),
]  # fmt: skip


@pytest.mark.parametrize(("signature", "lines", "said"), BY_FORM, ids=[lines for _, lines, _ in BY_FORM])
def test_operands_of_every_form(signature: str, lines: str, said: list[int]):
    assert run_instruction(signature, lines, ROWS) == said


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("mov.u32 %d, %clock_of_the_hall;", "%clock_of_the_hall is not emulated"),
        ("mov.u64 %at, kernel;", "kernel is not a variable, and functions have no address here"),
        ("add.u32 7, %a, %a;", "its destination is not one register"),
        ("add.u32 %d, %a, [%at];", "an operand is of a kind that it does not take"),
        ("ld.global.u32 %d, %at;", "its address is not in brackets"),
        ("add %d, %a, %a;", "add"),
    ],
)
def test_what_is_no_operand_is_named(lines: str, message: str):
    with pytest.raises(EmulatorError, match=re.escape(message)):
        run_instruction("u32 = u32", lines, [(1,)])
