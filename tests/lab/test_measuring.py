from types import SimpleNamespace

import numpy as np
import pytest

from cornerturn.errors import CompileError, DeviceError, EmulatorError, MissingExtraError, UsageError
from cornerturn.gpu import Timing
from cornerturn.kernels.catalogue import CATALOGUE, find
from cornerturn.lab import measuring
from cornerturn.lab.matrices import distinct
from cornerturn.lab.measuring import Result, bench_on_emulator, bench_on_gpu
from cornerturn.lab.run import Run, TimingPlan


def ignore(kernel, done):
    pass


def test_the_whole_catalogue_is_valid_on_the_emulator():
    results = list(bench_on_emulator(CATALOGUE, (128, 128), "sm_90", ignore))
    assert [result.kernel for result in results] == [entry.name for entry in CATALOGUE]
    not_valid = {result.kernel: result.status for result in results if result.status not in ("valid", "not installed")}
    assert not_valid == {"view": "not materialised"}


@pytest.mark.parametrize("shape", [(100, 100), (102, 54), (33, 65), (1, 1), (1, 4096), (4096, 1), (7, 512), (512, 16)])
def test_at_any_shape_a_kernel_is_valid_or_refuses_with_a_rule(shape):
    for result in bench_on_emulator(CATALOGUE, shape, "sm_90", ignore):
        assert result.status not in ("wrong", "failed"), result
        assert (result.refused is None) == (result.status == "valid")


@pytest.mark.parametrize("size", [1, 2, 4, 8, 16])
def test_a_kernel_gets_a_test_matrix_of_its_elements_and_counts_their_bytes(size):
    (result,) = bench_on_emulator([find(f"ragged_{size}")], (33, 20), "sm_90", ignore)
    assert (result.status, result.element_bytes, result.bytes) == ("valid", size, 2 * 33 * 20 * size)


def test_kernels_of_another_element_size_refuse_a_matrix():
    x = np.random.default_rng(0).random((32, 48))
    small, right, view = bench_on_emulator([find("tile_4"), find("tile_8"), find("view")], x, "sm_90", ignore)
    assert (small.status, small.refused) == ("refused", "elements must have 4 bytes: those of x have 8")
    assert right.status == "valid"
    assert {each.bytes for each in (small, right, view)} == {2 * x.nbytes}


def test_a_size_that_larger_elements_do_not_fit_is_refused_by_their_kernels_alone(monkeypatch):
    monkeypatch.setattr("cornerturn.lab.matrices.available_host_bytes", lambda: 10**6)
    small, large = bench_on_emulator([find("tile_1"), find("tile_16")], (256, 256), "sm_90", ignore)
    assert small.status == "valid"
    assert large.status == "refused"
    assert "size 256x256 needs" in large.refused


def test_progress_counts_kernels():
    seen = []
    entries = [find("naive"), find("view"), find("copy")]
    list(bench_on_emulator(entries, distinct(64, 64), "sm_90", lambda kernel, done: seen.append((kernel, done))))
    assert [done for _, done in seen] == sorted(done for _, done in seen)
    assert {("naive", 0), ("naive", 1), ("view", 1), ("copy", 2), ("copy", 3)} <= set(seen)


def test_an_emulated_result_as_json():
    (result,) = bench_on_emulator([find("naive")], distinct(64, 64), "sm_90", ignore)
    record = result.to_json()
    assert list(record) == [
        *("kernel", "family", "rows", "cols", "bytes", "device", "valid", "refused"),
        *("seconds", "gbps", "roof_share", "instructions", "counters"),
    ]
    assert record["bytes"] == 2 * 64 * 64 * 4
    assert record["valid"] is True
    assert record["seconds"] is record["gbps"] is record["roof_share"] is record["refused"] is None
    assert record["counters"] == {
        "global_load_requests": 128,
        "global_load_sectors": 512,
        "global_load_sectors_ideal": 512,
        "global_store_requests": 128,
        "global_store_sectors": 4096,
        "global_store_sectors_ideal": 512,
        **dict.fromkeys((f"shared_{kind}_{unit}" for kind in ("load", "store") for unit in SHARED), 0),
    }


SHARED = ("requests", "wavefronts", "wavefronts_ideal")


def test_refused_and_unmaterialised_results_as_json():
    results = bench_on_emulator([find("f32_diagonal2d"), find("view")], distinct(2, 3), "sm_90", ignore)
    diagonal, view = (result.to_json() for result in results)
    assert diagonal["refused"] == "rows and cols must be equal: got 2 x 3"
    assert view["refused"] == "a view moves nothing"
    assert diagonal["valid"] is view["valid"] is False
    assert diagonal["counters"] is view["counters"] is None


