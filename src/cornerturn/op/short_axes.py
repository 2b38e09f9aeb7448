"""Kernels for one short axis that is dense in memory: de-interleave (N x 3 to 3 x N) and interleave (3 x N to N x 3).

A line of each of n rows becomes n consecutive lines by shuffles in registers, or the other way round, through
scratch memory, so that long runs leave it whatever their alignment. The last step of an axis is moved inwards and
repeats some elements, hence the long axis holds at least one line.
"""

from functools import cache

from cornerturn.op.job import COL_OUT, HEIGHT, ROW_IN, ROWS, RUN, STREAM, TICKETS, WALK_IN, WALK_OUT, piece
from cornerturn.op.vectors import (
    LINE,
    Job,
    Kernel,
    compiled,
    copy_run,
    deinterleave_lines,
    fence,
    interleave_lines,
    take_ticket,
)


@cache
def deinterleave(item: int, cols: int) -> Kernel:
    """Return the kernel for ROWS x ``cols`` elements whose rows follow each other in the input.

    A strip becomes one run of each output row.
    """
    lanes = LINE // item

    @compiled
    def kernel(source: int, target: int, job: Job, counter: int, scratch: int) -> None:
        pitch = job[HEIGHT] * item + LINE
        while True:
            ticket = take_ticket(counter)
            if ticket >= job[TICKETS]:
                break
            offset_in, offset_out, strip, strip_end, walk_begin, walk_end, _, _ = piece(job, ticket)
            for walk in range(walk_begin, walk_end):
                start = source + offset_in + walk * job[WALK_IN]
                goal = target + offset_out + walk * job[WALK_OUT]
                for first in range(strip * job[HEIGHT], min(strip_end * job[HEIGHT], job[ROWS]), job[HEIGHT]):
                    last = min(first + job[HEIGHT], job[ROWS])
                    origin = min(first, last - lanes)
                    for place in range(origin, last, lanes):
                        row = min(place, last - lanes)
                        lines = scratch + (row - origin) * item
                        deinterleave_lines(start + row * cols * item, lines, pitch, item, cols)
                    for col in range(cols):
                        run = scratch + col * pitch + (first - origin) * item
                        copy_run(run, goal + col * job[COL_OUT] + first * item, (last - first) * item, job[STREAM])
        fence()

    return kernel


@cache
def interleave(item: int, rows: int) -> Kernel:
    """Return the kernel for ``rows`` x COLS elements whose columns follow each other in the output.

    RUN columns at a time become one run of the output.
    """
    lanes = LINE // item
    packed = rows * item

    @compiled
    def kernel(source: int, target: int, job: Job, counter: int, scratch: int) -> None:
        while True:
            ticket = take_ticket(counter)
            if ticket >= job[TICKETS]:
                break
            offset_in, offset_out, _, _, walk_begin, walk_end, begin, end = piece(job, ticket)
            for walk in range(walk_begin, walk_end):
                start = source + offset_in + walk * job[WALK_IN]
                goal = target + offset_out + walk * job[WALK_OUT]
                for first in range(begin, end, job[RUN]):
                    last = min(first + job[RUN], end)
                    origin = min(first, last - lanes)
                    for place in range(origin, last, lanes):
                        col = min(place, last - lanes)
                        lines = scratch + (col - origin) * packed
                        interleave_lines(start + col * item, job[ROW_IN], lines, item, rows)
                    run = scratch + (first - origin) * packed
                    copy_run(run, goal + first * packed, (last - first) * packed, job[STREAM])
        fence()

    return kernel
