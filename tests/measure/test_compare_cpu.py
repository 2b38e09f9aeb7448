import json

import numpy as np
import pytest

from cornerturn.measure import compare, compare_cpu
from cornerturn.measure.cases import Case
from cornerturn.measure.compare_cpu import compare_on_cpu, cpu_record
from cornerturn.op.transpose import explain_plan

MATRIX = Case((6, 10), (1, 0))
ROWS_KEPT = Case((6, 10, 4), (1, 0, 2))


@pytest.fixture(autouse=True)
def _fast(monkeypatch):
    monkeypatch.setattr(compare, "ROUNDS", 2)
    monkeypatch.setattr(compare_cpu, "SAMPLE_SECONDS", 1e-9)


def fills(value):
    """A library that fills the output with one byte."""
    return lambda case, x, out: lambda: out.view(np.uint8).fill(value)


def returns(turned):
    return lambda case, x, out: lambda: turned(x)


class TestResults:
    def test_roof_and_own_call_come_first(self):
        results = compare_on_cpu(MATRIX, "float32", {"mine": returns(np.transpose)})
        assert [(row.engine, row.status) for row in results] == [
            ("copy", "valid"),
            ("cornerturn", "valid"),
            ("mine", "valid"),
        ]
        assert results[0].roof_share == 1
        for row in results:
            assert row.bytes == 2 * 6 * 10 * 4
            assert row.gbps == row.bytes / row.seconds / 1e9
            assert row.roof_share == results[0].seconds / row.seconds

    @pytest.mark.parametrize(
        "prepare",
        [
            lambda case, x, out: lambda: None,
            fills(0),
            returns(lambda x: x),
            returns(lambda x: -x.T),
            returns(lambda x: np.where(np.arange(6) == 5, 0, x.T)),
        ],
        ids=["nothing", "zeros", "not transposed", "sign", "one column"],
    )
    def test_a_wrong_result_has_no_time(self, prepare):
        result = compare_on_cpu(MATRIX, "float32", {"wrong": prepare})[-1]
        assert (result.status, result.seconds, result.roof_share) == ("wrong", None, None)

    def test_a_result_of_an_earlier_call_does_not_count(self):
        calls = []

        def once(case, x, out):
            return lambda: calls.append(0) if calls else calls.append(np.copyto(out, x.T))

        assert compare_on_cpu(MATRIX, "float32", {"once": once})[-1].status == "wrong"

    def test_a_refusal_keeps_its_reason(self):
        result = compare_on_cpu(MATRIX, "float32", {"picky": lambda case, x, out: "takes cubes only"})[-1]
        assert (result.status, result.refused, result.gbps) == ("refused", "takes cubes only", None)

    def test_json_has_the_documented_keys(self):
        record = compare_on_cpu(ROWS_KEPT, "float16", {})[0].to_json()
        assert list(record) == ["case", "shape", "axes", "dtype", "bytes", "engine", "seconds", "gbps", "roof_share"]
        assert json.loads(json.dumps(record))["shape"] == [6, 10, 4]

    def test_a_kernel_is_named_where_it_is_asked_for(self):
        assert [row.kernel for row in compare_on_cpu(MATRIX, "float32", {})] == [None, None]
        roof, ours = compare_on_cpu(MATRIX, "float32", {}, explain=True)
        assert (roof.kernel, ours.kernel) == (None, explain_plan(np.zeros((6, 10), np.float32)).kernel)

    @pytest.mark.parametrize("index", ["[:,1:]", "[::2,::3]"])
    def test_a_part_counts_its_own_bytes(self, index):
        case = Case((6, 10), (1, 0), index)
        results = compare_on_cpu(
            case, "float32", {"NumPy": lambda case, x, out: lambda: np.copyto(out, x[case.slices].T)}
        )
        assert [row.status for row in results] == ["valid"] * 3
        assert {row.bytes for row in results} == {2 * 4 * np.zeros((6, 10))[case.slices].size}

    def test_a_library_that_fails_does_not_end_the_run(self):
        def broken(case, x, out):
            raise ValueError("out of luck")

        results = compare_on_cpu(MATRIX, "float32", {"broken": broken, "fine": returns(np.transpose)})
        assert [row.status for row in results] == ["valid", "valid", "failed", "valid"]

    def test_short_calls_are_repeated(self, monkeypatch):
        calls = []
        monkeypatch.setattr(compare_cpu, "SAMPLE_SECONDS", 1e-3)
        compare_on_cpu(MATRIX, "float32", {"quick": lambda case, x, out: lambda: calls.append(np.copyto(out, x.T))})
        assert len(calls) > 2 + 2 * 2  # two calls to warm up, two rounds

    def test_the_machine_is_recorded(self):
        record = cpu_record({"NumPy": np.__version__})
        assert record["kind"] == "cpu"
        assert record["versions"] == {"NumPy": np.__version__}
        json.dumps(record)
