"""Arithmetic: against the tables; integers against Python's own, which have no width; floats against fractions."""

from collections.abc import Callable
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ..formats import FORMATS, near
from ..harness import WARP, disagreements, run_instruction
from ..tables.exact import ARITHMETIC, ROWS, expected
from ..tables.floats import FLOATS, PACKED
from ..tables.integers import INTEGERS
from ..tables.notation import Case

OPERATIONS: dict[str, Callable[..., Fraction | None]] = {
    "add": lambda a, b, c: a + b,
    "sub": lambda a, b, c: a - b,
    "mul": lambda a, b, c: a * b,
    "div.rn": lambda a, b, c: a / b if b else None,
    "fma.rn": lambda a, b, c: a * b + c,
}


@pytest.mark.parametrize("case", (*INTEGERS, *FLOATS, *PACKED), ids=lambda case: case.lines)
def test_meaning(case: Case):
    found = disagreements(case)
    assert not found, "\n".join(found)


@pytest.mark.parametrize("line", ARITHMETIC)
@settings(max_examples=5)
@given(rows=ROWS)
def test_integers_are_exact(line: str, rows: list[tuple[int, ...]]):
    signature, _ = ARITHMETIC[line]
    assert run_instruction(signature, line, rows) == expected(line, rows)


@pytest.mark.parametrize("kind", ["u32", "s32", "u64", "s64"])
@pytest.mark.parametrize("name", ["div", "rem"])
def test_division_by_zero_disturbs_no_other_lane(name: str, kind: str):
    found = run_instruction(f"{kind} = {kind}, {kind}", f"{name}.{kind} %d, %a, %b;", [(9, 0), (9, 4), (0, 0)])
    assert found[1] == {"div": 2, "rem": 1}[name]


@pytest.mark.parametrize(
    ("name", "kind"),
    [(name, kind) for name in OPERATIONS for kind in FORMATS if name != "div.rn" or kind in ("f32", "f64")],
)
@settings(max_examples=10)
@given(data=st.data())
def test_floats_are_rounded_once(name: str, kind: str, data: st.DataObject):
    form, operation = FORMATS[kind], OPERATIONS[name]
    number = near(st.integers(0, 2**64 - 1), form)
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
