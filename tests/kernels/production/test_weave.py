"""`weave` on the emulator."""

import pytest

from cornerturn.kernels.production.weave import weave

from ...emulated_move import moved_axes, run


@pytest.mark.parametrize(
    ("element", "short"), [(1, 2), (1, 3), (1, 16), (2, 3), (2, 4), (4, 3), (4, 7), (4, 16), (8, 2), (8, 3), (16, 5)]
)
def test_weave(element: int, short: int) -> None:
    long = 16 // element * 75
    batch, record, run_ = moved_axes((3, short, long), (0, 2, 1), element)
    run(weave(element, run_, record, [batch]), (3, short, long), (0, 2, 1), element)
    batch, run_, record = moved_axes((3, long, short), (0, 2, 1), element)
    run(weave(element, run_, record, [batch]), (3, long, short), (0, 2, 1), element)


@pytest.mark.parametrize("short", [3, 5])
def test_weave_wastes_nothing(short: int) -> None:
    """An odd pitch in shared memory; 16-byte accesses of whole sectors on both global ends."""
    record, run_ = moved_axes((short, 8192), (1, 0), 1)
    emulation = run(weave(1, run_, record, []), (short, 8192), (1, 0), 1)
    for access in emulation.accesses:
        if "param" in access.instruction:
            continue  # how NVRTC reads a structure that is passed by value; constant memory in machine code
        if access.space == "global":
            assert access.width == 16
            assert access.sectors == access.sectors_ideal
        elif access.space == "shared":
            assert access.wavefronts == access.wavefronts_ideal
