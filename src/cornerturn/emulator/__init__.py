"""Executes PTX on the CPU and counts every memory access as the hardware would.

``emulate`` runs one launch; ``Memory`` holds the arrays that it reads and writes.
"""

from cornerturn.emulator.launch import emulate
from cornerturn.emulator.memory import Allocation, Memory
from cornerturn.emulator.report import Access, Emulation, Hazard, Movement, Observer

__all__ = ["Access", "Allocation", "Emulation", "Hazard", "Memory", "Movement", "Observer", "emulate"]
