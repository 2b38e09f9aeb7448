"""The real device: what it is, its memory, kernels on it, and the time they take."""

from cornerturn.gpu.device import Buffer, Device, Function, open_device, unavailable_reason
from cornerturn.gpu.driver import check
from cornerturn.gpu.facts import DeviceFacts, facts_of
from cornerturn.gpu.launcher import Launcher, load_kernel
from cornerturn.gpu.timing import Replay, Timing, time_launches

__all__ = [
    "Buffer",
    "Device",
    "DeviceFacts",
    "Function",
    "Launcher",
    "Replay",
    "Timing",
    "check",
    "facts_of",
    "load_kernel",
    "open_device",
    "time_launches",
    "unavailable_reason",
]
