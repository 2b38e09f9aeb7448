"""The real device: memory, kernels, and the time they take."""

from cornerturn.gpu.device import Buffer, Device, DeviceFacts, Function, open_device, unavailable_reason
from cornerturn.gpu.timing import Replay, Timing, time_launches

__all__ = [
    "Buffer",
    "Device",
    "DeviceFacts",
    "Function",
    "Replay",
    "Timing",
    "open_device",
    "time_launches",
    "unavailable_reason",
]
