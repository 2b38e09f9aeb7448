"""Kernels for two long axes: tiles transposed in registers.

A tile's rows are contiguous in the input and its columns in the output. A kernel walks along a strip of input rows:
a few streams that are read in order, which hardware prefetchers follow, while two whole lines at a time go to each
output row. Tiles at an edge are moved inwards and write some elements twice, so that none is ever partial; hence an
axis must be as long as the tile's.
"""

from functools import cache

from cornerturn.op.job import COL_OUT, COLS, ROW_IN, ROWS, STREAM, TICKETS, WALK_IN, WALK_OUT, piece
from cornerturn.op.vectors import (
    LINE,
    TILE_SCRATCH_BYTES,
    Job,
    Kernel,
    compiled,
    copy_run,
    fence,
    move,
    prefetch,
    take_ticket,
    transpose_tile,
)

RUN_LINES = 2  # lines that a strip gives to each output row, one after the other
STAGED_RUN_LINES = 8
_AHEAD = 2 * LINE  # bytes that prefetching runs ahead in each input row


@cache
def cached_tiles(item: int, rows: int, cols: int) -> Kernel:
    """Return the kernel for outputs that the caches hold, or whose rows are shorter than a line: plain stores."""
    height = rows * RUN_LINES

    @compiled
    def kernel(source: int, target: int, job: Job, counter: int, scratch: int) -> None:
        tickets, all_rows, walk_in, walk_out = job[TICKETS], job[ROWS], job[WALK_IN], job[WALK_OUT]
        last_row, last_col, row_in, col_out = job[ROWS] - rows, job[COLS] - cols, job[ROW_IN], job[COL_OUT]
        ticket = take_ticket(counter)
        while ticket < tickets:
            offset_in, offset_out, strip, strip_end, walk_begin, walk_end, begin, end = piece(job, ticket)
            for top in range(strip * height, strip_end * height, height):
                for walk in range(walk_begin, walk_end):
                    start = source + offset_in + walk * walk_in
                    goal = target + offset_out + walk * walk_out
                    for place in range(begin, end, cols):
                        col = min(place, last_col)
                        for line in range(top, min(top + height, all_rows), rows):
                            row = min(line, last_row)
                            tile_in = start + row * row_in + col * item
                            tile_out = goal + col * col_out + row * item
                            transpose_tile(tile_in, row_in, tile_out, col_out, scratch, item, rows, cols, 0)
            ticket = take_ticket(counter)

    return kernel


@cache
def packed_tiles(item: int, rows: int, cols: int) -> Kernel:
    """Return the kernel for short output rows that follow each other: ``cols`` of them meet in scratch memory."""

    @compiled
    def kernel(source: int, target: int, job: Job, counter: int, scratch: int) -> None:
        tickets, all_rows, walk_in, walk_out = job[TICKETS], job[ROWS], job[WALK_IN], job[WALK_OUT]
        last_row, last_col, row_in, col_out = job[ROWS] - rows, job[COLS] - cols, job[ROW_IN], job[COL_OUT]
        stream = job[STREAM]
        packed = scratch + TILE_SCRATCH_BYTES
        ticket = take_ticket(counter)
        while ticket < tickets:
            offset_in, offset_out, _, _, walk_begin, walk_end, begin, end = piece(job, ticket)
            for walk in range(walk_begin, walk_end):
                start = source + offset_in + walk * walk_in
                goal = target + offset_out + walk * walk_out
                for place in range(begin, end, cols):
                    col = min(place, last_col)
                    for line in range(0, all_rows, rows):
                        row = min(line, last_row)
                        tile_in = start + row * row_in + col * item
                        transpose_tile(tile_in, row_in, packed + row * item, col_out, scratch, item, rows, cols, 0)
                    copy_run(packed, goal + col * col_out, cols * col_out, stream)
            ticket = take_ticket(counter)
        fence()

    return kernel


