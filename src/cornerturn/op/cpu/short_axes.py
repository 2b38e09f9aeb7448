"""Kernels for one short axis that is dense in memory: de-interleave (N x 3 to 3 x N) and interleave (3 x N to N x 3).

A line of each of n rows becomes n consecutive lines by shuffles in registers, or the other way round, through
scratch memory, so that long runs leave it whatever their alignment. The last step of an axis is moved inwards and
repeats some elements, hence the long axis holds at least one line.
"""

from functools import cache

from cornerturn.op.cpu.job import COL_OUT, HEIGHT, ROW_IN, ROWS, RUN, STREAM, TICKETS, WALK_IN, WALK_OUT, piece
from cornerturn.op.cpu.vectors import (
    LINE,
    Counter,
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
    def kernel(source: int, target: int, job: Job, counter: Counter, scratch: int) -> None:
        tickets, walk_in, walk_out, rows, height = job[TICKETS], job[WALK_IN], job[WALK_OUT], job[ROWS], job[HEIGHT]
        col_out, stream = job[COL_OUT], job[STREAM]
        pitch = height * item + LINE
        ticket = take_ticket(counter)
        while ticket < tickets:
            offset_in, offset_out, strip, strip_end, walk_begin, walk_end, _, _ = piece(job, ticket)
            for walk in range(walk_begin, walk_end):
                start = source + offset_in + walk * walk_in
                goal = target + offset_out + walk * walk_out
                for first in range(strip * height, min(strip_end * height, rows), height):
                    last = min(first + height, rows)
                    origin = min(first, last - lanes)
                    for place in range(origin, last, lanes):
                        row = min(place, last - lanes)
                        lines = scratch + (row - origin) * item
                        deinterleave_lines(start + row * cols * item, lines, pitch, item, cols)
                    for col in range(cols):
                        run = scratch + col * pitch + (first - origin) * item
                        copy_run(run, goal + col * col_out + first * item, (last - first) * item, stream)
            ticket = take_ticket(counter)
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
    def kernel(source: int, target: int, job: Job, counter: Counter, scratch: int) -> None:
        tickets, walk_in, walk_out = job[TICKETS], job[WALK_IN], job[WALK_OUT]
        row_in, step, stream = job[ROW_IN], job[RUN], job[STREAM]
        ticket = take_ticket(counter)
        while ticket < tickets:
            offset_in, offset_out, _, _, walk_begin, walk_end, begin, end = piece(job, ticket)
            for walk in range(walk_begin, walk_end):
                start = source + offset_in + walk * walk_in
                goal = target + offset_out + walk * walk_out
                for first in range(begin, end, step):
                    last = min(first + step, end)
                    origin = min(first, last - lanes)
                    for place in range(origin, last, lanes):
                        col = min(place, last - lanes)
                        lines = scratch + (col - origin) * packed
                        interleave_lines(start + col * item, row_in, lines, item, rows)
                    run = scratch + (first - origin) * packed
                    copy_run(run, goal + first * packed, (last - first) * packed, stream)
            ticket = take_ticket(counter)
        fence()

    return kernel
