"""The narrow waist: whatever a kernel was written in, it becomes an Image, and an Image runs anywhere."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Image:
    """One compiled kernel.

    The line table is the PTX's own ``.file`` and ``.loc`` directives; ``.file`` names are those of the source
    (``handwritten.cu``), never a path of the machine that compiled it.

    Attributes:
        ptx: PTX text of the module that holds the kernel (other kernels may stand in it too).
        cubin: machine code of the same compilation, for ``arch``.
        symbol: the kernel's (mangled) name in ``ptx`` and ``cubin``.
        arch: real architecture, for example ``sm_90``.
        compiler: name and version, for example ``nvrtc 13.0``.
    """

    ptx: str
    cubin: bytes
    symbol: str
    arch: str
    compiler: str
