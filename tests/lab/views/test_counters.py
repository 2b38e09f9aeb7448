import pytest

from cornerturn.lab.counters import COUNTERS, CounterComparison
from cornerturn.lab.views.counters import counters_view

from ..printing import printed


def compared(name, extra):
    emulated = {counter.name: 1000 for counter in COUNTERS}
    return CounterComparison(name, 64, 64, emulated, emulated | {"global load sectors": 1000 + extra})


def test_each_number_has_its_difference_below_it():
    lines = [line.split() for line in printed(counters_view([compared("naive", 0), compared("tiled_32", 7)], "a GPU"))]
    assert lines[0] == ["64", "x", "64,", "4-byte", "elements,", "a", "GPU,", "under", "Nsight", "Compute"]
    start = lines.index(["tiled_32"])
    assert [line[:1] for line in lines[start + 1 : start + 4]] == [["emulator"], ["hardware"], ["difference"]]
    assert [line[2] for line in lines[start + 1 : start + 4]] == ["1,000", "1,007", "+7"]


@pytest.mark.parametrize(
    ("extras", "summary"),
    [
        ((0,), "1 of 1 kernel counts alike"),
        ((1,), "0 of 1 kernel counts alike"),
        ((0, 7), "1 of 2 kernels counts alike"),
        ((0, 0), "2 of 2 kernels count alike"),
    ],
)
def test_the_summary_counts_the_kernels_that_agree(extras, summary):
    view = counters_view([compared("naive", extra) for extra in extras], "a GPU")
    assert any(line.startswith(summary) for line in printed(view))
