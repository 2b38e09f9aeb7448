"""The real device: memory, kernels, and the time they take."""

from cornerturn.gpu.device import Buffer, Device, DeviceFacts, Function, open_device, unavailable_reason
from cornerturn.gpu.timing import Timing, time_launches

__all__ = [
    "Buffer",
    "Device",
    "DeviceFacts",
    "Function",
    "Timing",
    "open_device",
    "time_launches",
    "unavailable_reason",
]
