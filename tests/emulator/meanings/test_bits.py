"""Logic, shifts and bit fields: against the tables, and against Python's integers, which have no width."""

import pytest
from hypothesis import given, settings

from ..harness import disagreements, run_instruction
from ..tables.exact import BITS, ROWS, expected
from ..tables.logic import LOGIC, PERMUTES
from ..tables.notation import Case


@pytest.mark.parametrize("case", (*LOGIC, *PERMUTES), ids=lambda case: case.lines)
def test_meaning(case: Case):
    found = disagreements(case)
    assert not found, "\n".join(found)


@pytest.mark.parametrize("line", BITS)
@settings(max_examples=5)
@given(rows=ROWS)
def test_integers_are_exact(line: str, rows: list[tuple[int, ...]]):
    signature, _ = BITS[line]
    assert run_instruction(signature, line, rows) == expected(line, rows)
