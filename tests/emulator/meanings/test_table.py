"""How meanings are entered, and how bits are cut and joined."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cornerturn.emulator.meanings.table import Table, join, split, width


def test_one_function_may_be_the_meaning_of_several_instructions():
    table = Table()

    @table.meaning("mul.lo")
    @table.meaning("mul", "t = t, t, t")
    def function(*operands):
        return operands

    assert table == {"mul": ("t = t, t, t", function), "mul.lo": ("t = t, t", function)}


@given(word=st.integers(0, 2**64 - 1), count=st.sampled_from([2, 4]))
def test_parts_are_cut_low_part_first_and_joined_again(word: int, count: int):
    parts = split(np.array([word], dtype=np.uint64), count)
    bits = 64 // count
    assert [int(part[0]) for part in parts] == [word >> bits * k & 2**bits - 1 for k in range(count)]
    assert join(parts, bits).tolist() == [word]
    assert {width(part) for part in parts} == {bits}
