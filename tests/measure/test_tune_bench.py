"""What tuning asks of a device, on one whose memory is the host's."""

from dataclasses import replace
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest

from cornerturn.errors import CompileError, DeviceError
from cornerturn.gpu import DeviceFacts
from cornerturn.kernels.production.device_code import Production
from cornerturn.measure import tune_bench
from cornerturn.measure.cases import Case
from cornerturn.measure.tune import Scale, identity, problem_of
from cornerturn.measure.tune_bench import (
    GUARD_BYTES,
    PLACE_BYTES,
    DeviceBench,
    expected_of,
    tune_by,
    tune_device,
    untune,
)
from cornerturn.op.gpu import engine as gpu_engine
from cornerturn.op.gpu import tuned
from cornerturn.op.gpu.plan import plan
from cornerturn.op.strided_view import StridedView, as_array

from .fake_device import STREAM, FakeDevice, FakePattern, memory_at
from .test_tune import FakeBench, favouring, ignore

CASES = [Case((96, 130), (1, 0)), Case((130, 96), (1, 0)), Case((5, 64, 48), (0, 2, 1)), Case((33, 70), (1, 0))]
PROBLEMS = {identity(plan(problem_of(case, 4), 0, 0)): problem_of(case, 4) for case in CASES}
SCALE = Scale(1 << 15, 1 << 12)


def production_of(case: Case) -> Production:
    return plan(problem_of(case, 4), 0, 0)