@cache
def streaming_tiles(item: int, cols: int) -> Kernel:
    """Return the kernel that writes whole lines past the caches; lines start at the same place in every output row."""
    rows = LINE // item
    prefetching = cols * item == LINE

    @compiled
    def kernel(source: int, target: int, job: Job, counter: int, scratch: int) -> None:
        tickets, walk_in, walk_out = job[TICKETS], job[WALK_IN], job[WALK_OUT]
        last_row, last_col, row_in, col_out = job[ROWS] - rows, job[COLS] - cols, job[ROW_IN], job[COL_OUT]
        head = (-target & (LINE - 1)) // item  # rows above the first whole line
        lines = (job[ROWS] - head) // rows
        strips = (lines + RUN_LINES - 1) // RUN_LINES
        edge = head > 0 or lines * rows < job[ROWS]
        ticket = take_ticket(counter)
        while ticket < tickets:
            offset_in, offset_out, strip_begin, strip_end, walk_begin, walk_end, begin, end = piece(job, ticket)
            for strip in range(strip_begin, strip_end):
                for walk in range(walk_begin, walk_end):
                    start = source + offset_in + walk * walk_in
                    goal = target + offset_out + walk * walk_out
                    for place in range(begin, end, cols):
                        col = min(place, last_col)
                        tile_in = start + col * item
                        tile_out = goal + col * col_out
                        if strip < strips:
                            for line in range(strip * RUN_LINES, min((strip + 1) * RUN_LINES, lines)):
                                row = head + line * rows
                                here = tile_in + row * row_in
                                there = tile_out + row * item
                                if prefetching:
                                    for i in range(rows):
                                        prefetch(here + i * row_in + _AHEAD)
                                transpose_tile(here, row_in, there, col_out, scratch, item, rows, cols, 1)
                        elif edge and strip == strips:
                            for side in range(2):
                                here = tile_in + side * last_row * row_in
                                there = tile_out + side * last_row * item
                                transpose_tile(here, row_in, there, col_out, scratch, item, rows, cols, 0)
            ticket = take_ticket(counter)
        fence()

    return kernel


@cache
def staged_tiles(item: int, cols: int) -> Kernel:
    """Return the kernel for output rows whose lines start at different places.

    A strip is one tile taller than what it writes. Its tiles meet in scratch memory, and from each row of that the
    whole lines of the output row are cut, wherever they start. The next strip reads the last tile again.
    """
    rows = LINE // item
    pitch = (STAGED_RUN_LINES + 1) * LINE
    prefetching = cols * item == LINE

    @compiled
    def kernel(source: int, target: int, job: Job, counter: int, scratch: int) -> None:
        tickets, walk_in, walk_out = job[TICKETS], job[WALK_IN], job[WALK_OUT]
        last_row, last_col, row_in, col_out = job[ROWS] - rows, job[COLS] - cols, job[ROW_IN], job[COL_OUT]
        stage = scratch + TILE_SCRATCH_BYTES
        spare = job[ROWS] // rows - 1  # whole lines that every output row has, wherever it starts
        strips = (spare + STAGED_RUN_LINES - 1) // STAGED_RUN_LINES
        ticket = take_ticket(counter)
        while ticket < tickets:
            offset_in, offset_out, strip_begin, strip_end, walk_begin, walk_end, begin, end = piece(job, ticket)
            for strip in range(strip_begin, strip_end):
                top = strip * STAGED_RUN_LINES * rows
                lines = min(STAGED_RUN_LINES, spare - strip * STAGED_RUN_LINES)
                for walk in range(walk_begin, walk_end):
                    start = source + offset_in + walk * walk_in
                    goal = target + offset_out + walk * walk_out
                    for place in range(begin, end, cols):
                        col = min(place, last_col)
                        tile_in = start + col * item
                        tile_out = goal + col * col_out
                        if strip < strips:
                            for line in range(lines + 1):
                                here = tile_in + (top + line * rows) * row_in
                                if prefetching:
                                    for i in range(rows):
                                        prefetch(here + i * row_in + _AHEAD)
                                there = stage + line * LINE
                                transpose_tile(here, row_in, there, pitch, scratch, item, rows, cols, 0)
                            for i in range(cols):
                                run = tile_out + i * col_out + top * item
                                shift = -run & (LINE - 1)
                                for line in range(lines):
                                    move(stage + i * pitch + shift + line * LINE, run + shift + line * LINE, LINE, 1)
                        elif strip == strips:
                            for edge in range(3):
                                row = last_row if edge == 2 else edge * spare * rows
                                here = tile_in + row * row_in
                                there = tile_out + row * item
                                transpose_tile(here, row_in, there, col_out, scratch, item, rows, cols, 0)
            ticket = take_ticket(counter)
        fence()

    return kernel
