"""Kernels that keep runs of bytes together, and the one that moves every element on its own."""

from functools import cache

from cornerturn.op.job import (
    COL_IN,
    COL_OUT,
    HEIGHT,
    ROW_IN,
    ROW_OUT,
    ROWS,
    RUN,
    STREAM,
    TICKETS,
    WALK_IN,
    WALK_OUT,
    piece,
)
from cornerturn.op.vectors import LINE, Job, Kernel, compiled, copy_run, fence, move, take_ticket


@cache
def long_runs() -> Kernel:
    """Return the kernel for long runs: a row is one run, its columns are bytes."""

    @compiled
    def kernel(source: int, target: int, job: Job, counter: int, scratch: int) -> None:
        while True:
            ticket = take_ticket(counter)
            if ticket >= job[TICKETS]:
                break
            offset_in, offset_out, first, last, walk_begin, walk_end, begin, end = piece(job, ticket)
            for walk in range(walk_begin, walk_end):
                start = source + offset_in + walk * job[WALK_IN] + begin
                goal = target + offset_out + walk * job[WALK_OUT] + begin
                for row in range(first, last):
                    copy_run(start + row * job[ROW_IN], goal + row * job[ROW_OUT], end - begin, job[STREAM])
        fence()

    return kernel


@cache
def line_runs() -> Kernel:
    """Return the kernel for runs of whole lines, RUN bytes each, that start a line of the output."""

    @compiled
    def kernel(source: int, target: int, job: Job, counter: int, scratch: int) -> None:
        while True:
            ticket = take_ticket(counter)
            if ticket >= job[TICKETS]:
                break
            offset_in, offset_out, strip, strip_end, walk_begin, walk_end, begin, end = piece(job, ticket)
            for first in range(strip * job[HEIGHT], min(strip_end * job[HEIGHT], job[ROWS]), job[HEIGHT]):
                last = min(first + job[HEIGHT], job[ROWS])
                for walk in range(walk_begin, walk_end):
                    start = source + offset_in + walk * job[WALK_IN]
                    goal = target + offset_out + walk * job[WALK_OUT]
                    for col in range(begin, end):
                        for row in range(first, last):
                            run_in = start + row * job[ROW_IN] + col * job[COL_IN]
                            run_out = goal + row * job[ROW_OUT] + col * job[COL_OUT]
                            for done in range(0, job[RUN], LINE):
                                move(run_in + done, run_out + done, LINE, 1)
        fence()

    return kernel


@cache
def gathered_runs(item: int) -> Kernel:
    """Return the kernel for short runs, RUN bytes each; the rows of a strip follow each other in the output.

    The runs of one strip meet in scratch memory and leave it as one.
    """

    @compiled
    def kernel(source: int, target: int, job: Job, counter: int, scratch: int) -> None:
        while True:
            ticket = take_ticket(counter)
            if ticket >= job[TICKETS]:
                break
            offset_in, offset_out, strip, strip_end, walk_begin, walk_end, begin, end = piece(job, ticket)
            for first in range(strip * job[HEIGHT], min(strip_end * job[HEIGHT], job[ROWS]), job[HEIGHT]):
                last = min(first + job[HEIGHT], job[ROWS])
                for walk in range(walk_begin, walk_end):
                    start = source + offset_in + walk * job[WALK_IN]
                    goal = target + offset_out + walk * job[WALK_OUT] + first * job[ROW_OUT]
                    for col in range(begin, end):
                        filled = scratch
                        for row in range(first, last):
                            run_in = start + row * job[ROW_IN] + col * job[COL_IN]
                            for done in range(0, job[RUN], item):
                                move(run_in + done, filled, item, 0)
                                filled += item
                        copy_run(scratch, goal + col * job[COL_OUT], filled - scratch, job[STREAM])
        fence()

    return kernel


@cache
def single_elements(item: int) -> Kernel:
    """Return the kernel for any strides: blocks of rows and columns, small enough for the first cache."""

    @compiled
    def kernel(source: int, target: int, job: Job, counter: int, scratch: int) -> None:
        while True:
            ticket = take_ticket(counter)
            if ticket >= job[TICKETS]:
                break
            offset_in, offset_out, strip, strip_end, walk_begin, walk_end, begin, end = piece(job, ticket)
            for first in range(strip * job[HEIGHT], min(strip_end * job[HEIGHT], job[ROWS]), job[HEIGHT]):
                last = min(first + job[HEIGHT], job[ROWS])
                for walk in range(walk_begin, walk_end):
                    start = source + offset_in + walk * job[WALK_IN]
                    goal = target + offset_out + walk * job[WALK_OUT]
                    for col in range(begin, end):
                        for row in range(first, last):
                            move(
                                start + row * job[ROW_IN] + col * job[COL_IN],
                                goal + row * job[ROW_OUT] + col * job[COL_OUT],
                                item,
                                0,
                            )

    return kernel
