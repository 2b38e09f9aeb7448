"""The code of a source, and its kernels as images."""

import pytest

from cornerturn.toolchain.image import Image
from cornerturn.toolchain.module import Module

MODULE = Module("ptx", b"cubin", {"f": "_Z1fv", "g<2>": "_Z1gILi2EEvv"}, "sm_90", "nvrtc 13.0")


@pytest.mark.parametrize(("entry", "symbol"), MODULE.symbols.items())
def test_each_entry_is_an_image_of_the_same_code(entry: str, symbol: str) -> None:
    assert MODULE.image(entry) == Image("ptx", b"cubin", symbol, "sm_90", "nvrtc 13.0")


def test_what_is_no_entry_has_no_image() -> None:
    with pytest.raises(KeyError):
        MODULE.image("h")
