"""What one call on a GPU takes the host, beside PyTorch's own: medians in microseconds, and their ratios.

Run: ``python benchmarks/calls.py [--rows 64] [--cols 64]``; it needs an NVIDIA GPU and PyTorch. The matrix is so small
that the device is done before the host has started the next call.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable

CALLS, ROUNDS, TARGET = 300, 30, 1.5


def microseconds(call: Callable[[], object], wait: Callable[[], None]) -> float:
    """Median of rounds of calls in a row, of which none waits for the device."""
    rounds = []
    for _ in range(ROUNDS):
        wait()
        begin = time.perf_counter()
        for _ in range(CALLS):
            call()
        rounds.append((time.perf_counter() - begin) / CALLS * 1e6)
    return statistics.median(rounds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=64)
    parser.add_argument("--cols", type=int, default=64)
    options = parser.parse_args()
    try:
        import torch
    except ImportError:
        sys.exit("PyTorch is not installed: pip install torch")
    if not torch.cuda.is_available():
        sys.exit("there is no GPU that PyTorch can use: run it where there is one")
    import cornerturn

    x = torch.rand(options.rows, options.cols, device="cuda")
    y = torch.empty(options.cols, options.rows, device="cuda")
    pairs = {
        "transpose(x, out=y)": (lambda: cornerturn.transpose(x, out=y), "y.copy_(x.t())", lambda: y.copy_(x.t())),
        "transpose(x)": (lambda: cornerturn.transpose(x), "x.t().contiguous()", lambda: x.t().contiguous()),
    }
    for name, (ours, peer, theirs) in pairs.items():
        if not torch.equal(ours(), x.t()):
            sys.exit(f"{name} is wrong")
        mine, other = microseconds(ours, torch.cuda.synchronize), microseconds(theirs, torch.cuda.synchronize)
        print(f"{name}: {mine:.1f} µs, {peer}: {other:.1f} µs, {mine / other:.2f}x (target: at most {TARGET})")


if __name__ == "__main__":
    main()
