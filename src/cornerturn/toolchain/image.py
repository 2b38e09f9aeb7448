"""The Image: a kernel of any language becomes one, and it runs on a GPU and on the emulator."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Image:
    """One compiled kernel.

    The line table is in the ``.file`` and ``.loc`` directives of the PTX. ``.file`` gives the name of the source
    (``handwritten.cu``), never a path of the machine that compiled it.

    Attributes:
        ptx: PTX text of the module that holds the kernel, and possibly other kernels.
        cubin: machine code of the same compilation, for ``arch``.
        symbol: the kernel's (mangled) name in ``ptx`` and ``cubin``.
        arch: real architecture, for example ``sm_90``.
        compiler: name and version, for example ``nvrtc 13.0``.
    """

    ptx: str = field(repr=False)
    cubin: bytes = field(repr=False)
    symbol: str
    arch: str
    compiler: str
