"""Kernels that keep runs of bytes together, and the one that moves every element on its own."""

from functools import cache

from cornerturn.op.cpu.job import (
    COL_IN,
    COL_OUT,
    HEIGHT,
    REACH,
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
from cornerturn.op.cpu.vectors import LINE, Counter, Job, Kernel, compiled, copy_run, fence, move, take_ticket


@cache
def long_runs() -> Kernel:
    """Return the kernel for long runs: a row is one run, its columns are bytes."""

    @compiled
    def kernel(source: int, target: int, job: Job, counter: Counter, scratch: int) -> None:
        tickets, walk_in, walk_out = job[TICKETS], job[WALK_IN], job[WALK_OUT]
        row_in, row_out, stream = job[ROW_IN], job[ROW_OUT], job[STREAM]
        ticket = take_ticket(counter)
        while ticket < tickets:
            offset_in, offset_out, first, last, walk_begin, walk_end, begin, end = piece(job, ticket)
            for walk in range(walk_begin, walk_end):
                start = source + offset_in + walk * walk_in + begin
                goal = target + offset_out + walk * walk_out + begin
                for row in range(first, last):
                    copy_run(start + row * row_in, goal + row * row_out, end - begin, stream)
            ticket = take_ticket(counter)
        fence()

    return kernel


@cache
def line_runs() -> Kernel:
    """Return the kernel for runs of whole lines, RUN bytes each, that start a line of the output."""

    @compiled
    def kernel(source: int, target: int, job: Job, counter: Counter, scratch: int) -> None:
        tickets, walk_in, walk_out, rows, height = job[TICKETS], job[WALK_IN], job[WALK_OUT], job[ROWS], job[HEIGHT]
        row_in, row_out, col_in, col_out, run = job[ROW_IN], job[ROW_OUT], job[COL_IN], job[COL_OUT], job[RUN]
        ticket = take_ticket(counter)
        while ticket < tickets:
            offset_in, offset_out, strip, strip_end, walk_begin, walk_end, begin, end = piece(job, ticket)
            for first in range(strip * height, min(strip_end * height, rows), height):
                last = min(first + height, rows)
                for walk in range(walk_begin, walk_end):
                    start = source + offset_in + walk * walk_in
                    goal = target + offset_out + walk * walk_out
                    for col in range(begin, end):
                        for row in range(first, last):
                            run_in = start + row * row_in + col * col_in
                            run_out = goal + row * row_out + col * col_out
                            for done in range(0, run, LINE):
                                move(run_in + done, run_out + done, LINE, 1)
            ticket = take_ticket(counter)
        fence()

    return kernel


@cache
def cached_runs(item: int) -> Kernel:
    """Return the kernel for runs of elements, RUN bytes each, into outputs that the caches hold."""

    @compiled
    def kernel(source: int, target: int, job: Job, counter: Counter, scratch: int) -> None:
        tickets, walk_in, walk_out, rows, height = job[TICKETS], job[WALK_IN], job[WALK_OUT], job[ROWS], job[HEIGHT]
        row_in, row_out, col_in, col_out, run = job[ROW_IN], job[ROW_OUT], job[COL_IN], job[COL_OUT], job[RUN]
        ticket = take_ticket(counter)
        while ticket < tickets:
            offset_in, offset_out, strip, strip_end, walk_begin, walk_end, begin, end = piece(job, ticket)
            for first in range(strip * height, min(strip_end * height, rows), height):
                last = min(first + height, rows)
                for walk in range(walk_begin, walk_end):
                    start = source + offset_in + walk * walk_in
                    goal = target + offset_out + walk * walk_out
                    for col in range(begin, end):
                        for row in range(first, last):
                            run_in = start + row * row_in + col * col_in
                            run_out = goal + row * row_out + col * col_out
                            if run >= LINE:
                                copy_run(run_in, run_out, run, 0)
                            else:
                                for done in range(0, run, item):
                                    move(run_in + done, run_out + done, item, 0)
            ticket = take_ticket(counter)

    return kernel


@cache
def gathered_runs(width: int) -> Kernel:
    """Return the kernel for short runs, RUN bytes each; the rows of a strip follow each other in the output.

    The runs of one strip meet in scratch memory and leave it as one. They are read ``width`` bytes at a time, where the
    input goes on long enough beyond their ends.
    """

    @compiled
    def kernel(source: int, target: int, job: Job, counter: Counter, scratch: int) -> None:
        tickets, walk_in, walk_out, rows, height = job[TICKETS], job[WALK_IN], job[WALK_OUT], job[ROWS], job[HEIGHT]
        row_in, row_out, col_in, col_out, run = job[ROW_IN], job[ROW_OUT], job[COL_IN], job[COL_OUT], job[RUN]
        stream = job[STREAM]
        safe_end = source + job[REACH] - (run + width - 1) // width * width
        ticket = take_ticket(counter)
        while ticket < tickets:
            offset_in, offset_out, strip, strip_end, walk_begin, walk_end, begin, end = piece(job, ticket)
            for first in range(strip * height, min(strip_end * height, rows), height):
                last = min(first + height, rows)
                for walk in range(walk_begin, walk_end):
                    start = source + offset_in + walk * walk_in
                    goal = target + offset_out + walk * walk_out + first * row_out
                    for col in range(begin, end):
                        filled = scratch
                        for row in range(first, last):
                            run_in = start + row * row_in + col * col_in
                            if run_in <= safe_end:
                                for done in range(0, run, width):
                                    move(run_in + done, filled + done, width, 0)
                            else:
                                copy_run(run_in, filled, run, 0)
                            filled += run
                        copy_run(scratch, goal + col * col_out, filled - scratch, stream)
            ticket = take_ticket(counter)
        fence()

    return kernel


@cache
def single_elements(item: int) -> Kernel:
    """Return the kernel for any strides: blocks of rows and columns, small enough for the first cache."""

    @compiled
    def kernel(source: int, target: int, job: Job, counter: Counter, scratch: int) -> None:
        tickets, walk_in, walk_out, rows, height = job[TICKETS], job[WALK_IN], job[WALK_OUT], job[ROWS], job[HEIGHT]
        row_in, row_out, col_in, col_out = job[ROW_IN], job[ROW_OUT], job[COL_IN], job[COL_OUT]
        ticket = take_ticket(counter)
        while ticket < tickets:
            offset_in, offset_out, strip, strip_end, walk_begin, walk_end, begin, end = piece(job, ticket)
            for first in range(strip * height, min(strip_end * height, rows), height):
                last = min(first + height, rows)
                for walk in range(walk_begin, walk_end):
                    start = source + offset_in + walk * walk_in
                    goal = target + offset_out + walk * walk_out
                    for col in range(begin, end):
                        for row in range(first, last):
                            move(
                                start + row * row_in + col * col_in,
                                goal + row * row_out + col * col_out,
                                item,
                                0,
                            )
            ticket = take_ticket(counter)

    return kernel
