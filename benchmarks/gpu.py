"""The CUDA engine against the copy roof: `python benchmarks/gpu.py [--element N ...] [--json FILE]`, on a CUDA device.

Each case is one permutation of a contiguous array, checked bit for bit before it is timed. A time is the median over
replays of a CUDA graph; arrays alternate between as many places as it takes to pass L2 several times. The copy roof is
the faster of a plain 16-byte copy kernel and the driver's copy of as many bytes, in the same process.
"""

import argparse
import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from cornerturn.gpu import Buffer, Device, open_device, time_launches
from cornerturn.kernels import production
from cornerturn.op.gpu_plan import plan
from cornerturn.op.on_gpu import Launcher
from cornerturn.op.problem import canonical

ELEMENTS = (1, 2, 4, 8, 16)
CASES: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...] = (
    ((8192, 8192), (1, 0)),
    ((8191, 8193), (1, 0)),
    ((16777216, 3), (1, 0)),
    ((3, 16777216), (1, 0)),
    ((64, 1024, 1024), (0, 2, 1)),
    ((64, 3, 512, 512), (0, 2, 3, 1)),
    ((64, 512, 512, 3), (0, 3, 1, 2)),
    ((64, 128, 64, 64), (0, 2, 3, 1)),
    ((16, 2048, 16, 128), (0, 2, 1, 3)),
    ((256, 256, 256), (2, 1, 0)),
    ((1000, 1000, 64), (1, 0, 2)),
)
ROTATION_BYTES = 1 << 31


def launcher(shape: tuple[int, ...], axes: tuple[int, ...], element: int, arch: str) -> Launcher:
    x = [element * math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
    result = tuple(shape[axis] for axis in axes)
    y = tuple(element * math.prod(result[axis + 1 :]) for axis in range(len(result)))
    return Launcher(plan(canonical(element, result, tuple(x[axis] for axis in axes), y), 0, 0), arch)


def seconds(device: Device, launch: Any, x: Buffer, y: Buffer, nbytes: int) -> float:
    span = -(-nbytes // 512) * 512
    places = max(1, min(x.nbytes // span, ROTATION_BYTES // span))
    turn = 0

    def enqueue(stream: Any) -> None:
        nonlocal turn
        offset = turn % places * span
        turn += 1
        launch(x.address + offset, y.address + offset, int(stream.handle))

    return time_launches(device, enqueue, repeat=200, warmup=20).median


def driver_copy(nbytes: int) -> Any:
    from cuda.bindings import driver

    return lambda x, y, stream: driver.cuMemcpyDtoDAsync(y, x, nbytes, stream)


def is_right(device: Device, launch: Launcher, x: Buffer, y: Buffer, case: Any, element: int) -> bool:
    shape, axes = case
    y.fill(0xA5)
    with device.current():
        launch(x.address, y.address, int(device.stream.handle))
    got = y.download((math.prod(shape), element), np.uint8)
    source = x.download((*shape, element), np.uint8)
    return np.array_equal(got.reshape(-1), source.transpose(*axes, len(shape)).reshape(-1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--element", type=int, action="append", choices=ELEMENTS)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--check", action="store_true", help="compare bits first; slow on the host")
    options = parser.parse_args()
    elements = options.element or ELEMENTS
    device = open_device()
    arch = device.facts.arch
    largest = max(math.prod(shape) for shape, _ in CASES) * max(elements)
    x = device.upload(np.random.default_rng(0).integers(0, 256, max(largest, ROTATION_BYTES), dtype=np.uint8))
    y = device.allocate(x.nbytes)
    roofs: dict[int, float] = {}
    results = []
    for element in elements:
        for shape, axes in CASES:
            nbytes = math.prod(shape) * element
            if nbytes not in roofs:
                copy = Launcher(production.rows(16, [(nbytes // 16, 16, 16)]), arch)
                roofs[nbytes] = min(seconds(device, way, x, y, nbytes) for way in (copy, driver_copy(nbytes)))
            launch = launcher(shape, axes, element, arch)
            right = not options.check or is_right(device, launch, x, y, (shape, axes), element)
            time = seconds(device, launch, x, y, nbytes)
            name = "x".join(map(str, shape)) + ":" + ",".join(map(str, axes))
            share = roofs[nbytes] / time
            entry = launch.production.entry
            results.append(
                {"case": name, "element": element, "entry": entry, "seconds": time, "roof_share": share, "right": right}
            )
            wrong = "" if right else "  WRONG"
            print(
                f"{element:2d} {name:26s} {entry:52s} {2 * nbytes / time / 1e9:6.0f} GB/s {share:6.1%}{wrong}",
                flush=True,
            )
    print(f"geometric mean {math.exp(np.mean([math.log(result['roof_share']) for result in results])):.1%} of the roof")
    if options.json:
        options.json.write_text(json.dumps({"device": device.facts.name, "results": results}, indent=1))


if __name__ == "__main__":
    main()
