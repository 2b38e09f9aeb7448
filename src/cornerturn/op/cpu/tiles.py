"""Kernels for two long axes: tiles transposed in registers.

A tile's rows are contiguous in the input and its columns in the output. The memory wants two things: input rows that
are read in order, a few at a time, which hardware prefetchers follow, and some whole lines for each output row, one
after the other. Tiles at an edge are moved inwards and write some elements twice, so that none is ever partial; hence
an axis must be as long as the tile's.
"""

from functools import cache

from cornerturn.op.cpu.job import COL_OUT, COLS, HEIGHT, ROW_IN, ROWS, RUN, STREAM, TICKETS, WALK_IN, WALK_OUT, piece
from cornerturn.op.cpu.vectors import (
    LINE,
    TILE_SCRATCH_BYTES,
    Counter,
    Job,
    Kernel,
    compiled,
    copy_run,
    exchange_rows,
    fence,
    move,
    prefetch,
    take_ticket,
    transpose_tile,
)

_AHEAD = 2 * LINE  # bytes that prefetching runs ahead in each input row
_GROUP = 4  # input rows that a block reads side by side


@cache
def cached_tiles(item: int, rows: int, cols: int) -> Kernel:
    """Return the kernel for outputs that the caches hold, or whose rows are shorter than a line: plain stores."""

    @compiled
    def kernel(source: int, target: int, job: Job, counter: Counter, scratch: int) -> None:
        tickets, all_rows, walk_in, walk_out = job[TICKETS], job[ROWS], job[WALK_IN], job[WALK_OUT]
        last_row, last_col, row_in, col_out = job[ROWS] - rows, job[COLS] - cols, job[ROW_IN], job[COL_OUT]
        height = job[HEIGHT]
        shift = (target & (rows * item - 1)) // item  # tiles start where a line of the first output row does
        ticket = take_ticket(counter)
        while ticket < tickets:
            offset_in, offset_out, strip, strip_end, walk_begin, walk_end, begin, end = piece(job, ticket)
            for top in range(strip * height, strip_end * height, height):
                for walk in range(walk_begin, walk_end):
                    start = source + offset_in + walk * walk_in
                    goal = target + offset_out + walk * walk_out
                    for place in range(begin, end, cols):
                        col = min(place, last_col)
                        for line in range(top, min(top + height, all_rows + shift), rows):
                            row = min(max(line - shift, 0), last_row)
                            tile_in = start + row * row_in + col * item
                            tile_out = goal + col * col_out + row * item
                            transpose_tile(tile_in, row_in, tile_out, col_out, scratch, item, rows, cols, 0, 0)
            ticket = take_ticket(counter)

    return kernel


@cache
def packed_tiles(item: int, rows: int, cols: int) -> Kernel:
    """Return the kernel for short output rows that follow each other: ``cols`` of them meet in scratch memory."""

    @compiled
    def kernel(source: int, target: int, job: Job, counter: Counter, scratch: int) -> None:
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
                        transpose_tile(tile_in, row_in, packed + row * item, col_out, scratch, item, rows, cols, 0, 0)
                    copy_run(packed, goal + col * col_out, cols * col_out, stream)
            ticket = take_ticket(counter)
        fence()

    return kernel


