"""The one exception family of the package.

Every message says what was given, which rule it breaks, and what to do instead.
"""


class CornerturnError(Exception):
    """Base of every error that cornerturn raises on purpose."""


class UsageError(CornerturnError, ValueError):
    """What the caller asked for breaks a rule: an unknown kernel, a malformed size, a refused shape."""


class CompileError(CornerturnError):
    """A compiler refused a kernel; the message carries its log with file and line."""


class DeviceError(CornerturnError, RuntimeError):
    """A GPU was asked for and cannot be used: no driver, no device, or a launch that failed."""


class EmulatorError(CornerturnError, RuntimeError):
    """PTX that the emulator cannot execute further, with the instruction and its source line."""


class LaunchError(EmulatorError):
    """A launch that breaks a rule of the hardware: too many threads per block, too much shared memory."""


class BarrierError(EmulatorError):
    """A barrier that can never complete, because not all threads reach it: a GPU would hang."""


class PtxError(EmulatorError):
    """PTX text that cannot be read: the kernel is not in it, it is cut off, or a statement is not known."""


class MissingExtraError(CornerturnError, ImportError):
    """An optional dependency is not installed; the message holds the pip line that brings it."""
