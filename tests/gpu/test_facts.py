"""What the driver says of a device."""

from dataclasses import replace

import pytest

from cornerturn.errors import DeviceError
from cornerturn.gpu import DeviceFacts, facts_of

driver = pytest.importorskip("cuda.bindings.driver")
L4 = DeviceFacts(0, "NVIDIA L4", "sm_89", 58, 48 << 20, 24 << 30, True, "13.1")


@pytest.fixture(autouse=True)
def _driver(monkeypatch):
    kinds = driver.CUdevice_attribute
    attributes = {
        kinds.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: 8,
        kinds.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: 9,
        kinds.CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: 58,
        kinds.CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE: 48 << 20,
        kinds.CU_DEVICE_ATTRIBUTE_ECC_ENABLED: 1,
    }
    ok, bad = driver.CUresult.CUDA_SUCCESS, driver.CUresult.CUDA_ERROR_INVALID_DEVICE
    monkeypatch.setattr(driver, "cuInit", lambda flags: (ok,))
    monkeypatch.setattr(driver, "cuDriverGetVersion", lambda: (ok, 13010))
    monkeypatch.setattr(driver, "cuDeviceGet", lambda ordinal: (bad, None) if ordinal else (ok, 77))
    monkeypatch.setattr(driver, "cuDeviceGetName", lambda length, device: (ok, b"NVIDIA L4\0\0\0"))
    monkeypatch.setattr(driver, "cuDeviceGetAttribute", lambda kind, device: (ok, attributes[kind]))
    monkeypatch.setattr(driver, "cuDeviceTotalMem", lambda device: (ok, 24 << 30))
    monkeypatch.setattr(driver, "cuGetErrorString", lambda status: (ok, b"in words"))
    facts_of.cache_clear()
    yield
    facts_of.cache_clear()


def test_they_are_what_the_driver_says():
    assert facts_of(0) == L4
    assert facts_of(0).ordinal == 0


def test_devices_of_one_model_are_equal():
    assert replace(L4, ordinal=3) == L4 and hash(replace(L4, ordinal=3)) == hash(L4)
    assert replace(L4, multiprocessors=60) != L4


def test_a_device_that_is_not_there_is_said():
    with pytest.raises(DeviceError, match=r"there is no CUDA device 3: CUDA_ERROR_INVALID_DEVICE \(in words\)"):
        facts_of(3)
