"""The CPU kernels: a box of the array is filled in the output's order, then leaves as whole lines.

One skeleton draws tickets and walks over boxes; what differs is how a box is filled. Which elements belong to it, where
they lie and where they go stands in tables, so that a kernel knows no shape, no rank and no stride.
"""

from collections.abc import Callable
from typing import Any

from cornerturn.op.cpu.job import (
    BOXES,
    BOXES_STEP,
    FILL,
    LOOPS,
    LOOPS_AT,
    OFFSET_IN,
    OFFSET_OUT,
    REFERENCE,
    RUN_BYTES,
    RUNS,
    STREAM,
    leave,
    place,
)
from cornerturn.op.cpu.vectors import (
    VECTOR,
    compiled,
    copy_bytes,
    copy_run,
    fence,
    gather_vector,
    move,
    number,
    take_ticket,
    transpose_tile,
)

Fill = Callable[[int, int, int], None]

# What a way of filling reads of the job. Tiles:
ROWS, ROWS_AT, COLS, COLS_AT, SMALL = range(FILL, FILL + 5)
# Records:
RECORDS, RECORDS_AT, RECORD_BYTES, SAFE = range(FILL, FILL + 4)
# Vectors:
VECTORS, VECTORS_AT, SOURCES, MASKS_AT = range(FILL, FILL + 4)


def tiles(item: int, side: int, small: int) -> Callable[..., None]:
    """Return the kernel that transposes squares in registers, of ``side`` or of ``small`` rows.

    The box is a matrix: ROWS, each at an offset of the input, hold COLS elements that follow each other there; the
    columns, each at an offset of the output, hold elements that follow each other there. Squares at an edge are moved
    inwards and move some elements twice, so that none is ever partial.
    """

    def fill(source: int, target: int, job: int) -> None:
        rows, rows_at = number(job, ROWS), job + 8 * number(job, ROWS_AT)
        cols, cols_at = number(job, COLS), job + 8 * number(job, COLS_AT)
        loop, end = number(job, LOOPS_AT), number(job, LOOPS_AT) + 2 * number(job, LOOPS)
        if number(job, SMALL):
            while loop < end:
                start, goal = source + number(job, loop), target + number(job, loop + 1)
                for top in range(0, rows, small):
                    row = min(top, rows - small)
                    for left in range(0, cols, small):
                        col = min(left, cols - small)
                        there, below = goal + row * item, cols_at + 8 * col
                        transpose_tile(start + col * item, rows_at + 8 * row, there, below, item, small)
                loop += 2
        else:
            while loop < end:
                start, goal = source + number(job, loop), target + number(job, loop + 1)
                for top in range(0, rows, side):
                    row = min(top, rows - side)
                    for left in range(0, cols, side):
                        col = min(left, cols - side)
                        there, below = goal + row * item, cols_at + 8 * col
                        transpose_tile(start + col * item, rows_at + 8 * row, there, below, item, side)
                loop += 2

    return _kernel(f"tiles_{item}", fill)


def records(width: int) -> Callable[..., None]:
    """Return the kernel that moves records of bytes that stay together, ``width`` bytes at a time.

    A shorter record takes along what follows it, which the next record overwrites. Of a longer one the last move ends
    where the record does, and may write some bytes again.
    """

    def fill(source: int, target: int, job: int) -> None:
        count, table, nbytes = number(job, RECORDS), job + 8 * number(job, RECORDS_AT), number(job, RECORD_BYTES)
        loop, end = number(job, LOOPS_AT), number(job, LOOPS_AT) + 2 * number(job, LOOPS)
        safe, last = source + number(job, SAFE), nbytes - width
        while loop < end:
            start, goal = source + number(job, loop), target + number(job, loop + 1)
            if last == 0:
                for index in range(count):
                    move(start + number(table, index), goal + index * width, width, 0)
            elif last < 0:
                for index in range(count):
                    record = start + number(table, index)
                    if record <= safe:
                        move(record, goal, width, 0)
                    else:
                        copy_run(record, goal, nbytes, 0)
                    goal += nbytes
            elif last <= width:
                for index in range(count):
                    record = start + number(table, index)
                    move(record, goal, width, 0)
                    move(record + last, goal + last, width, 0)
                    goal += nbytes
            else:
                for index in range(count):
                    record = start + number(table, index)
                    for done in range(0, last, width):
                        move(record + done, goal + done, width, 0)
                    move(record + last, goal + last, width, 0)
                    goal += nbytes
            loop += 2

    return _kernel(f"records_{width}", fill)


