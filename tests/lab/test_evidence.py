import pytest

from cornerturn.kernels.catalogue import find
from cornerturn.lab import evidence
from cornerturn.lab.evidence import EvidenceError, Numbers


@pytest.fixture(scope="module")
def numbers():
    return Numbers(64, 64)


def test_counts_of_a_kernel(numbers):
    assert numbers.traffic("naive", "global store") == ("global store", 128, 4096, 512)
    assert numbers.passes("naive", "global store") == 32
    assert numbers.passes("naive", "shared load") == 0
    assert numbers.lines("naive") == 128 + 4096
    assert numbers.widths("f32x4_col2row", "global", "load") == {16}


def test_instructions_of_a_kernel(numbers):
    assert numbers.divisions("f32_col2row") > numbers.divisions("f32_col2row2d") == 0


def test_a_kernel_runs_once_and_is_told(monkeypatch):
    told = []
    numbers = Numbers(32, 32, told=told.append)
    assert numbers.counters("naive") == numbers.counters("naive")
    numbers.lines("naive")
    assert told == ["naive"]


def test_without_a_gpu_there_are_no_times(numbers):
    assert numbers.seconds("naive") is None


def test_a_wrong_kernel_is_no_evidence(monkeypatch):
    monkeypatch.setattr("cornerturn.lab.run.expected_output", lambda kernel, x: ~x.T)
    with pytest.raises(EvidenceError, match="naive is wrong at 32x32: 1024 of 1024 elements are wrong"):
        Numbers(32, 32).counters("naive")


def test_without_a_disassembler_there_is_no_machine_code(monkeypatch, numbers):
    monkeypatch.setattr(evidence, "find_nvdisasm", lambda: None)
    assert numbers.machine_instructions("naive") is None


def test_any_kernel_runs_at_any_size(numbers):
    assert numbers.run(find("tiled_8"), 9, 17).output.shape == (17, 9)
