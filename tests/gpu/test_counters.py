"""The counting rules against the hardware: every kernel, and one-warp patterns at random."""

import sys

import pytest

from cornerturn.kernels.catalogue import CATALOGUE
from cornerturn.kernels.kernel import Kernel
from cornerturn.lab.counters import compare_counters, find_ncu, read_counters
from cornerturn.toolchain import unavailable_reason

from . import patterns

pytestmark = pytest.mark.skipif(find_ncu() is None, reason="needs Nsight Compute")

PATTERNS, SEED = 528, 20


@pytest.mark.parametrize("shape", [(1000, 1000), (1022, 514)], ids=str)
def test_every_kernel_counts_as_the_hardware_does(device, shape):
    kernels = [
        entry
        for entry in CATALOGUE
        if isinstance(entry, Kernel) and not entry.refuses(*shape) and unavailable_reason(entry.source) is None
        if entry.family != "production"  # ptxas narrows some of their accesses
    ]
    compared = compare_counters(kernels, shape, device.facts.arch)
    assert {found.kernel: found.differences for found in compared if found.differences} == {}


def test_random_warps_count_as_the_hardware_does(device):
    made = patterns.patterns(PATTERNS, SEED)
    measured = read_counters([sys.executable, patterns.__file__, str(PATTERNS), str(SEED)], PATTERNS)
    different = [
        (pattern, counts, hardware)
        for pattern, hardware in zip(made, measured, strict=True)
        if (counts := patterns.emulated(pattern, device.facts.arch)) != hardware
    ]
    assert different == []
