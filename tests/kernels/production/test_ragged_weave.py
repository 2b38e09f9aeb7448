"""`ragged_weave` on the emulator."""

import math

import pytest

from cornerturn.kernels.production.ragged_weave import ragged_weave

from ...emulated_move import moved_axes, run


@pytest.mark.parametrize(("element", "short"), [(1, 3), (2, 9), (4, 2), (8, 3)])
@pytest.mark.parametrize("interleave", [True, False])
def test_ragged_weave(element: int, short: int, interleave: bool) -> None:
    """Rows and runs on units and off them, in a batch and alone, of fewer records than a block and of a few blocks."""
    for batches, long, x_units, halo, skews in (
        (1, 16 // element * 64 * 3 - 1, not interleave, 0 if interleave else 2, (0, 0)),
        (1, 16 // element * 128, False, 2, (1, 3)),
        (3, 333, False, 2, (0, 0)),
        (2, 1, False, 2, (0, 5)),
    ):
        shape = (batches, short, long) if interleave else (batches, long, short)
        batch, *inner = moved_axes(shape, (0, 2, 1), element)
        record, run_ = reversed(inner) if interleave else inner
        kernel = ragged_weave(element, record, run_, [batch], x_units, halo, threads=64)
        run(kernel, shape, (0, 2, 1), element, skews[0] * element, skews[1] * element)


@pytest.mark.parametrize("interleave", [True, False])
def test_ragged_weave_writes_whole_sectors(interleave: bool) -> None:
    shape = (3, 30001) if interleave else (30001, 3)
    axes = moved_axes(shape, (1, 0), 1)
    record, run_ = reversed(axes) if interleave else axes
    emulation = run(ragged_weave(1, record, run_, [], not interleave, 2), shape, (1, 0), 1, 0, 5)
    needed = math.prod(shape) / 32
    for access in emulation.accesses:
        if (access.space, access.kind, access.width) == ("global", "store", 16):
            assert access.sectors <= access.sectors_ideal + 6  # the two ends of a line are no whole sectors
        elif (access.space, access.width) == ("shared", 16):
            assert access.wavefronts == access.wavefronts_ideal or access.kind == "load"  # a window meets two units
    assert sum(a.sectors for a in emulation.accesses if (a.space, a.kind) == ("global", "store")) < 1.02 * needed
