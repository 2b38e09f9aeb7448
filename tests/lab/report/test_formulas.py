"""Formulas of addresses, found from the addresses."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cornerturn.lab.report.formulas import NamedMatrix, Threads, byte_formula, element_formula, sum_formula, xor_formula

X = NamedMatrix("x", 64, 128, "rows", "cols")


def threads_of(width, height, grid=((0, 0),)):
    number = np.tile(np.arange(width * height), len(grid))
    bx, by = np.repeat(np.array(grid), width * height, axis=0).T
    return Threads(number % width, number // width, bx, by)


def value(formula, threads, **names):
    """What a formula says, for each thread."""
    known = {name: getattr(threads, name) for name in ("tx", "ty", "bx", "by")}
    return np.broadcast_to(eval(formula.replace(" / ", " // "), {}, known | names), threads.tx.shape)


@pytest.mark.parametrize(
    ("address", "formula"),
    [
        (lambda t: 132 * t.ty + 4 * t.tx, "132*ty + 4*tx"),
        (lambda t: 4 * (t.tx % 16) + 64 * (t.tx // 16), "4*tx"),
        (lambda t: 64 * (t.tx % 16) + 4 * (t.tx // 16), "4*(tx / 16) + 64*(tx % 16)"),
        (lambda t: 4 * (t.tx ^ (t.tx // 16)), "4*tx ^ 4*(tx / 16)"),
        (lambda t: 0 * t.tx + 12, "12"),
        (lambda t: 0 * t.tx, "0"),
        (lambda t: 100 - 4 * t.tx, "-4*tx + 100"),
        (lambda t: t.tx * t.tx, ""),
    ],
)
def test_bytes_of_shared_memory(address, formula):
    threads = threads_of(32, 8)
    assert byte_formula(threads, address(threads)) == formula


def test_a_formula_that_holds_for_all_blocks_names_them():
    threads = threads_of(16, 4, grid=((0, 0), (1, 0), (0, 1), (2, 3)))
    row, col = 4 * threads.by + threads.ty, 16 * threads.bx + threads.tx
    assert element_formula(X, threads, row * 128 + col) == "x[4*by + ty, 16*bx + tx]"


def test_an_index_that_is_split_by_a_division():
    threads = threads_of(256, 1, grid=((0, 0), (1, 0), (5, 0)))
    i = 256 * threads.bx + threads.tx
    wide = NamedMatrix("x", 96, 96, "rows", "cols")
    assert element_formula(wide, threads, i) == "x[i / cols, i % cols] with i = 256*bx + tx"
    turned = i % 96 * 96 + i // 96
    assert element_formula(wide, threads, turned) == "x[i % rows, i / rows] with i = 256*bx + tx"


@given(st.lists(st.integers(-(2**20), 2**20), min_size=9, max_size=9), st.integers(0, 2**20))
def test_any_sum_over_the_bits_of_a_thread_is_found(weights, constant):
    threads = threads_of(32, 16)
    bits = [threads.tx >> bit & 1 for bit in range(5)] + [threads.ty >> bit & 1 for bit in range(4)]
    target = constant + sum(weight * bit for weight, bit in zip(weights, bits, strict=True))
    assert (value(sum_formula(threads, target), threads) == target).all()


@given(st.lists(st.integers(0, 2**12), min_size=9, max_size=9), st.integers(0, 2**12))
def test_any_exclusive_or_of_the_bits_of_a_thread_is_found(masks, constant):
    threads = threads_of(32, 16)
    bits = [threads.tx >> bit & 1 for bit in range(5)] + [threads.ty >> bit & 1 for bit in range(4)]
    target = np.full(threads.tx.shape, constant)
    for mask, bit in zip(masks, bits, strict=True):
        target ^= mask * bit
    formula = xor_formula(threads, target)
    assert (value(formula or "0", threads) == target).all()
