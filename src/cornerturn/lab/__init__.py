"""The laboratory: run a kernel, check every bit of its output, and see what its accesses cost and why."""

from cornerturn.kernels.catalogue import find
from cornerturn.lab import views  # noqa: F401  says how all that follows shows itself
from cornerturn.lab.by_name import bench, check, explain, layout, lessons, trace
from cornerturn.lab.counts import Counters
from cornerturn.lab.explanation import Explanation
from cornerturn.lab.layouts import Layouts
from cornerturn.lab.lesson import Finding, Findings
from cornerturn.lab.matrices import Mismatch, distinct
from cornerturn.lab.measuring import Bench, Result, bench_on_emulator, bench_on_gpu
from cornerturn.lab.run import Run, TimingPlan, run_emulated, run_on_gpu
from cornerturn.lab.tracing import Trace
from cornerturn.lab.user.checking import Check, Fault
from cornerturn.lab.user.kernel import read_kernel

__all__ = [
    "Bench",
    "Check",
    "Counters",
    "Explanation",
    "Fault",
    "Finding",
    "Findings",
    "Layouts",
    "Mismatch",
    "Result",
    "Run",
    "TimingPlan",
    "Trace",
    "bench",
    "bench_on_emulator",
    "bench_on_gpu",
    "check",
    "distinct",
    "explain",
    "find",
    "layout",
    "lessons",
    "read_kernel",
    "run_emulated",
    "run_on_gpu",
    "trace",
]
