"""The comparison on a device, with every library that is there, at small cases."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from cornerturn.cli import main
from cornerturn.errors import MissingExtraError
from cornerturn.measure import compare, compare_gpu, stage
from cornerturn.measure.cases import GPU_DTYPES, Case, held_as
from cornerturn.measure.compare_gpu import COPIES, compare_on_gpu, planned_kernel
from cornerturn.measure.pattern import Outputs
from cornerturn.measure.peers_gpu import GPU_PEERS, _through_engine
from cornerturn.measure.stage import Pools

CASES = [
    Case((96, 80), (1, 0)),
    Case((63, 65), (1, 0)),
    Case((4, 10, 6), (0, 2, 1)),
    Case((10, 6, 8), (1, 0, 2)),
    Case((64, 66), (1, 0), "[:,1:]"),
    Case((64, 66), (1, 0), "[:,::2]"),
]


@pytest.fixture(autouse=True)
def _fast(monkeypatch):
    monkeypatch.setattr(compare, "ROUNDS", 2)
    monkeypatch.setattr(stage, "ROTATION_BYTES", 1 << 17)
    monkeypatch.setattr(compare_gpu, "CHAIN_SECONDS", 1e-4)


@pytest.fixture
def pools(device):
    with Pools(device) as pools:
        yield pools


@pytest.mark.parametrize("dtype", ["uint8", "float32", "complex128"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_pattern_is_what_arrays_hold_and_outputs_are_compared_with(pools, case, dtype):
    laid = pools.stage(case, dtype)
    right = np.ascontiguousarray(laid.download()[case.slices].transpose(case.axes)).reshape(-1).view(np.uint8)
    laid.pattern.spoil(laid.outputs(laid.expected))
    outputs = Outputs(laid.places[0].y.address, laid.expected)
    assert np.array_equal(laid.places[0].y.buffer.download(right.size, np.uint8), ~right)
    for wrong in (None, 0, right.size - 1):
        changed = right.copy()
        if wrong is not None:
            changed[wrong] ^= 1
        laid.places[0].y.buffer.upload(changed)
        assert laid.pattern.found_in(outputs) == (wrong is None)
        is_all = len(laid.places) == 1  # nothing was written to the others
        assert laid.pattern.found_in(laid.outputs(laid.expected)) == (wrong is None and is_all)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_plan_names_its_kernel(pools, case):
    assert planned_kernel(pools.stage(case, "bfloat16"))


@pytest.mark.parametrize("dtype", [*GPU_DTYPES, "complex64", "float8_e4m3fn"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.parametrize("peer", GPU_PEERS, ids=lambda peer: peer.name)
def test_a_library_is_right_or_says_why_not(device, pools, peer, case, dtype):
    try:
        with device.current():
            library = peer.open(device)
    except MissingExtraError as error:
        pytest.skip(str(error))
    rows = {row.engine: row for row in compare_on_gpu(pools, case, dtype, {peer.name: library.prepare})}
    assert list(rows) == ["copy", "cornerturn", peer.name]
    assert (rows["copy"].status, rows["cornerturn"].status) == ("valid", "valid"), rows["cornerturn"].refused
    row = rows[peer.name]
    is_complex = held_as(dtype).kind == "c"
    refusable = (peer.name == "cuTENSOR" and dtype in ("uint8", "float8_e4m3fn")) or (
        "compile" in peer.name and is_complex
    )
    assert row.status == ("refused" if refusable else "valid"), row.refused
    assert refusable or row.seconds > 0


@pytest.mark.parametrize("copy", COPIES)
@pytest.mark.parametrize("nbytes", [1, 17, 4096])
def test_each_copy_copies(pools, monkeypatch, copy, nbytes):
    monkeypatch.setattr(compare_gpu, "COPIES", (copy,))
    assert compare_on_gpu(pools, Case((nbytes,), (0,)), "uint8", {})[0].status == "valid"


def test_without_a_framework_the_engine_is_called(pools, monkeypatch):
    monkeypatch.setattr(compare_gpu, "ours", _through_engine)
    for dtype in GPU_DTYPES:
        assert compare_on_gpu(pools, CASES[1], dtype, {})[1].status == "valid"


def test_a_wrong_result_is_found_and_a_failure_harms_nobody(pools):
    def lazy(stage):
        return lambda place, stream: None

    def broken(stage):
        def enqueue(place, stream):
            raise RuntimeError("out of luck")

        return enqueue

    rows = compare_on_gpu(pools, CASES[0], "float32", {"lazy": lazy, "broken": broken, "ours again": compare_gpu.ours})
    assert [row.status for row in rows] == ["valid", "valid", "wrong", "failed", "valid"]


def test_the_command(device, tmp_path):
    path = tmp_path / "out.json"
    arguments = ["compare", "--device", "gpu", "--case", "96x80", "--dtype", "bfloat16", "--json", str(path)]
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 0, done.output
    report = json.loads(path.read_text())
    assert (report["device"]["kind"], report["device"]["name"]) == ("gpu", device.facts.name)
    assert {"copy", "cornerturn"} <= {row["engine"] for row in report["results"]}


def test_random_moves(device, tmp_path):
    path = tmp_path / "out.json"
    options = ["--moves", "6", "--bytes", "64KiB:1MiB", "--compiled", "2", "--json", str(path)]
    done = CliRunner().invoke(main, ["compare", "--device", "gpu", *options])
    assert done.exit_code == 0, done.output
    summary = json.loads(path.read_text())["summary"]
    assert (summary["shares"]["moves"], summary["invalid"]) == (6, 0)
    assert all(row["kernel"] for row in summary["worst"])
