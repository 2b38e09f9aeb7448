"""The laboratory: run a kernel, check every bit of its output, and see what its accesses cost and why."""

from cornerturn.lab.bench import Result, bench_on_emulator, bench_on_gpu
from cornerturn.lab.counts import Counters
from cornerturn.lab.explanation import Explanation, explain
from cornerturn.lab.matrices import Mismatch, distinct
from cornerturn.lab.run import Run, TimingPlan, run_emulated, run_on_gpu
from cornerturn.lab.tracing import Trace, trace
from cornerturn.lab.user.checking import Check, Fault, check
from cornerturn.lab.user.kernel import read_kernel

__all__ = [
    "Check",
    "Counters",
    "Explanation",
    "Fault",
    "Mismatch",
    "Result",
    "Run",
    "TimingPlan",
    "Trace",
    "bench_on_emulator",
    "bench_on_gpu",
    "check",
    "distinct",
    "explain",
    "read_kernel",
    "run_emulated",
    "run_on_gpu",
    "trace",
]
