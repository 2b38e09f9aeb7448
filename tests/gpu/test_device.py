import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from cornerturn.errors import DeviceError
from cornerturn.gpu import Device, Function
from cornerturn.kernels.kernel import CudaSource
from cornerturn.toolchain import compile_source

TEXT = """
extern "C" __global__ void add(const int* x, int* y, int n, int amount) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] + amount;
}
extern "C" __global__ void reverse(int* x, int n) {
    extern __shared__ int staged[];
    for (int i = threadIdx.x; i < n; i += blockDim.x) staged[i] = x[i];
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) x[i] = staged[n - 1 - i];
}
extern "C" __global__ void fault(int* x) { *(volatile int*)nullptr = 1; }
"""
SOURCE = CudaSource("device_test.cu", TEXT, ("add", "reverse", "fault"))


def load(device: Device, entry: str) -> Function:
    image = compile_source(SOURCE, device.facts.arch).image(entry)
    return device.load(image.cubin, image.symbol)


def test_the_facts_are_sane(device: Device):
    facts = device.facts
    assert facts.name
    assert re.fullmatch(r"sm_\d+", facts.arch)
    assert re.fullmatch(r"\d+\.\d", facts.cuda)
    assert facts.multiprocessors > 0
    assert 0 < facts.l2_bytes < facts.memory_bytes
    assert 0 < device.free_bytes() <= facts.memory_bytes


def test_a_buffer_gives_back_what_it_was_given(device: Device):
    matrix = np.arange(35, dtype=np.int16).reshape(5, 7)
    with device.upload(matrix) as buffer:
        assert np.array_equal(buffer.download((5, 7), np.int16), matrix)
        buffer.upload(matrix.T)
        assert np.array_equal(buffer.download((7, 5), np.int16), matrix.T), "C order of a strided array"
        buffer.fill(0xA5)
        assert np.array_equal(buffer.download(70, np.uint8), np.full(70, 0xA5))


def test_a_buffer_is_copied_on_the_device(device: Device):
    values = np.arange(1000, dtype=np.uint32)
    with device.upload(values) as source, device.allocate(4096) as target:
        target.fill(0xFF)
        target.copy_from(source)
        copied = target.download(1024, np.uint32)
    assert np.array_equal(copied[:1000], values)
    assert (copied[1000:] == 0xFFFFFFFF).all()


def test_closed_and_forgotten_buffers_are_freed(device: Device):
    size = 1 << 28
    free = device.free_bytes()
    device.allocate(size).close()
    device.allocate(size)
    with device.allocate(size):
        assert device.free_bytes() <= free - size
    assert device.free_bytes() > free - size


def test_too_much_memory_is_refused_with_what_is_free(device: Device):
    with pytest.raises(DeviceError, match=r"1000000\.00 GB do not fit .* GB free"):
        device.allocate(10**15)


def test_what_does_not_fit_a_buffer_is_refused(device: Device):
    with device.allocate(8) as buffer, device.allocate(9) as larger:
        for overflow in (
            lambda: buffer.upload(np.zeros(9, np.uint8)),
            lambda: buffer.download(9, np.uint8),
            lambda: buffer.copy_from(larger),
        ):
            with pytest.raises(DeviceError, match="9 bytes do not fit a device buffer of 8 bytes"):
                overflow()


def test_a_launch_passes_buffers_and_scalars(device: Device):
    values = np.arange(1000, dtype=np.int32)
    with device.upload(values) as x, device.allocate(values.nbytes) as y:
        load(device, "add").launch((4, 1, 1), (256, 1, 1), [x, y, np.int32(1000), np.int32(-7)])
        assert np.array_equal(y.download(1000, np.int32), values - 7)


@pytest.mark.parametrize("kib", [16, 48, 64])
def test_dynamic_shared_memory_may_be_large(device: Device, kib: int):
    values = np.arange(kib * 256, dtype=np.int32)
    with device.upload(values) as x:
        arguments = [x, np.int32(values.size)]
        load(device, "reverse").launch((1, 1, 1), (256, 1, 1), arguments, shared_bytes=kib * 1024)
        assert np.array_equal(x.download(values.size, np.int32), values[::-1])


@pytest.mark.parametrize(
    ("block", "shared_bytes"), [((2048, 1, 1), 0), ((32, 1, 1), 1 << 20)], ids=["block", "shared memory"]
)
def test_a_refused_launch_names_the_kernel_and_harms_nothing(device: Device, block, shared_bytes: int):
    values = np.arange(32, dtype=np.int32)
    with device.upload(values) as x:
        kernel = load(device, "reverse")
        with pytest.raises(DeviceError, match="kernel reverse failed: "):
            kernel.launch((1, 1, 1), block, [x, np.int32(32)], shared_bytes)
        kernel.launch((1, 1, 1), (32, 1, 1), [x, np.int32(32)], 128)
        assert np.array_equal(x.download(32, np.int32), values[::-1])


FAULT = """
import pathlib, sys
from cornerturn.errors import DeviceError
from cornerturn.gpu import open_device
device = open_device()
kernel = device.load(pathlib.Path(sys.argv[1]).read_bytes(), "fault", name="my_kernel")
try:
    kernel.launch((1, 1, 1), (1, 1, 1), [device.allocate(4)])
except DeviceError as error:
    print(error)
"""


def test_a_kernel_that_faults_is_named(device: Device, tmp_path: Path):
    # In a process of its own: a fault takes the context of the whole process with it.
    cubin = tmp_path / "fault.cubin"
    cubin.write_bytes(compile_source(SOURCE, device.facts.arch).cubin)
    run = subprocess.run(
        [sys.executable, "-c", FAULT, str(cubin)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith("kernel my_kernel failed: ")


def test_the_context_of_another_framework_stays_current(device: Device):
    torch = pytest.importorskip("torch")
    theirs = torch.arange(1000, device="cuda")
    from cuda.bindings import driver

    before = driver.cuCtxGetCurrent()
    with device.upload(np.ones(10, np.int32)) as ours:
        load(device, "add").launch((1, 1, 1), (32, 1, 1), [ours, ours, np.int32(10), np.int32(1)])
        assert int(driver.cuCtxGetCurrent()[1]) == int(before[1])
        assert int(theirs.sum()) == 499500
        assert (ours.download(10, np.int32) == 2).all()


def test_code_for_another_device_is_refused(device: Device):
    with pytest.raises(DeviceError, match=f"loading kernel broken for {device.facts.arch} failed"):
        device.load(b"no machine code", "add", name="broken")


def test_a_missing_symbol_is_named(device: Device):
    image = compile_source(SOURCE, device.facts.arch).image("add")
    with pytest.raises(DeviceError, match="loading kernel gone"):
        device.load(image.cubin, "gone")
