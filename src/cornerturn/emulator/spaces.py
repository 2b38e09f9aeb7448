"""Where each state space lies in the generic address space of the emulated device."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Window:
    """Generic addresses from ``base`` up to ``end``; an address in the space counts from 0 at ``base``."""

    base: int
    end: int


WINDOWS = {
    "shared": Window(0x7F00_0000_0000, 0x7F00_0100_0000),
    "shared::cta": Window(0x7F00_0000_0000, 0x7F00_0100_0000),
    "local": Window(0x7F10_0000_0000, 0x7F10_0100_0000),
    "global": Window(0, 0x7F00_0000_0000),
    "const": Window(0, 0x7F00_0000_0000),
    "param": Window(0, 0x7F00_0000_0000),
}
"""Constants and parameters are kept in global memory, so a generic address finds them there."""
