"""Comparison and selection against the tables."""

import pytest

from ..harness import disagreements
from ..tables.comparisons import COMPARISONS
from ..tables.notation import Case


@pytest.mark.parametrize("case", COMPARISONS, ids=lambda case: case.lines)
def test_meaning(case: Case):
    found = disagreements(case)
    assert not found, "\n".join(found)
