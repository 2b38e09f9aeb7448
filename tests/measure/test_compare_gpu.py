"""How engines are measured on a device, on one that is not there."""

import json
import math
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner

from cornerturn.cli import main
from cornerturn.errors import DeviceError, MissingExtraError
from cornerturn.kernels.controls import COPY
from cornerturn.measure import compare_gpu, contest
from cornerturn.measure.cases import GPU_DTYPES, Case, held_as
from cornerturn.measure.compare import ROUNDS
from cornerturn.measure.compare_gpu import MIN_LAUNCHES, compare_on_gpu, gpu_record
from cornerturn.measure.groups import LARGE, MODELS
from cornerturn.measure.peers import Library
from cornerturn.measure.peers_gpu import Dispatch
from cornerturn.measure.stage import PLACE_BYTES, Pools

from .fake_device import FakeDevice, FakeReplay, arrays_of, copies, install, moves

MATRIX = Case((6, 10), (1, 0))
ROWS_KEPT = Case((6, 10, 4), (1, 0, 2))
PART = Case((6, 10), (1, 0), "[::2,1:]")


@pytest.fixture(autouse=True)
def _fake(monkeypatch):
    install(monkeypatch)


def compare(peers, case=MATRIX, dtype="float32", device=None):
    return {row.engine: row for row in compare_on_gpu(Pools(device or FakeDevice()), case, dtype, peers)}


def dispatches(change=lambda x: x):
    """A library with memory of its own."""

    def prepare(stage):
        def call(place):
            return np.ascontiguousarray(change(arrays_of(stage, 0)[0].transpose(stage.case.axes)))

        return Dispatch(call, lambda y: None, lambda y: y.ctypes.data)

    return prepare


class TestResults:
    @pytest.mark.parametrize("dtype", [*GPU_DTYPES, "float16"])
    @pytest.mark.parametrize("case", [MATRIX, ROWS_KEPT, Case((5, 7), (1, 0)), PART], ids=lambda case: case.name)
    def test_roof_and_own_call_come_first(self, case, dtype):
        rows = compare({"a": moves(), "b": dispatches()}, case, dtype)
        assert list(rows) == ["copy", "cornerturn", "a", "b"]
        assert {row.status for row in rows.values()} == {"valid"}
        for row in rows.values():
            assert (row.case, row.dtype, row.bytes) == (
                case,
                dtype,
                2 * math.prod(case.shape) * held_as(dtype).itemsize,
            )
            assert row.roof_share == rows["copy"].seconds / row.seconds
        assert rows["a"].seconds == 1e-3

    @pytest.mark.parametrize(
        "prepare",
        [
            moves(lambda x, place: None),
            moves(lambda x, place: 0),
            moves(lambda x, place: -x),
            moves(lambda x, place: np.where(np.arange(6) == 5, 0, x)),
            moves(lambda x, place: x if place == 0 else None),
            moves(lambda x, place: None if place == 0 else x),
            dispatches(lambda x: -x),
            dispatches(lambda x: x.T),
        ],
        ids=["nothing", "zeros", "sign", "one column", "first only", "all but first", "new sign", "new not transposed"],
    )
    def test_a_wrong_result_has_no_time(self, prepare):
        rows = compare({"wrong": prepare, "right": moves()})
        assert [rows[name].status for name in ("wrong", "right")] == ["wrong", "valid"]
        assert (rows["wrong"].seconds, rows["wrong"].roof_share) == (None, None)

    def test_a_result_of_an_earlier_round_does_not_count(self):
        calls = []

        def once(x, place):
            calls.append(place)
            return x if len(calls) < 2 * MIN_LAUNCHES else None

        assert compare({"once": moves(once)})["once"].status == "wrong"

    def test_a_refusal_keeps_its_reason(self):
        row = compare({"picky": lambda stage: "takes cubes only"})["picky"]
        assert (row.status, row.refused, row.gbps) == ("refused", "takes cubes only", None)

    @pytest.mark.parametrize("after", [0, 1, 5, 40])
    def test_a_library_that_fails_does_not_end_the_run(self, after):
        calls = []

        def change(x, place):
            calls.append(place)
            if len(calls) > after:
                raise RuntimeError("out of luck\nand more lines")
            return x

        def broken(stage):
            raise ValueError

        rows = compare({"late": moves(change), "broken": broken, "fine": moves()})
        assert [row.status for row in rows.values()] == ["valid", "valid", "failed", "failed", "valid"]
        assert rows["late"].refused == "failed: out of luck"
        assert rows["broken"].refused == "failed: ValueError"
        assert rows["late"].seconds is rows["late"].gbps is None

    def test_the_roof_is_the_fastest_copy_that_is_right(self, monkeypatch):
        seconds = [1e-4, 3e-3, 2e-3, 8e-3] * (ROUNDS + 1)  # three copies, of which the fastest is wrong, and ours

        class Replay(FakeReplay):
            def run(self):
                super().run()
                return [seconds.pop(0)]

        monkeypatch.setattr(compare_gpu, "Replay", Replay)
        monkeypatch.setattr(compare_gpu, "COPIES", (moves(lambda x, place: None), copies, copies))
        rows = compare({})
        assert rows["copy"].seconds == 2e-3
        assert rows["cornerturn"].roof_share == 0.25

    def test_without_a_copy_there_is_no_share(self, monkeypatch):
        monkeypatch.setattr(compare_gpu, "COPIES", (moves(lambda x, place: None),))
        rows = compare({})
        assert rows["copy"].status == "wrong"
        assert (rows["cornerturn"].status, rows["cornerturn"].roof_share) == ("valid", None)


