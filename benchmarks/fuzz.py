"""Random moves on the CPU, right to the bit and nowhere else: outputs lie between guard zones, which must stay.

Run: ``python benchmarks/fuzz.py [--moves 33334] [--seed 1] [--threads 2]``. Shapes have 1 to 6 axes in random order,
elements 1 to 40 bytes, the input any steps (negative, zero, several), the output any place, padding and direction. Of
every tenth move all ways that the planner compared are taken. Threads share every move that has several tickets.
"""

import argparse
import math
import random
import sys

import numpy as np
from numpy.typing import NDArray

from cornerturn import transpose
from cornerturn.op.cpu import engine
from cornerturn.op.cpu.plan import Plan, plan_move
from cornerturn.op.strided_view import AnyArray, view_of

EXTENTS = (1, 2, 3, 4, 5, 7, 8, 12, 14, 16, 24, 33, 64, 70, 100, 130, 257)
DTYPES = ("u1", "u2", "u4", "u8", "c16", "V3", "V12", "V24", "V40")
STEPS = (1, 1, 1, 1, 1, 1, 1, 1, 2, 3, -1, -2, 0)
GUARD_BYTES, SPOILT = 512, 0xA5


def source(draw: random.Random, most: int) -> AnyArray:
    """Return an array of random bits, strided in any way, its axes in random order."""
    item, shape = np.dtype(draw.choice(DTYPES)), [1]
    for _ in range(draw.randint(1, 6)):
        extent = draw.choice(EXTENTS)
        shape.append(extent if math.prod(shape) * extent * item.itemsize <= most else 1)
    steps = [draw.choice(STEPS) for _ in shape]
    whole = [extent * abs(step) if step else 1 for extent, step in zip(shape, steps, strict=True)]
    bits = np.frombuffer(draw.randbytes(math.prod(whole) * item.itemsize), item).reshape(whole)
    stepped = bits[tuple(slice(None, None, step or 1) for step in steps)]
    return np.broadcast_to(stepped, shape).transpose(draw.sample(range(len(shape)), len(shape)))


def target(draw: random.Random, shape: tuple[int, ...], item: np.dtype) -> tuple[NDArray[np.uint8], AnyArray]:
    """Return spoilt memory, and an output within it."""
    padded = (*shape[:-1], shape[-1] + draw.choice((0, 0, 0, 1, 5)))
    memory = np.full(math.prod(padded) * item.itemsize + 2 * GUARD_BYTES + 64, SPOILT, np.uint8)
    start = GUARD_BYTES + draw.choice((-memory.ctypes.data % 64, draw.randrange(64)))
    out = np.ndarray(padded, item, memory.data, start)[..., : shape[-1]]
    if draw.random() < 0.15:
        axis = draw.randrange(out.ndim)
        out = out[(*(slice(None),) * axis, slice(None, None, -1))]
    return memory, out


def is_right(memory: NDArray[np.uint8], out: AnyArray, expected: bytes) -> bool:
    """Return whether ``out`` has the expected bits and all other memory is as spoilt as before; spoil it again."""
    right = out.tobytes() == expected
    out[...] = np.frombuffer(bytes([SPOILT]) * out.dtype.itemsize, out.dtype)[0]
    right = right and bool((memory == SPOILT).all())
    memory[:] = SPOILT
    return right


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--moves", type=int, default=33_334)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--bytes", type=int, default=1 << 17, help="of an array at most")
    options = parser.parse_args()
    engine.thread_count = engine.idle_processors = lambda: options.threads
    engine.THREAD_NANOSECONDS = 1
    draw, wrong, ways = random.Random(options.seed), 0, 0
    for number in range(options.moves):
        x = source(draw, options.bytes)
        memory, out = target(draw, x.shape, x.dtype)
        expected = np.ascontiguousarray(x).tobytes()
        transpose(x, tuple(range(x.ndim)), out=out)
        wrong += not is_right(memory, out, expected)
        ways += 1
        if number % 10 == 0:
            views = view_of(x), view_of(out)
            plan = plan_move(*views)
            for way in plan.candidates:
                engine.run(Plan(plan.problem, (way,)), views[0].pointer, views[1].pointer)
                wrong += not is_right(memory, out, expected)
                ways += 1
    print(f"{options.moves} moves, {ways} in all ways, {options.threads} threads, seed {options.seed}: {wrong} wrong")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
