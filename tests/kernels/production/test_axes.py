"""Axes as the production kernels take them."""

from hypothesis import given
from hypothesis import strategies as st

from cornerturn.kernels.production.axes import division


@given(st.integers(1, 2**31 - 1), st.integers(0, 2**31 - 1))
def test_division_is_exact(divisor: int, n: int) -> None:
    magic, shift = division(divisor)
    assert 0 < magic < 2**32
    for number in (n, n // divisor * divisor, max(n // divisor * divisor - 1, 0)):
        assert ((magic * number >> 32) + number) >> shift == number // divisor