@cache
def streaming_tiles(item: int, cols: int) -> Kernel:
    """Return the kernel that writes whole lines past the caches; lines start at the same place in every output row.

    It walks along a strip of input rows, tile by tile.
    """
    rows = LINE // item
    ahead = _AHEAD if cols == rows else 0

    @compiled
    def kernel(source: int, target: int, job: Job, counter: Counter, scratch: int) -> None:
        tickets, walk_in, walk_out = job[TICKETS], job[WALK_IN], job[WALK_OUT]
        last_row, last_col, row_in, col_out = job[ROWS] - rows, job[COLS] - cols, job[ROW_IN], job[COL_OUT]
        strip_lines = job[HEIGHT] // rows  # whole lines that a strip writes of each output row
        head = (-target & (LINE - 1)) // item  # rows above the first whole line
        lines = (job[ROWS] - head) // rows
        strips = (lines + strip_lines - 1) // strip_lines
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
                            for line in range(strip * strip_lines, min((strip + 1) * strip_lines, lines)):
                                row = head + line * rows
                                here = tile_in + row * row_in
                                there = tile_out + row * item
                                transpose_tile(here, row_in, there, col_out, scratch, item, rows, cols, ahead, 1)
                        elif edge and strip == strips:
                            for side in range(2):
                                here = tile_in + side * last_row * row_in
                                there = tile_out + side * last_row * item
                                transpose_tile(here, row_in, there, col_out, scratch, item, rows, cols, 0, 0)
            ticket = take_ticket(counter)
        fence()

    return kernel


@cache
def blocked_tiles(item: int) -> Kernel:
    """Return the kernel that does the same for input rows which fall on each other in the caches.

    A strip of small elements reads many rows side by side; where their pitch is a large power of two they meet in a few
    sets of each cache and push each other out. So the first stage reads a few rows at a time, RUN columns of each,
    and leaves half-transposed tiles in scratch memory; the second stage finishes and writes them.
    """
    rows = LINE // item
    every = rows // _GROUP

    @compiled
    def kernel(source: int, target: int, job: Job, counter: Counter, scratch: int) -> None:
        tickets, walk_in, walk_out, run = job[TICKETS], job[WALK_IN], job[WALK_OUT], job[RUN]
        last_row, last_col, row_in, col_out = job[ROWS] - rows, job[COLS] - rows, job[ROW_IN], job[COL_OUT]
        strip_lines = job[HEIGHT] // rows  # whole lines that a strip writes of each output row
        head = (-target & (LINE - 1)) // item  # rows above the first whole line
        lines = (job[ROWS] - head) // rows
        strips = (lines + strip_lines - 1) // strip_lines
        edge = head > 0 or lines * rows < job[ROWS]
        tile = strip_lines * rows * LINE
        ticket = take_ticket(counter)
        while ticket < tickets:
            offset_in, offset_out, strip_begin, strip_end, walk_begin, walk_end, begin, end = piece(job, ticket)
            for strip in range(strip_begin, strip_end):
                top = head + strip * strip_lines * rows
                height = min(strip_lines, lines - strip * strip_lines) * rows
                for walk in range(walk_begin, walk_end):
                    start = source + offset_in + walk * walk_in
                    goal = target + offset_out + walk * walk_out
                    for block in range(begin, end, run):
                        block_end = min(block + run, end)
                        for row in range(0, height, _GROUP):
                            here = start + (top + row) * row_in
                            there = scratch + row * LINE
                            below = (
                                _GROUP * row_in if row + _GROUP < height else run * item + (_GROUP - height) * row_in
                            )
                            tile_in, last_in = here + min(block, last_col) * item, here + last_col * item
                            for _ in range(block, block_end, rows):
                                for i in range(_GROUP):
                                    prefetch(tile_in + below + i * row_in)
                                exchange_rows(tile_in, row_in, there, LINE, item, _GROUP, 1, 0)
                                tile_in = min(tile_in + LINE, last_in)
                                there += tile
                        there = scratch
                        for place in range(block, block_end, rows):
                            tile_out = goal + min(place, last_col) * col_out + top * item
                            for i in range(_GROUP):
                                for line in range(0, height, rows):
                                    exchange_rows(
                                        there + (line + i) * LINE,
                                        _GROUP * LINE,
                                        tile_out + i * col_out + line * item,
                                        _GROUP * col_out,
                                        item,
                                        every,
                                        _GROUP,
                                        1,
                                    )
                            there += tile
                        if edge and strip == strips:
                            for place in range(block, block_end, rows):
                                for side in range(2):
                                    col = min(place, last_col)
                                    here = start + side * last_row * row_in + col * item
                                    there = goal + side * last_row * item + col * col_out
                                    transpose_tile(here, row_in, there, col_out, scratch, item, rows, rows, 0, 0)
            ticket = take_ticket(counter)
        fence()

    return kernel


