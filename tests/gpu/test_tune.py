"""Tuning on the device: what is measured there, and that transposes stay right with what it chooses."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cornerturn.gpu import Device
from cornerturn.kernels.kernel import ELEMENT_SIZES
from cornerturn.measure.cases import Case
from cornerturn.measure.tune import KINDS, Scale, decisions, problem_of
from cornerturn.measure.tune_bench import DeviceBench, tune_by, untune
from cornerturn.op.gpu import engine as gpu_engine
from cornerturn.op.gpu import tuned
from cornerturn.op.gpu.plan import plan
from cornerturn.op.gpu.tuned import default_for, profile_of, tuned_elements
from cornerturn.op.strided_view import StridedView

SMALL = Scale(16 << 20, 1 << 20)


@pytest.fixture(scope="module")
def bench(device: Device) -> DeviceBench:
    return DeviceBench(device, SMALL)


@pytest.fixture
def untuned(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("CORNERTURN_CACHE", str(tmp_path))
    tuned._load_once.cache_clear()
    gpu_engine.forget_plans()
    yield
    tuned._load_once.cache_clear()
    gpu_engine.forget_plans()


@pytest.mark.parametrize("element", ELEMENT_SIZES)
def test_every_candidate_runs_and_is_right(bench: DeviceBench, device: Device, element: int) -> None:
    """At small problems, for which one block is made enough: so the kernels are those of large ones."""
    default = replace(default_for(device.facts), enough_blocks=1)
    for _, kind in decisions([element]):
        problems = [problem_of(case, element) for case in kind.cases(element, SMALL)]
        profiles = [default, *(profile for stage in kind.stages for profile in stage(default, element))]
        work = [(plan(problem, 0, 0, profile), problem) for problem in problems for profile in profiles]
        bench.prepare([production for production, _ in work])
        wrong = {production.entry for production, problem in work if not bench.is_right(production, problem)}
        assert not wrong


def test_a_kernel_that_solves_another_problem_is_wrong(bench: DeviceBench) -> None:
    assert not bench.is_right(
        plan(problem_of(Case((512, 768), (1, 0)), 4), 0, 0), problem_of(Case((768, 512), (1, 0)), 4)
    )


def test_a_time_is_that_of_moving_so_many_bytes(bench: DeviceBench, device: Device) -> None:
    problem = problem_of(Case((1024, 1024), (1, 0)), 4)
    seconds = bench.seconds(plan(problem, 0, 0), problem)
    assert seconds is not None
    assert 0 < seconds < 0.1
    assert 0 < bench.copy_seconds(problem.nbytes) < 0.1


@pytest.mark.usefixtures("untuned")
def test_a_tuned_device_transposes_with_what_was_chosen(bench: DeviceBench, device: Device) -> None:
    choices = [choice for found in tune_by(device.facts, [2, 16], SMALL, bench, lambda *_: None) for choice in found]
    assert {choice.kind for choice in choices} == {kind.name for kind in KINDS} - {"aligned, huge"}  # it has no room
    assert all(choice.seconds > 0 and math.isfinite(choice.gbps) for choice in choices)
    assert tuned_elements(device.facts) == (2, 16)
    assert {
        element: shapes for element, shapes in profile_of(device.facts).aligned.items() if element in (1, 4, 8)
    } == {element: default_for(device.facts).aligned[element] for element in (1, 4, 8)}
    for element in (2, 16):
        for rows, cols in ((512, 768), (511, 769), (2048, 2048), (3, 4096)):
            check(device, rows, cols, element)
    assert untune(device.facts)
    assert tuned_elements(device.facts) == ()


def check(device: Device, rows: int, cols: int, element: int) -> None:
    x = np.random.default_rng(0).integers(0, 256, (rows, cols, element), dtype=np.uint8)
    source, result = device.upload(x), device.allocate(x.nbytes)
    result.fill(0xA5)
    views = (
        StridedView(source.address, element, (cols, rows), (element, cols * element), source),
        StridedView(result.address, element, (cols, rows), (rows * element, element), result),
    )
    with device.current():
        gpu_engine.run(*views, int(device.stream.handle), device.facts.ordinal)
    assert np.array_equal(result.download((cols, rows, element), np.uint8), x.transpose(1, 0, 2))
