import io
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from cornerturn.errors import MissingExtraError, UsageError
from cornerturn.measure import compare, peers
from cornerturn.measure.cases import DTYPES, GROUPS, LARGE, SMALL, Case, as_matrices, distinct, parse_case
from cornerturn.measure.compare import compare_on_cpu, device_record, measure
from cornerturn.measure.compare_views import compare_tables, draw
from cornerturn.measure.peers import CPU_PEERS, Peer

MATRIX = Case((6, 10), (1, 0))
ROWS_KEPT = Case((6, 10, 4), (1, 0, 2))


@pytest.fixture(autouse=True)
def _fast(monkeypatch):
    monkeypatch.setattr(compare, "ROUNDS", 2)
    monkeypatch.setattr(compare, "SAMPLE_SECONDS", 1e-9)


class TestCases:
    @pytest.mark.parametrize("case", LARGE + SMALL, ids=lambda case: case.name)
    def test_a_name_leads_back_to_its_case(self, case):
        assert parse_case(case.name) == (case,)

    @pytest.mark.parametrize("group", GROUPS)
    def test_a_group_is_all_its_cases(self, group):
        assert parse_case(group) == GROUPS[group]

    @pytest.mark.parametrize("text", ["", "8x", "0x5", "8x8:0", "8x8:0,0", "8x8:1,2", "medium", "8 x 8", "-1x2"])
    def test_other_names_are_refused(self, text):
        with pytest.raises(UsageError, match=r"unknown case .* give large, small, 8192x8192, or"):
            parse_case(text)

    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("shape", [(300, 201), (256, 256)])
    def test_data_are_finite_and_tell_places_apart(self, dtype, shape):
        x = distinct(shape, dtype)
        assert (x.shape, x.dtype, x.ctypes.data % 64) == (shape, dtype, 0)
        assert np.isfinite(x).all()
        elements = x.view(np.uint8).reshape(*shape, x.itemsize)
        kinds = len(np.unique(elements.reshape(-1, x.itemsize), axis=0))
        assert kinds > 0.4 * min(256**x.itemsize, x.size)
        for axis in (0, 1):
            assert (np.diff(elements, axis=axis) != 0).any(axis=-1).all()

    @given(st.lists(st.integers(1, 4), min_size=1, max_size=4), st.data())
    def test_matrices_are_what_reshaping_says(self, shape, data):
        case = Case(tuple(shape), tuple(data.draw(st.permutations(range(len(shape))))))
        x = np.arange(np.prod(shape)).reshape(shape)
        found = as_matrices(case)
        if found is None:
            assert case.axes != tuple(range(len(shape) - 1, -1, -1)) or len(shape) != 2
        else:
            assert np.array_equal(x.reshape(found).swapaxes(1, 2).ravel(), x.transpose(case.axes).ravel())


class TestPeers:
    @pytest.mark.parametrize("peer", CPU_PEERS, ids=lambda peer: peer.name)
    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("case", [MATRIX, Case((3, 6, 10), (0, 2, 1)), ROWS_KEPT], ids=lambda case: case.name)
    def test_is_right_or_says_why_not(self, peer, dtype, case):
        try:
            prepare = peer.open()
        except MissingExtraError as error:
            pytest.skip(str(error))
        (result,) = [row for row in compare_on_cpu(case, dtype, {peer.name: prepare}) if row.engine == peer.name]
        assert result.status == ("refused" if result.refused else "valid")
        assert bool(result.refused) == (
            (peer.name in ("OpenCV", "MKL") and case is ROWS_KEPT)
            or (peer.name == "MKL" and dtype in ("uint8", "float16"))
        )

    @pytest.mark.parametrize("error", [ImportError, ModuleNotFoundError])
    def test_a_missing_library_says_how_to_get_it(self, error):
        def load():
            raise error("no such module")

        with pytest.raises(MissingExtraError, match="Foo is not installed: pip install foo-bar"):
            Peer("Foo", "foo-bar", load).open()

    def test_a_missing_distribution_too(self, monkeypatch):
        monkeypatch.setattr(peers, "files", lambda name: None)
        with pytest.raises(MissingExtraError, match="MKL is not installed: pip install mkl"):
            next(peer for peer in CPU_PEERS if peer.name == "MKL").open()


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

    def test_all_calls_take_turns(self, monkeypatch):
        monkeypatch.setattr(compare, "ROUNDS", 5)
        order, out = [], np.zeros(4, np.uint8)
        measure([(lambda: order.append("a"), out), (lambda: order.append("b"), out)], out)
        assert order[4:] == ["a", "b"] * 5  # after two calls of each to warm up

    def test_the_machine_is_recorded(self):
        record = device_record([peer for peer in CPU_PEERS if peer.name == "NumPy"])
        assert record["kind"] == "cpu"
        assert record["versions"] == {"NumPy": np.__version__}


class TestViews:
    @pytest.fixture
    def results(self):
        prepared = {"other": returns(np.transpose), "wrong": fills(0), "picky": lambda case, x, out: "takes cubes only"}
        return [
            row
            for case in (MATRIX, ROWS_KEPT)
            for dtype in ("uint8", "float64")
            for row in compare_on_cpu(case, dtype, {"NumPy": CPU_PEERS[0].open(), **prepared})
        ]

    def test_tables(self, results):
        console = Console(width=120, file=io.StringIO())
        console.print(compare_tables(results, ["Foo is not installed: pip install foo"], "a machine"))
        lines = console.file.getvalue().splitlines()
        assert [line.strip() for line in lines if "a machine" in line] == ["uint8, a machine", "float64, a machine"]
        assert [line.split()[0] for line in lines if " wrong " in line and "%" in line] == [
            MATRIX.name,
            ROWS_KEPT.name,
        ] * 2
        assert sum(line.startswith("geometric mean") for line in lines) == 2
        assert [line.strip() for line in lines[-2:]] == [
            "Foo is not installed: pip install foo",
            "picky takes cubes only",
        ]

    def test_picture(self, results):
        pytest.importorskip("matplotlib", reason="matplotlib is not installed")
        file = io.BytesIO()
        draw(results, file, "svg")
        assert b"<svg" in file.getvalue()