def vectors() -> Callable[..., None]:
    """Return the kernel that puts each vector of the output together out of a few of the input, byte by byte."""

    def fill(source: int, target: int, job: int) -> None:
        sources, size = number(job, SOURCES), 8 * (1 + number(job, SOURCES))
        first, last = job + 8 * number(job, VECTORS_AT), job + 8 * number(job, VECTORS_AT) + number(job, VECTORS) * size
        loop, end = number(job, LOOPS_AT), number(job, LOOPS_AT) + 2 * number(job, LOOPS)
        while loop < end:
            start, goal = source + number(job, loop), target + number(job, loop + 1)
            table, masks = first, job + 8 * number(job, MASKS_AT)
            if sources == 1:
                while table < last:
                    gather_vector(start, table + 8, masks, 1, goal + number(table, 0))
                    table, masks = table + 16, masks + VECTOR
            elif sources == 2:
                while table < last:
                    gather_vector(start, table + 8, masks, 2, goal + number(table, 0))
                    table, masks = table + 24, masks + 2 * VECTOR
            elif sources == 3:
                while table < last:
                    gather_vector(start, table + 8, masks, 3, goal + number(table, 0))
                    table, masks = table + 32, masks + 3 * VECTOR
            else:
                while table < last:
                    gather_vector(start, table + 8, masks, sources, goal + number(table, 0))
                    table, masks = table + size, masks + sources * VECTOR
            loop += 2

    return _kernel("vectors", fill)


def runs() -> Callable[..., None]:
    """Return the kernel that copies runs of RUN_BYTES, from the input to the output."""

    def fill(source: int, target: int, job: int) -> None:
        nbytes, stream = number(job, RUN_BYTES), number(job, STREAM)
        loop, end = number(job, LOOPS_AT), number(job, LOOPS_AT) + 2 * number(job, LOOPS)
        if stream:
            while loop < end:
                copy_run(source + number(job, loop), target + number(job, loop + 1), nbytes, 1)
                loop += 2
        else:
            while loop < end:
                copy_bytes(source + number(job, loop), target + number(job, loop + 1), nbytes)
                loop += 2

    return _kernel("runs", fill)


def _kernel(name: str, way: Fill) -> Callable[..., None]:
    """Return the kernel that fills boxes in one way.

    Numba makes symbols of names: of two kernels with one name, one of them loaded from a file, one would run for both.
    """
    way.__qualname__ = f"fill_{name}"
    fill: Any = compiled(way)

    def kernel(source: int, target: int, job: int, counter: int, scratch: int) -> None:
        reference = number(job, REFERENCE)
        if reference:
            source, target = number(source + reference, 0), number(target + reference, 0)
        source += number(job, OFFSET_IN)
        target += number(job, OFFSET_OUT)
        boxes, step, runs = number(job, BOXES), number(job, BOXES_STEP), number(job, RUNS)
        if counter == 0:  # one thread does it all
            box, step = 0, boxes
        else:
            box = take_ticket(counter) * step
        while box < boxes:
            end = min(box + step, boxes)
            offset_in, offset_out, edge = place(job, box)
            while box < end:
                box += 1
                next_in, next_out, next_edge = offset_in, offset_out, edge
                if box < end:
                    next_in, next_out, next_edge = place(job, box)
                fill(source + offset_in, scratch if runs else target + offset_out, job)
                if runs:
                    leave(job, scratch, target + offset_out, edge, source + next_in if next_in != offset_in else 0)
                offset_in, offset_out, edge = next_in, next_out, next_edge
            box = boxes if counter == 0 else take_ticket(counter) * step
        if number(job, STREAM):
            fence()

    kernel.__qualname__ = name
    return kernel