@cache
def staged_tiles(item: int) -> Kernel:
    """Return the kernel for output rows whose lines start at different places.

    It works in blocks too, and down them. A finished run of each output row passes through scratch memory, where the
    whole lines of that row are cut out, wherever they start; what is left over of the last line is carried to the next
    strip.
    """
    rows = LINE // item
    group = min(_GROUP, rows)
    every = rows // group

    @compiled
    def kernel(source: int, target: int, job: Job, counter: Counter, scratch: int) -> None:
        tickets, walk_in, walk_out, run = job[TICKETS], job[WALK_IN], job[WALK_OUT], job[RUN]
        last_row, last_col, row_in, col_out = job[ROWS] - rows, job[COLS] - rows, job[ROW_IN], job[COL_OUT]
        strip_lines = job[HEIGHT] // rows
        pitch = (strip_lines + 1) * LINE
        lines = job[ROWS] // rows - 1  # whole lines that every output row has, wherever it starts
        strips = (lines + strip_lines - 1) // strip_lines
        tile = strip_lines * rows * LINE
        carried = scratch + run // rows * tile
        finished = carried + run * LINE
        ticket = take_ticket(counter)
        while ticket < tickets:
            offset_in, offset_out, strip_begin, strip_end, walk_begin, walk_end, begin, end = piece(job, ticket)
            for walk in range(walk_begin, walk_end):
                start = source + offset_in + walk * walk_in
                goal = target + offset_out + walk * walk_out
                for strip in range(strip_begin, strip_end):
                    first = strip * strip_lines * rows
                    height = min(strip_lines, lines - strip * strip_lines) * rows
                    top = first + rows
                    if strip == strip_begin and height > 0:
                        there = carried
                        for place in range(begin, end, rows):
                            here = start + first * row_in + min(place, last_col) * item
                            transpose_tile(here, row_in, there, LINE, scratch, item, rows, rows, 0, 0)
                            there += rows * LINE
                    for row in range(0, height, group):
                        here = start + (top + row) * row_in
                        there = scratch + row * LINE
                        tile_in, last_in = here + min(begin, last_col) * item, here + last_col * item
                        for _ in range(begin, end, rows):
                            for i in range(group):
                                prefetch(tile_in + (group + i) * row_in)
                            exchange_rows(tile_in, row_in, there, LINE, item, group, 1, 0)
                            tile_in = min(tile_in + LINE, last_in)
                            there += tile
                    there = scratch
                    left = carried
                    for place in range(begin, end, rows):
                        for i in range(group):
                            for line in range(0, height, rows):
                                half = there + (line + i) * LINE
                                whole = finished + i * pitch + LINE + line * item
                                exchange_rows(half, group * LINE, whole, group * pitch, item, every, group, 0)
                        run_out = goal + min(place, last_col) * col_out + first * item
                        ready = finished
                        for _ in range(rows if height > 0 else 0):
                            move(left, ready, LINE, 0)
                            shift = -run_out & (LINE - 1)
                            for done in range(shift, shift + height * item, LINE):
                                move(ready + done, run_out + done, LINE, 1)
                            move(ready + height * item, left, LINE, 0)
                            left += LINE
                            ready += pitch
                            run_out += col_out
                        there += tile
                    if strip == strips:
                        for place in range(begin, end, rows):
                            for edge in range(3):
                                row = last_row if edge == 2 else edge * lines * rows
                                col = min(place, last_col)
                                here = start + row * row_in + col * item
                                there = goal + row * item + col * col_out
                                transpose_tile(here, row_in, there, col_out, scratch, item, rows, rows, 0, 0)
            ticket = take_ticket(counter)
        fence()

    return kernel
