"""What a CUDA device is, as its driver says; nothing is opened and no context is made."""

from dataclasses import asdict, dataclass, field
from functools import cache

from cornerturn.gpu.driver import check


@dataclass(frozen=True, slots=True)
class DeviceFacts:
    """What a device is. Devices that differ in their number alone are equal: what serves one serves the other.

    Attributes:
        ordinal: its number among the visible devices.
        name: for example ``NVIDIA H200``.
        arch: real architecture, for example ``sm_90``.
        multiprocessors: number of streaming multiprocessors.
        l2_bytes: size of the L2 cache.
        memory_bytes: size of the device's memory.
        ecc: whether error correction is on; a partial sector then is read before it is written.
        cuda: newest CUDA version that the installed driver supports, for example ``13.0``.
    """

    ordinal: int = field(compare=False)
    name: str
    arch: str
    multiprocessors: int
    l2_bytes: int
    memory_bytes: int
    ecc: bool
    cuda: str

    @property
    def title(self) -> str:
        """The device in a few words, for a table's title."""
        return f"{self.name} ({self.arch})"

    @property
    def record(self) -> dict[str, object]:
        """The device as JSON."""
        return {"kind": "gpu", **asdict(self)}


@cache
def facts_of(ordinal: int) -> DeviceFacts:
    """Return the facts of the CUDA device of that number.

    Raises:
        DeviceError: there is no such device, or no driver that answers.
    """
    from cuda.bindings import driver

    of_device = f"of CUDA device {ordinal} cannot be read"
    check(driver.cuInit(0), "the CUDA driver does not start")
    device = check(driver.cuDeviceGet(ordinal), f"there is no CUDA device {ordinal}")
    name = check(driver.cuDeviceGetName(128, device), f"the name {of_device}")
    version = check(driver.cuDriverGetVersion(), "the version of the CUDA driver cannot be read")
    kinds = driver.CUdevice_attribute
    major, minor, multiprocessors, l2_bytes, ecc = (
        check(driver.cuDeviceGetAttribute(kind, device), f"{kind.name} {of_device}")
        for kind in (
            kinds.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
            kinds.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
            kinds.CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
            kinds.CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE,
            kinds.CU_DEVICE_ATTRIBUTE_ECC_ENABLED,
        )
    )
    return DeviceFacts(
        ordinal=ordinal,
        name=name.split(b"\0")[0].decode(),
        arch=f"sm_{major}{minor}",
        multiprocessors=multiprocessors,
        l2_bytes=l2_bytes,
        memory_bytes=check(driver.cuDeviceTotalMem(device), f"the memory {of_device}"),
        ecc=bool(ecc),
        cuda=f"{version // 1000}.{version % 1000 // 10}",
    )