@pytest.mark.parametrize(
    ("error", "status"),
    [(MissingExtraError("install it"), "not installed"), (UsageError("unknown architecture"), "refused")],
)
def test_a_kernel_that_cannot_be_compiled_here_does_not_stop_the_others(monkeypatch, error, status):
    def run_emulated(kernel, x, arch, progress):
        if kernel.family == "cute":
            raise error
        return Run(x, None)

    monkeypatch.setattr(measuring, "run_emulated", run_emulated)
    entries = [find("cute_row_smem"), find("naive")]
    first, second = bench_on_emulator(entries, distinct(4, 4), "sm_90", ignore)
    assert (first.status, first.refused) == (status, str(error))
    assert second.status == "valid"


@pytest.mark.parametrize("error", [EmulatorError, CompileError, DeviceError])
def test_a_kernel_that_fails_does_not_stop_the_others(monkeypatch, error):
    def run_emulated(kernel, x, arch, progress):
        if kernel.name == "naive":
            raise error("k.cu:3: a reason")
        return Run(x, None)

    monkeypatch.setattr(measuring, "run_emulated", run_emulated)
    naive, copy = bench_on_emulator([find("naive"), find("copy")], distinct(4, 4), "sm_90", ignore)
    assert (naive.status, naive.refused, naive.faults) == ("failed", None, ("k.cu:3: a reason",))
    assert naive.to_json()["valid"] is False
    assert copy.status == "valid"


def test_without_a_roof_every_kernel_failed(monkeypatch):
    def run_on_gpu(kernel, x, device, plan):
        raise DeviceError("out of memory")

    monkeypatch.setattr(measuring, "run_on_gpu", run_on_gpu)
    entries = [find("naive"), find("copy"), find("view")]
    *failed, view = bench_on_gpu(entries, np.zeros((4, 4), np.uint32), None, TimingPlan(), ignore)
    for result in failed:
        assert (result.status, result.seconds) == ("failed", None)
        assert result.faults == ("the copy roof could not be measured: out of memory",)
    assert view.status == "not materialised"


def timing(seconds):
    return Timing(seconds, 0.9 * seconds, 1.2 * seconds, 50)


@pytest.mark.parametrize(("library", "roof"), [(4e-6, 4e-6), (9e-6, 5e-6)])
def test_the_roof_is_the_faster_of_both_copies(monkeypatch, library, roof):
    seconds = {"copy": 5e-6, "naive": 20e-6}
    ran = []

    def run_on_gpu(kernel, x, device, plan):
        ran.append(kernel.name)
        return Run(x, None, timing=timing(seconds[kernel.name]))

    monkeypatch.setattr(measuring, "run_on_gpu", run_on_gpu)
    monkeypatch.setattr(measuring, "time_library_copy", lambda nbytes, device, plan: timing(library))
    entries = [find("naive"), find("copy")]
    naive, copy = bench_on_gpu(entries, np.zeros((100, 50), np.uint32), None, TimingPlan(), ignore)
    assert ran == ["copy", "naive"]  # the copy is measured once, and before all others
    assert naive.seconds == 20e-6
    assert naive.gbps == 2 * 100 * 50 * 4 / 20e-6 / 1e9
    assert naive.roof_share == roof / 20e-6
    assert copy.roof_share == roof / 5e-6
    assert naive.to_json()["counters"] is None
    assert naive.to_json()["instructions"] is None


def test_each_number_of_bytes_has_a_roof_of_its_own(monkeypatch):
    ran = []

    def run_on_gpu(kernel, x, device, plan):
        ran.append((kernel.name, x.shape, x.nbytes))
        return Run(x, None, timing=timing(x.nbytes * (1e-9 if kernel.name == "copy" else 2e-9)))

    monkeypatch.setattr(measuring, "run_on_gpu", run_on_gpu)
    monkeypatch.setattr(measuring, "time_library_copy", lambda x, device, plan: timing(1.0))
    entries = [find(name) for name in ("naive", "ragged_1", "ragged_8", "tile_1", "copy")]
    device = SimpleNamespace(free_bytes=lambda: 10**9)
    *results, refused, copy = bench_on_gpu(entries, (5, 3), device, TimingPlan(), ignore)
    assert ran == [
        ("copy", (5, 3), 60),
        ("naive", (5, 3), 60),
        ("copy", (1, 4), 16),  # 15 bytes, rounded up to whole elements of the copy
        ("ragged_1", (5, 3), 15),
        ("copy", (1, 30), 120),
        ("ragged_8", (5, 3), 120),
    ]
    assert refused.status == "refused"
    assert [result.roof_seconds for result in results] == pytest.approx([60e-9, 16e-9, 120e-9])
    assert copy.roof_share == 1


def test_a_result_without_a_run_has_no_speed():
    result = Result("k", "tests", 2, 2, 32, "gpu", "refused", refused="a rule", roof_seconds=1.0)
    assert result.seconds is result.gbps is result.roof_share is None