class FakeLauncher:
    """Does on the host what a launch would, with the fault that a test wants."""

    fault = ""
    made: ClassVar[list[Production]] = []
    launched: ClassVar[list[tuple[int, int]]] = []

    def __init__(self, production: Production, arch: str, module: object = None) -> None:
        assert arch == "sm_90"
        if self.fault == "is not loaded":
            raise DeviceError("no")
        self.made.append(production)
        self._problem = PROBLEMS.get(identity(production))

    def __call__(self, x: int, y: int, stream: int) -> None:
        assert stream == STREAM
        if self.fault == "is refused":
            raise DeviceError("refused")
        self.launched.append((x, y))
        if self._problem is None:  # a copy
            return
        nbytes = self._problem.nbytes
        result = as_array(replace(expected_of(self._problem), pointer=x)).copy().reshape(-1).view(np.uint8)
        target = memory_at(y, nbytes + GUARD_BYTES)
        if self.fault == "leaves a byte":
            result[nbytes // 2] = target[nbytes // 2]
        target[:nbytes] = result
        if self.fault == "writes behind":
            target[nbytes + 7] ^= 1


@pytest.mark.parametrize("case", [*CASES, Case((4, 6, 10), (2, 0, 1)), Case((8,), (0,))])
def test_what_is_expected_is_what_numpy_makes(case):
    x = np.random.default_rng(0).random(case.shape, np.float32)
    view = replace(expected_of(problem_of(case, 4)), pointer=x.ctypes.data)
    assert as_array(view).tobytes() == x.transpose(case.axes).tobytes()


def time_launches(device, enqueue, repeat, warmup):
    for _ in range(9):
        enqueue(device.stream)
    return SimpleNamespace(median=2e-6)


@pytest.fixture
def device(monkeypatch):
    monkeypatch.setattr(tune_bench, "Pattern", FakePattern)
    monkeypatch.setattr(tune_bench, "launcher", FakeLauncher)
    monkeypatch.setattr(tune_bench, "time_launches", time_launches)
    monkeypatch.setattr(tune_bench, "compile_with_nvrtc", lambda source, arch: "module")
    monkeypatch.setattr(FakeLauncher, "fault", "")
    monkeypatch.setattr(FakeLauncher, "made", [])
    monkeypatch.setattr(FakeLauncher, "launched", [])
    return FakeDevice()


class TestDeviceBench:
    def test_it_has_room_for_the_largest_problem_and_passes_l2(self, device):
        assert DeviceBench(device, SCALE).room == 6 << 20
        assert DeviceBench(device, Scale(2 << 20, 1)).room == 16 << 20

    def test_it_leaves_memory_for_what_is_compared(self, device):
        device.free = 4_000_000
        assert DeviceBench(device, SCALE).room == 1_000_000 // PLACE_BYTES * PLACE_BYTES

    @pytest.mark.parametrize("case", CASES)
    def test_what_is_right(self, device, case):
        assert DeviceBench(device, SCALE).is_right(production_of(case), problem_of(case, 4))

    @pytest.mark.parametrize("fault", ["leaves a byte", "writes behind", "is refused", "is not loaded"])
    def test_what_is_not(self, device, fault):
        FakeLauncher.fault = fault
        assert not DeviceBench(device, SCALE).is_right(production_of(CASES[0]), problem_of(CASES[0], 4))

    def test_a_kernel_of_another_problem_is_wrong(self, device):
        assert not DeviceBench(device, SCALE).is_right(production_of(CASES[1]), problem_of(CASES[0], 4))

    def test_what_another_kernel_wrote_does_not_count(self, device):
        bench, problem = DeviceBench(device, SCALE), problem_of(CASES[0], 4)
        assert bench.is_right(production_of(CASES[0]), problem)
        idle = production_of(Case((40, 56), (1, 0)))
        assert identity(idle) not in PROBLEMS  # so it writes nothing
        assert not bench.is_right(idle, problem)

    def test_it_is_checked_once(self, device):
        bench = DeviceBench(device, SCALE)
        for _ in range(3):
            assert bench.is_right(production_of(CASES[0]), problem_of(CASES[0], 4))
        assert len(FakeLauncher.launched) == 1

    def test_launches_alternate_between_places(self, device):
        bench, problem = DeviceBench(device, SCALE), problem_of(CASES[0], 4)
        assert bench.seconds(production_of(CASES[0]), problem) == 2e-6
        offsets = [x - bench._x.address for x, _ in FakeLauncher.launched]
        assert offsets == [y - bench._y.address for _, y in FakeLauncher.launched]
        step = -(-problem.nbytes // PLACE_BYTES) * PLACE_BYTES
        assert offsets == [turn * step for turn in range(9)]

    def test_places_stay_within_the_arrays(self, device):
        device.free = 4 * 4 * 50_200
        bench, problem = DeviceBench(device, SCALE), problem_of(CASES[0], 4)
        bench.seconds(production_of(CASES[0]), problem)
        offsets = [x - bench._x.address for x, _ in FakeLauncher.launched]
        assert len(set(offsets)) == bench.room // (-(-problem.nbytes // PLACE_BYTES) * PLACE_BYTES) == 4
        assert max(offsets) + problem.nbytes <= bench.room

    @pytest.mark.parametrize("fault", ["is refused", "is not loaded"])
    def test_what_does_not_run_has_no_time(self, device, fault):
        FakeLauncher.fault = fault
        assert DeviceBench(device, SCALE).seconds(production_of(CASES[0]), problem_of(CASES[0], 4)) is None

    def test_a_lost_device_ends_it(self, device, monkeypatch):
        bench = DeviceBench(device, SCALE)
        FakeLauncher.fault = "is refused"

        def lost():
            raise DeviceError("CUDA_ERROR_ILLEGAL_ADDRESS")

        monkeypatch.setattr(device, "free_bytes", lost)
        for ask in (bench.seconds, bench.is_right):
            with pytest.raises(DeviceError, match="ILLEGAL_ADDRESS"):
                ask(production_of(CASES[0]), problem_of(CASES[0], 4))

    def test_a_kernel_is_loaded_once(self, device):
        bench = DeviceBench(device, SCALE)
        for _ in range(2):
            bench.seconds(production_of(CASES[0]), problem_of(CASES[0], 4))
            bench.is_right(production_of(CASES[0]), problem_of(CASES[0], 4))
        assert len(FakeLauncher.made) == 1

    def test_what_does_not_compile_has_no_time_and_stops_no_other(self, device, monkeypatch):
        compiled = []

        def compile_with_nvrtc(source, arch):
            compiled.append((source, arch))
            if len(compiled) == 1:
                raise CompileError("no")
            return "module"

        monkeypatch.setattr(tune_bench, "compile_with_nvrtc", compile_with_nvrtc)
        monkeypatch.setattr(tune_bench, "COMPILERS", 1)
        bench, productions = DeviceBench(device, SCALE), [production_of(case) for case in CASES]
        bench.prepare([*productions, *productions])
        seconds = [
            bench.seconds(*work) for work in zip(productions, (problem_of(case, 4) for case in CASES), strict=True)
        ]
        assert [one is None for one in seconds] == [one.source == productions[0].source for one in productions]
        assert len(compiled) == len(set(compiled))
        assert set(compiled) == {(production.source, "sm_90") for production in productions}
        assert not bench.is_right(productions[0], problem_of(CASES[0], 4))

    def test_the_cache_keeps_no_candidate(self, device, monkeypatch, tmp_path):
        monkeypatch.undo()
        monkeypatch.setenv("CORNERTURN_CACHE", str(tmp_path))
        bench = DeviceBench.__new__(DeviceBench)
        bench._arch, bench._modules = "sm_90", {}
        bench.prepare([production_of(CASES[0])])
        assert bench._modules[production_of(CASES[0]).source].cubin
        assert list(tmp_path.iterdir()) == []

    def test_the_copy_is_the_faster_of_two_and_timed_once(self, device, monkeypatch):
        times = iter([3e-6, 2e-6])
        monkeypatch.setattr(tune_bench, "time_launches", lambda *_: SimpleNamespace(median=next(times)))
        bench = DeviceBench(device, SCALE)
        assert [bench.copy_seconds(4096) for _ in range(2)] == [2e-6, 2e-6]

    def test_a_copy_that_does_not_run_is_said(self, device, monkeypatch):
        def refuse(*_):
            raise DeviceError("refused")

        monkeypatch.setattr(tune_bench, "time_launches", refuse)
        with pytest.raises(DeviceError, match="no copy of 4096 bytes runs on Fake 1"):
            DeviceBench(device, SCALE).copy_seconds(4096)


class RememberingLauncher:
    """What the engine would launch."""

    def __init__(self, production, arch):
        self.production, self.arch = production, arch


@pytest.fixture
def engine(monkeypatch, tmp_path):
    """The CUDA engine of two H200s and an L4, with nothing planned and nothing tuned."""
    h200 = DeviceFacts(0, "NVIDIA H200", "sm_90", 132, 60 << 20, 140 << 30, True, "13.0")
    devices = [
        h200,
        replace(h200, ordinal=1),
        DeviceFacts(2, "NVIDIA L4", "sm_89", 58, 48 << 20, 24 << 30, True, "13.0"),
    ]
    monkeypatch.setenv("CORNERTURN_CACHE", str(tmp_path))
    monkeypatch.setattr(gpu_engine, "launcher", RememberingLauncher)
    monkeypatch.setattr(gpu_engine, "facts_of", devices.__getitem__)
    tuned._load_once.cache_clear()
    gpu_engine.forget_plans()
    yield devices
    gpu_engine.forget_plans()


def launcher_of(ordinal):
    x, y = (StridedView(1 << 20, 4, (4096, 4096), strides, None) for strides in ((4, 16384), (16384, 4)))
    return gpu_engine.prepared(x, y, ordinal)[0]


class TestEngine:
    """transpose() launches what was tuned, from the moment on at which it is kept."""

    def test_what_is_tuned_is_launched_in_the_same_process(self, engine):
        before = launcher_of(0)
        assert before.production.entry.startswith("tile<4, 64, 32, 2, 256")
        list(tune_by(engine[0], [4], Scale.of(60 << 20, 1056), favouring("tile<4, 64, 64, 2, 256, true"), ignore))
        assert launcher_of(0).production.entry.startswith("tile<4, 64, 64, 2, 256")
        untune(engine[0])
        assert launcher_of(0).production.entry == before.production.entry

    def test_devices_of_one_model_share_what_is_planned(self, engine):
        assert launcher_of(0) is launcher_of(1)
        assert launcher_of(2) is not launcher_of(0)
        assert (launcher_of(0).arch, launcher_of(2).arch) == ("sm_90", "sm_89")

    def test_a_second_call_plans_and_reads_nothing(self, engine, monkeypatch):
        launcher_of(0)
        for name in ("plan", "profile_of", "canonical", "facts_of"):
            monkeypatch.setattr(gpu_engine, name, None)
        assert launcher_of(0) is launcher_of(0)

    def test_those_who_remember_launches_are_told(self, engine, monkeypatch):
        told = []
        monkeypatch.setattr(gpu_engine, "_after_tuning", [])
        gpu_engine.when_retuned(lambda: told.append("forget"))
        list(tune_by(engine[0], [4], Scale.of(60 << 20, 1056), FakeBench(), ignore))
        assert told == ["forget"]

    def test_a_device_is_tuned_by_what_is_measured_there(self, engine, device, monkeypatch):
        scales = []

        def bench(where, scale):
            assert where is device
            scales.append(scale)
            return favouring("tile<8, 32, 32, 1, 64, true, 0")

        monkeypatch.setattr(tune_bench, "DeviceBench", bench)
        list(tune_device(device, [8], ignore))
        assert scales == [Scale.of(1 << 20, 8)]
        assert tuned.profile_of(device.facts).aligned[8][0].threads == 64
