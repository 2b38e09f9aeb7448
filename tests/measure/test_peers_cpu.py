import pytest

from cornerturn.errors import MissingExtraError
from cornerturn.measure import compare, compare_cpu, peers_cpu
from cornerturn.measure.cases import DTYPES, Case
from cornerturn.measure.compare_cpu import compare_on_cpu
from cornerturn.measure.peers_cpu import CPU_PEERS

CASES = [
    Case((6, 10), (1, 0)),
    Case((3, 6, 10), (0, 2, 1)),
    Case((6, 10, 4), (1, 0, 2)),
    Case((6, 10), (1, 0), "[:,1:]"),
    Case((6, 10), (1, 0), "[::2,1::3]"),
]


@pytest.mark.parametrize("peer", CPU_PEERS, ids=lambda peer: peer.name)
@pytest.mark.parametrize("dtype", [*DTYPES, "complex64"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_is_right_or_says_why_not(monkeypatch, peer, dtype, case):
    monkeypatch.setattr(compare, "ROUNDS", 2)
    monkeypatch.setattr(compare_cpu, "SAMPLE_SECONDS", 1e-9)
    try:
        prepare = peer.open().prepare
    except MissingExtraError as error:
        pytest.skip(str(error))
    (result,) = [row for row in compare_on_cpu(case, dtype, {peer.name: prepare}) if row.engine == peer.name]
    assert result.status == ("refused" if result.refused else "valid")
    is_whole_matrix = not case.index and case.axes != (1, 0, 2)
    assert bool(result.refused) == (
        (peer.name in ("OpenCV", "MKL") and not is_whole_matrix)
        or (peer.name == "MKL" and dtype in ("uint8", "float16", "complex64"))
    )


@pytest.mark.parametrize("peer", CPU_PEERS, ids=lambda peer: peer.name)
def test_a_library_says_its_version(peer):
    try:
        assert peer.open().version[0].isdigit()
    except MissingExtraError as error:
        pytest.skip(str(error))


def test_a_missing_distribution_is_a_missing_library(monkeypatch):
    monkeypatch.setattr(peers_cpu, "files", lambda name: None)
    with pytest.raises(MissingExtraError, match="MKL is not installed: pip install mkl"):
        next(peer for peer in CPU_PEERS if peer.name == "MKL").open()
