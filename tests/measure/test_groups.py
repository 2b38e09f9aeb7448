import math
import re

import pytest

from cornerturn.errors import UsageError
from cornerturn.measure.cases import Case, held_as
from cornerturn.measure.groups import (
    CPU_BYTES,
    GROUPS,
    LARGE,
    MANY_AXES,
    MANY_AXES_ELEMENTS,
    MODELS,
    SMALL,
    for_cpu,
    parse_case,
    parse_move,
)
from cornerturn.op.problem import canonical
from cornerturn.op.strided_view import MAX_NDIM, c_order

PARTS = [
    Case((64, 65), (1, 0), "[:,1:]"),
    Case((64, 64), (1, 0), "[:,::2]"),
    Case((4, 6, 8), (2, 0, 1), "[1:3,:,2:7:3]"),
    Case((5, 6), (0, 1), "[::3]"),
]


@pytest.mark.parametrize("case", [*LARGE, *SMALL, *PARTS], ids=lambda case: case.name)
def test_a_name_leads_back_to_its_case(case):
    assert parse_case(case.name) == (case,)
    assert parse_move(case.name) == case


def test_groups_are_whole():
    assert {name: len(group) for name, group in GROUPS.items()} == {"large": 13, "small": 6, "models": 58}
    assert all(parse_case(name) == group for name, group in GROUPS.items())


@pytest.mark.parametrize(
    "text",
    [
        *("", "8x", "0x5", "8x8:0", "8x8:0,0", "8x8:1,2", "medium", "8 x 8", "-1x2"),
        *("8x8[]", "8x8[:", "8x8[1]", "8x8[9:]", "8x8[:,:,:]", "8x8[::0]", "8x8[:-1]", "8x8:1,0[1:]"),
    ],
)
def test_other_names_are_refused(text):
    message = f"got {text!r}; give {', '.join(GROUPS)}, 8192x8192, "
    with pytest.raises(UsageError, match=re.escape(message)):
        parse_case(text)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        *((text, "unknown move") for text in ("", "large", "models", "8x8[9:]")),
        *((text, "axes must name each of the 2 axes once, from 0 to 1") for text in ("8x8:0", "8x8:0,0", "8x8:1,2")),
        *((text, "every extent must be at least 1") for text in ("0x5", "5x0:1,0")),
    ],
)
def test_a_move_is_one_case(text, rule):
    message = f"{rule}: got {text!r}; give a shape and axes, such as 8192x8192, "
    with pytest.raises(UsageError, match=re.escape(message)):
        parse_move(text)
    if text not in GROUPS:
        rule_of_a_case = rule.replace("move", "case")
        with pytest.raises(UsageError, match=f"^{rule_of_a_case}: got"):
            parse_case(text)


@pytest.mark.parametrize("case", [*MODELS, *map(for_cpu, MODELS)], ids=lambda case: f"{case.label} {case.dtype}")
def test_an_everyday_case_moves(case):
    view = case.view(held_as(case.dtype).itemsize).permuted(case.axes)
    problem = canonical(view.itemsize, view.shape, view.strides, c_order(view.shape, view.itemsize).strides)
    assert len(problem.axes) >= 2
    assert len(case.whole) <= MAX_NDIM
    assert parse_case(case.name) == (Case(case.whole, case.axes, case.index),)


def test_everyday_cases_have_names_of_their_own():
    assert len({case.label for case in MODELS}) == len({(case.name, case.dtype) for case in MODELS}) == len(MODELS)


def test_on_a_cpu_they_are_held_by_numpy_and_not_too_large():
    for case, smaller in ((case, for_cpu(case)) for case in MODELS):
        nbytes, left = (math.prod(one.whole) * held_as(case.dtype).itemsize for one in (case, smaller))
        assert held_as(smaller.dtype).name == smaller.dtype
        assert left <= CPU_BYTES
        assert (smaller.axes, smaller.index, smaller.label) == (case.axes, case.index, case.label)
        if len(case.whole) > MANY_AXES:
            assert math.prod(smaller.whole) == MANY_AXES_ELEMENTS
            continue
        assert left == nbytes or left > CPU_BYTES // 3
        assert sum(mine != other for mine, other in zip(case.whole, smaller.whole, strict=True)) == (left < nbytes)
