"""transpose() on a CPU as a share of the copy roof: a quick look while working on the kernels.

    python benchmarks/cpu.py [--case 8192x8192 ...] [--dtype float32 ...] [--rounds 9] [--threads N]

The roof is the faster of two copies of as many bytes: halves by NumPy, one per thread, and this package's own. All run
in turn, round after round; a round starts when no other process runs, or after a short while. `cornerturn compare`
is the whole comparison, with other libraries and every result checked.
"""

import argparse
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import geometric_mean, median

import numba
import numpy as np

from cornerturn import transpose
from cornerturn.measure.cases import DTYPES, Case
from cornerturn.measure.groups import LARGE, parse_case
from cornerturn.op.cpu.engine import thread_count
from cornerturn.op.cpu.plan import plan_move
from cornerturn.op.strided_view import AnyArray, empty_c_order, view_of


def wait_for_quiet() -> None:
    load = Path("/proc/loadavg")
    end = time.monotonic() + 0.05
    while load.exists() and time.monotonic() < end and int(load.read_text().split()[3].split("/")[0]) > 1:
        time.sleep(0.002)


def shared_copy(x: AnyArray, out: AnyArray, pool: ThreadPoolExecutor, threads: int) -> Callable[[], object]:
    sources = np.array_split(x.reshape(-1).view(np.uint8), threads)
    parts = list(zip(np.array_split(out.reshape(-1).view(np.uint8), threads), sources, strict=True))
    return lambda: list(pool.map(lambda part: np.copyto(*part), parts))


def shares(case: Case, dtype: str, rounds: int, pool: ThreadPoolExecutor) -> tuple[float, float, str]:
    x = empty_c_order(case.shape, np.dtype(dtype))
    x.reshape(-1).view(np.uint8)[:] = np.arange(251, dtype=np.uint8)[np.arange(x.nbytes) % 251]
    view = x.transpose(case.axes)
    out = empty_c_order(view.shape, x.dtype)
    flat, flat_out = x.reshape(-1), out.reshape(-1)
    calls = {
        "numpy": shared_copy(x, out, pool, thread_count()),
        "copy": lambda: transpose(flat, out=flat_out),
        "transpose": lambda: transpose(x, case.axes, out=out),
    }
    times: dict[str, list[float]] = {name: [] for name in calls}
    repeats = max(1, (1 << 24) // x.nbytes)
    for round_ in range(rounds + 1):
        for name, call in calls.items():
            wait_for_quiet()
            start = time.perf_counter()
            for _ in range(repeats):
                call()
            if round_:
                times[name].append((time.perf_counter() - start) / repeats)
    if not np.array_equal(out.view(np.uint8), np.ascontiguousarray(view).view(np.uint8)):
        raise SystemExit(f"{case.name} {dtype}: wrong result")
    roof = min(median(times["numpy"]), median(times["copy"]))
    plan = plan_move(view_of(view), view_of(out))
    return roof / median(times["transpose"]), 2 * x.nbytes / roof / 1e9, plan.kernel


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--case", action="append")
    parser.add_argument("--dtype", action="append", choices=DTYPES)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--threads", type=int)
    options = parser.parse_args()
    if options.threads:
        numba.set_num_threads(options.threads)
    cases = [case for text in options.case or () for case in parse_case(text)] or LARGE
    all_shares = []
    with ThreadPoolExecutor() as pool:
        for case in cases:
            for dtype in options.dtype or DTYPES:
                share, roof, kernel = shares(case, dtype, options.rounds, pool)
                all_shares.append(share)
                print(f"{case.name:24}{dtype:12}{share:6.2f} of {roof:5.1f} GB/s  {kernel}", flush=True)
    print(f"geometric mean {geometric_mean(all_shares):.2f}")


if __name__ == "__main__":
    main()