class TestMeasuring:
    def test_all_engines_take_turns(self, monkeypatch):
        order = []

        def named(name):
            def change(x, place):
                order.append(name)
                return x

            return moves(change)

        monkeypatch.setattr(compare_gpu, "ours", named("ours"))
        compare({"a": named("a"), "b": named("b")}, Case((64, 64), (1, 0)))
        changes = [name for index, name in enumerate(order) if not index or order[index - 1] != name]
        assert changes == ["ours", "a", "b"] * (ROUNDS + 1)  # one turn to warm up

    @pytest.mark.parametrize(("shape", "count"), [((20, 25), 1), ((5, 25), 4), ((1, 4), 125)])
    def test_launches_go_round_all_places(self, shape, count):
        visited = []

        def change(x, place):
            visited.append(place)
            return x

        assert compare({"a": moves(change)}, Case(shape, (1, 0)))["a"].status == "valid"
        turns = visited[1:]
        assert turns[: len(turns) // count * count] == list(range(count)) * (len(turns) // count)
        assert len(turns) >= (ROUNDS + 1) * max(count, MIN_LAUNCHES)

    def test_arrays_that_do_not_fit_are_an_error(self):
        with pytest.raises(DeviceError, match="do not fit"):
            compare({}, Case((100, 100), (1, 0)), device=FakeDevice(1000))

    def test_the_copy_kernel_covers_every_byte(self, monkeypatch):
        launched = []

        def launcher(production, arch):
            launched.append((production.entry, production.launch, arch))
            return lambda x, y, stream: launched.append((x, y, stream))

        monkeypatch.setattr(compare_gpu, "launcher", launcher)
        stage = Pools(FakeDevice()).stage(Case((5, 7), (1, 0)), "uint8")
        assert stage.places[0].y.buffer.nbytes % PLACE_BYTES == PLACE_BYTES % 16 == 0
        compare_gpu._copy_kernel(stage)(0, 9)
        (entry, launch, arch), call = launched
        assert entry == "copy"
        assert (launch, arch) == (COPY.launch(3, 4), "sm_90")  # units of 16 bytes: 35 need three
        assert call == (stage.places[0].array.address, stage.places[0].y.address, 9)

    def test_a_kernel_is_named_where_it_is_asked_for(self):
        assert compare({})["cornerturn"].kernel is None
        roof, ours = compare_on_gpu(Pools(FakeDevice()), MATRIX, "float32", {}, explain=True)
        assert (roof.kernel, ours.kernel) == (None, "moves<4>")

    def test_inputs_that_an_engine_damages_excuse_nothing(self):
        def damages(stage):
            def enqueue(place, stream):
                x, y = arrays_of(stage, place)
                x[...] = 0
                np.copyto(y, x.transpose(stage.case.axes))

            return enqueue

        assert compare({"bad": damages})["bad"].status == "wrong"

    def test_the_device_is_recorded(self):
        record = gpu_record(FakeDevice(), {"PyTorch": "2.11.0"})
        assert (record["kind"], record["name"], record["arch"], record["cuda"]) == ("gpu", "Fake 1", "sm_90", "13.0")
        assert record["versions"]["PyTorch"] == "2.11.0"
        assert {"driver", "python"} < set(record)
        json.dumps(record)


class Peer(SimpleNamespace):
    def open(self, device):
        if self.prepare is None:
            raise MissingExtraError(f"{self.name} is not installed: pip install {self.name.lower()}")
        return Library("1.0", self.prepare)


class TestCommand:
    @pytest.fixture
    def run(self, monkeypatch):
        def run(peers, *arguments):
            monkeypatch.setattr(contest, "open_device", FakeDevice)
            monkeypatch.setattr(contest, "GPU_PEERS", [Peer(name=name, prepare=peers[name]) for name in peers])
            return CliRunner().invoke(main, ["compare", "--device", "gpu", *map(str, arguments)])

        return run

    def test_shows_and_writes_what_it_measured(self, run, tmp_path):
        path = tmp_path / "out.json"
        peers = {"Fine": moves(), "Gone": None, "Picky": lambda stage: "takes cubes only"}
        done = run(peers, "--case", "30x40", "--case", "2x3x4:1,0,2", "--dtype", "bfloat16", "--json", path)
        assert done.exit_code == 0, done.output
        assert "bfloat16, Fake 1 (sm_90)" in done.stdout
        assert [line.split()[0] for line in done.stdout.splitlines() if "%" in line][:2] == ["30x40", "2x3x4:1,0,2"]
        assert done.stdout.splitlines()[-2:] == ["Gone is not installed: pip install gone", "Picky takes cubes only"]
        report = json.loads(path.read_text())
        assert report["device"]["versions"]["Fine"] == "1.0"
        assert [(row["case"], row["engine"]) for row in report["results"]] == [
            (case, engine) for case in ("30x40", "2x3x4:1,0,2") for engine in ("copy", "cornerturn", "Fine")
        ]
        keys = ["case", "shape", "axes", "dtype", "bytes", "engine", "seconds", "gbps", "roof_share"]
        assert all(list(row) == keys for row in report["results"])

    def test_by_default_it_takes_the_large_cases_and_the_dtypes_of_a_gpu(self, run, monkeypatch):
        asked = []
        monkeypatch.setattr(contest, "compare_on_gpu", lambda pools, *what: asked.append(what[:2]) or [])
        assert run({}).exit_code == 0
        assert asked == [(case, dtype) for case in LARGE for dtype in GPU_DTYPES]

    def test_random_moves(self, run, tmp_path):
        path = tmp_path / "out.json"
        peers = {"torch.compile": moves(), "PyTorch": moves(), "JAX": moves()}
        options = ("--moves", 8, "--seed", 5, "--bytes", "1KiB:8KiB", "--compiled", 3, "--json", path)
        done = run(peers, *options)
        assert done.exit_code == 0, done.output
        report = json.loads(path.read_text())
        rows = report["results"]
        counts = {engine: sum(row["engine"] == engine for row in rows) for engine in ("cornerturn", *peers)}
        assert counts == {"cornerturn": 8, "torch.compile": 3, "PyTorch": 8, "JAX": 0}
        assert {row["dtype"] for row in rows} <= set(GPU_DTYPES)
        assert all(row["kernel"].startswith("moves<") for row in rows if row["engine"] == "cornerturn")
        assert [rival["moves"] for rival in report["summary"]["rivals"]] == [3, 8]
        assert "8 random moves, seed 5, 1,024 to 8,192 bytes, Fake 1 (sm_90)" in done.stdout

    def test_a_library_that_is_asked_for_does_random_moves_too(self, run, tmp_path):
        path = tmp_path / "out.json"
        done = run({"JAX": moves()}, "--moves", 1, "--bytes", "1KiB:8KiB", "--engine", "JAX", "--json", path)
        assert done.exit_code == 0, done.output
        assert [row["engine"] for row in json.loads(path.read_text())["results"]] == ["copy", "cornerturn", "JAX"]

    def test_everyday_moves(self, run, monkeypatch):
        asked = []
        monkeypatch.setattr(contest, "compare_on_gpu", lambda pools, *what: asked.append(what[:2]) or [])
        assert run({}, "--case", "models").exit_code == 0
        assert asked == [(case, case.dtype) for case in MODELS]

    def test_a_failed_library_shows_and_an_own_failure_counts(self, run, monkeypatch):
        def broken(stage):
            raise RuntimeError("out of luck")

        done = run({"Bad": broken}, "--case", "3x4", "--dtype", "uint8")
        assert done.exit_code == 0
        assert "failed" in done.stdout
        assert "Bad failed: out of luck" in done.stdout
        monkeypatch.setattr(compare_gpu, "ours", broken)
        assert run({}, "--case", "3x4", "--dtype", "uint8").exit_code == 1

    def test_a_wrong_result_fails(self, run):
        done = run({"Bad": moves(lambda x, place: None)}, "--case", "3x4", "--dtype", "uint8")
        assert done.exit_code == 1
        assert "wrong" in done.stdout

    def test_an_interrupt_loses_nothing_that_was_measured(self, run, tmp_path):
        def interrupted(stage):
            if stage.case.shape == (5, 6):
                raise KeyboardInterrupt
            return moves()(stage)

        path = tmp_path / "out.json"
        done = run({"Fine": interrupted}, "--case", "3x4", "--case", "5x6", "--dtype", "uint8", "--json", path)
        assert (done.exit_code, done.stderr) == (130, "error: interrupted\n")
        assert "3x4" in done.stdout
        assert {row["case"] for row in json.loads(path.read_text())["results"]} == {"3x4"}
