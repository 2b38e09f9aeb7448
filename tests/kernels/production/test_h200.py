"""The profile of an H200: tiles that their kernels take."""

import pytest

from cornerturn.kernels.kernel import ELEMENT_SIZES
from cornerturn.kernels.production.h200 import H200
from cornerturn.kernels.production.tile import HALO


@pytest.mark.parametrize("element", ELEMENT_SIZES)
def test_every_tile_obeys_the_rules(element: int) -> None:
    whole = [*H200.aligned[element], *H200.near[element], *H200.loose.get(element, ())]
    assert [shape.broken_rule(element) for shape in whole] == [None] * len(whole)
    ragged = H200.ragged[element]
    assert [shape.broken_rule(element, HALO) for shape in ragged] == [None] * len(ragged)


def test_groups_are_of_aligned_tiles() -> None:
    for element, group in H200.groups.items():
        assert H200.aligned[element][0].grouped(group).broken_rule(element) is None
