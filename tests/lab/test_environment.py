from importlib.metadata import version
from types import SimpleNamespace

import pytest

from cornerturn import __version__
from cornerturn.errors import CompileError, DeviceError
from cornerturn.gpu import DeviceFacts
from cornerturn.kernels.catalogue import find
from cornerturn.lab import environment
from cornerturn.lab.environment import compilers, describe, device_record, device_title
from cornerturn.toolchain import DEFAULT_ARCH, compiler_version

H200 = SimpleNamespace(facts=DeviceFacts(0, "NVIDIA H200", "sm_90", 132, 60 << 20, 140 << 30, False, "13.0"))


def test_the_record_of_an_emulator_and_of_a_gpu():
    assert device_record(None)["kind"] == "emulator" and device_record(None)["arch"] == DEFAULT_ARCH
    assert "compilers" not in device_record(None)
    record = device_record(H200, ["a", "b"])
    assert (record["kind"], record["name"], record["compilers"]) == ("gpu", "NVIDIA H200", ["a", "b"])


@pytest.mark.parametrize(
    ("device", "cold", "by", "title"),
    [
        (None, False, (), f"emulator, PTX for {DEFAULT_ARCH}"),
        (None, True, ("a 1", "b 2"), f"emulator, PTX for {DEFAULT_ARCH} by a 1, b 2"),
        (H200, False, ("a 1",), "NVIDIA H200 (sm_90), warm L2"),
        (H200, True, (), "NVIDIA H200 (sm_90), cold L2"),
    ],
)
def test_the_title_has_what_decides_the_numbers(device, cold, by, title):
    assert device_title(device, cold, by) == title


def test_each_compiler_is_named_once():
    assert compilers([find("naive"), find("copy")], None) == (compiler_version(),)
    assert compilers([], None) == ()


def test_info_works_whatever_is_installed(monkeypatch):
    def no_device():
        raise DeviceError("no driver")

    def no_compiler():
        raise CompileError("no compiler")

    monkeypatch.setattr(environment, "open_device", no_device)
    monkeypatch.setattr(environment, "compiler_version", no_compiler)
    monkeypatch.setattr(environment, "_LIBRARIES", ("numpy", "no-such-library"))
    facts = dict(describe())
    assert facts["cornerturn"] == __version__
    assert (facts["GPU"], facts["compiler"]) == ("none: no driver", "none: no compiler")
    assert (facts["numpy"], facts["no-such-library"]) == (version("numpy"), "not installed")
    monkeypatch.setattr(environment, "open_device", lambda: H200)
    gpu = dict(describe())["GPU"]
    assert gpu == "NVIDIA H200, sm_90, 132 multiprocessors, 140 GiB, ECC off, L2 60 MiB, driver for CUDA 13.0"
