from dataclasses import replace

from cornerturn.gpu import Timing
from cornerturn.lab import distinct, find, run_emulated
from cornerturn.lab.views.run import run_view

from ..printing import printed
from ..small_kernel import kernel_of


def test_an_emulated_run_shows_each_access_and_what_it_costs():
    lines = printed(run_view(run_emulated(find("naive"), distinct(64, 64))))
    assert lines[0] == "y is 64 x 64, uint32: valid"
    assert [line.split()[1:] for line in lines if line.startswith("textbook.cu")] == [
        ["global", "load", "4", "128", "4/4", "sectors"],
        ["global", "store", "4", "128", "32/4", "sectors"],
    ]
    assert lines[-1].endswith(" instructions of warps were executed")


def test_a_wrong_run_says_why():
    lines = printed(run_view(run_emulated(kernel_of("y[threadIdx.x] = x[0];"), distinct(4, 8))))
    assert lines[0] == "y is 8 x 4, uint32: wrong"
    assert "y[" in lines[1]


def test_a_timed_run_shows_its_spread():
    run = run_emulated(find("naive"), distinct(8, 8))
    timed = replace(run, emulation=None, timing=Timing(3e-6, 2e-6, 4.5e-6, 50))
    assert printed(run_view(timed))[-1] == "3.00 µs per launch, median of 50; 2.00 to 4.50 µs in 90% of them"
