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
    copy_run,
    fence,
    gather_vector,
    move,
    number,
    take_ticket,
    transpose_tile,
)

Fill = Callable[[int, int, int, int], None]

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

    def fill(start: int, goal: int, job: int, loop: int) -> None:
        rows, rows_at = number(job, ROWS), job + 8 * number(job, ROWS_AT)
        cols, cols_at = number(job, COLS), job + 8 * number(job, COLS_AT)
        if number(job, SMALL):
            for top in range(0, rows, small):
                row = min(top, rows - small)
                for left in range(0, cols, small):
                    col = min(left, cols - small)
                    there, below = goal + row * item, cols_at + 8 * col
                    transpose_tile(start + col * item, rows_at + 8 * row, there, below, item, small)
        else:
            for top in range(0, rows, side):
                row = min(top, rows - side)
                for left in range(0, cols, side):
                    col = min(left, cols - side)
                    there, below = goal + row * item, cols_at + 8 * col
                    transpose_tile(start + col * item, rows_at + 8 * row, there, below, item, side)

    return _kernel(f"tiles_{item}", fill)


def records(width: int) -> Callable[..., None]:
    """Return the kernel that moves records of bytes that stay together, ``width`` bytes at a time.

    A record that is no multiple of ``width`` takes along what follows it, which the next record overwrites.
    """

    def fill(start: int, goal: int, job: int, loop: int) -> None:
        count, table, nbytes = number(job, RECORDS), job + 8 * number(job, RECORDS_AT), number(job, RECORD_BYTES)
        if nbytes == width:
            for index in range(count):
                move(start + number(table, index), goal + index * width, width, 0)
            return
        safe = number(job, SAFE) - loop
        for index in range(count):
            offset = number(table, index)
            if offset <= safe:
                for done in range(0, nbytes, width):
                    move(start + offset + done, goal + done, width, 0)
            else:
                copy_run(start + offset, goal, nbytes, 0)
            goal += nbytes

    return _kernel(f"records_{width}", fill)


def vectors() -> Callable[..., None]:
    """Return the kernel that puts each vector of the output together out of a few of the input, byte by byte."""

    def fill(start: int, goal: int, job: int, loop: int) -> None:
        count, sources = number(job, VECTORS), number(job, SOURCES)
        table, masks = job + 8 * number(job, VECTORS_AT), job + 8 * number(job, MASKS_AT)
        if sources == 1:
            for _ in range(count):
                gather_vector(start, table + 8, masks, 1, goal + number(table, 0))
                table, masks = table + 16, masks + VECTOR
        elif sources == 2:
            for _ in range(count):
                gather_vector(start, table + 8, masks, 2, goal + number(table, 0))
                table, masks = table + 24, masks + 2 * VECTOR
        elif sources == 3:
            for _ in range(count):
                gather_vector(start, table + 8, masks, 3, goal + number(table, 0))
                table, masks = table + 32, masks + 3 * VECTOR
        else:
            for _ in range(count):
                gather_vector(start, table + 8, masks, sources, goal + number(table, 0))
                table, masks = table + 8 * (1 + sources), masks + sources * VECTOR

    return _kernel("vectors", fill)


def runs() -> Callable[..., None]:
    """Return the kernel that copies runs of RUN_BYTES, from the input to the output."""

    def fill(start: int, goal: int, job: int, loop: int) -> None:
        copy_run(start, goal, number(job, RUN_BYTES), number(job, STREAM))

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
        loops, loops_at = number(job, LOOPS), number(job, LOOPS_AT)
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
                base = scratch if runs else target + offset_out
                for loop in range(loops_at, loops_at + 2 * loops, 2):
                    skipped = number(job, loop)
                    fill(source + offset_in + skipped, base + number(job, loop + 1), job, skipped)
                if runs:
                    leave(job, scratch, target + offset_out, edge, source + next_in if next_in != offset_in else 0)
                offset_in, offset_out, edge = next_in, next_out, next_edge
            box = boxes if counter == 0 else take_ticket(counter) * step
        if number(job, STREAM):
            fence()

    kernel.__qualname__ = name
    return kernel
