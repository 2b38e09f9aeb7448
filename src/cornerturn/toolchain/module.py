"""The Module: the code of a whole source, as one compilation makes it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from cornerturn.toolchain.image import Image


@dataclass(frozen=True)
class Module:
    """One compiled source with all its kernels.

    Attributes:
        ptx: PTX text; ``.file`` gives the name of the source.
        cubin: machine code of the same compilation, for ``arch``.
        symbols: the (mangled) symbol of each entry of the source.
        arch: real architecture, for example ``sm_90``.
        compiler: name and version, for example ``nvrtc 13.0``.
    """

    ptx: str = field(repr=False)
    cubin: bytes = field(repr=False)
    symbols: Mapping[str, str]
    arch: str
    compiler: str

    def image(self, entry: str) -> Image:
        """The Image of the kernel ``entry``, which must be one of ``symbols``."""
        return Image(self.ptx, self.cubin, self.symbols[entry], self.arch, self.compiler)
