"""What the laboratory runs on here: the device, the compilers, the versions and the cache."""

import platform
from collections.abc import Iterable, Sequence
from importlib.metadata import PackageNotFoundError, version

from cornerturn.errors import CornerturnError, DeviceError, UsageError
from cornerturn.gpu import Device, open_device
from cornerturn.gpu import unavailable_reason as why_no_gpu
from cornerturn.kernels.kernel import Kernel
from cornerturn.toolchain import DEFAULT_ARCH, Cache, build, cache_folder, compiler_version
from cornerturn.version import package_version

_LIBRARIES = ("numpy", "numba", "cuda-bindings", "cuda-core", "nvidia-cutlass-dsl", "rich", "click")


def choose_device(where: str) -> tuple[Device | None, str | None]:
    """The GPU to measure on, or None for the emulator; and why there is no GPU, unless the emulator was asked for.

    Args:
        where: ``auto``, ``gpu`` or ``emulator``.

    Raises:
        UsageError: it is none of these.
        DeviceError: the GPU that was asked for cannot be used.
    """
    if where not in ("auto", "gpu", "emulator"):
        raise UsageError(f"device must be auto, gpu or emulator: got {where!r}")
    if where == "emulator":
        return None, None
    if where == "auto" and (reason := why_no_gpu()):
        return None, reason
    try:
        return open_device(), None
    except DeviceError as error:
        raise DeviceError(f"{error}: choose --device emulator, which counts and does not time") from error


def device_record(device: Device | None, compilers: Sequence[str] = ()) -> dict[str, object]:
    """The device as JSON: a GPU's facts, or the emulator and the architecture that it emulates; and the compilers."""
    emulator = {"kind": "emulator", "name": f"emulator on {platform.machine()}", "arch": DEFAULT_ARCH}
    facts = device.facts.record if device else emulator
    return facts | ({"compilers": list(compilers)} if compilers else {})


def device_title(device: Device | None, cold: bool, compilers: Sequence[str] = ()) -> str:
    """The device in a few words, for a table's title, with what decides the numbers.

    The compilers decide counts; times depend on whether a launch finds its data in L2.
    """
    if device is None:
        return f"emulator, PTX for {DEFAULT_ARCH}" + (f" by {', '.join(compilers)}" if compilers else "")
    return f"{device.facts.title}, {'cold' if cold else 'warm'} L2"


def compilers(kernels: Iterable[Kernel], device: Device | None) -> tuple[str, ...]:
    """Name and version of each compiler that compiled ``kernels``, which ran before; each once."""
    arch = device.facts.arch if device else DEFAULT_ARCH
    return tuple(dict.fromkeys(build(kernel, arch).compiler for kernel in kernels))


def describe() -> list[tuple[str, str]]:
    """Name and value of each thing that ``cornerturn info`` shows, whatever is installed."""
    cache = Cache(cache_folder()).info()
    read_only = "" if cache.writable else ", not writable"
    return [
        ("cornerturn", package_version()),
        ("GPU", _gpu()),
        ("compiler", _compiler()),
        ("python", f"{platform.python_version()} on {platform.system()} {platform.machine()}"),
        *((library, _version(library)) for library in _LIBRARIES),
        ("cache", f"{cache.folder} ({cache.entries} entries, {cache.bytes / 1e6:.1f} MB{read_only})"),
    ]


def _gpu() -> str:
    try:
        device = open_device().facts
    except CornerturnError as error:
        return f"none: {error}"
    return (
        f"{device.name}, {device.arch}, {device.multiprocessors} multiprocessors, "
        f"{device.memory_bytes / 2**30:.0f} GiB, ECC {'on' if device.ecc else 'off'}, "
        f"L2 {device.l2_bytes / 2**20:.0f} MiB, driver for CUDA {device.cuda}"
    )


def _compiler() -> str:
    try:
        return compiler_version()
    except CornerturnError as error:
        return f"none: {error}"


def _version(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:
        return "not installed"
