"""Timing gives sane numbers; no test says how large they are."""

from typing import Any

import numpy as np
import pytest

from cornerturn.errors import DeviceError
from cornerturn.gpu import Buffer, Device, time_launches
from cornerturn.kernels.catalogue import find
from cornerturn.kernels.kernel import Kernel
from cornerturn.toolchain import build

ROWS, COLS = 256, 192


@pytest.fixture
def matrix() -> np.ndarray:
    return np.arange(ROWS * COLS, dtype=np.uint32).reshape(ROWS, COLS)


def transpose_on(device: Device, x: Buffer, y: Buffer) -> Any:
    kernel = find("shared_padding")
    assert isinstance(kernel, Kernel)
    image, launch = build(kernel, device.facts.arch), kernel.launch(ROWS, COLS)
    function = device.load(image.cubin, image.symbol, kernel.name)
    buffers = {"x": x, "y": y}
    arguments = [buffers[one] if isinstance(one, str) else one for one in launch.arguments]
    return lambda stream: function.launch(launch.grid, launch.block, arguments, launch.shared_bytes, stream=stream)


@pytest.mark.parametrize(
    ("repeat", "warmup", "cold", "samples"),
    [
        (1, 0, False, 1),
        (7, 3, False, 7),
        (200, 10, False, 10),
        (1000, 10, False, 50),
        (1, 0, True, 1),
        (7, 3, True, 7),
        (50, 10, True, 60),
    ],
)
def test_timing_is_sane_and_the_work_is_done(
    device: Device, matrix: np.ndarray, repeat: int, warmup: int, cold: bool, samples: int
):
    with device.upload(matrix) as x, device.allocate(matrix.nbytes) as y:
        y.fill(0xFF)
        timing = time_launches(device, transpose_on(device, x, y), repeat, warmup, cold)
        assert np.array_equal(y.download((COLS, ROWS), np.uint32), matrix.T)
    assert 0 < timing.low <= timing.median <= timing.high
    assert timing.samples == samples


@pytest.mark.parametrize("cold", [False, True])
def test_the_drivers_copy_is_timed_alike(device: Device, matrix: np.ndarray, cold: bool):
    with device.upload(matrix) as x, device.allocate(matrix.nbytes) as y:
        y.fill(0xFF)
        timing = time_launches(device, lambda stream: y.copy_from(x, stream), 100, 10, cold)
        assert np.array_equal(y.download(matrix.shape, np.uint32), matrix)
    assert 0 < timing.low <= timing.median <= timing.high


def test_timing_gives_back_the_memory_it_took(device: Device, matrix: np.ndarray):
    with device.upload(matrix) as x, device.allocate(matrix.nbytes) as y:
        launch = transpose_on(device, x, y)
        time_launches(device, launch, 20, 0, cold=True)
        free = device.free_bytes()
        for _ in range(5):
            time_launches(device, launch, 20, 0, cold=True)
        assert device.free_bytes() > free - device.facts.l2_bytes


def test_work_that_cannot_be_launched_is_an_error_and_harms_nothing(device: Device, matrix: np.ndarray):
    with device.upload(matrix) as x, device.allocate(matrix.nbytes) as y:
        y.fill(0xFF)
        image = build(find("naive"), device.facts.arch)
        kernel = device.load(image.cubin, image.symbol, "naive")

        def refuse(stream: Any) -> None:
            kernel.launch((1, 1, 1), (2048, 1, 1), [x, y], stream=stream)

        with pytest.raises(DeviceError, match="kernel naive failed"):
            time_launches(device, refuse)
        assert time_launches(device, transpose_on(device, x, y), 20, 0).samples == 10
        assert np.array_equal(y.download((COLS, ROWS), np.uint32), matrix.T)
