"""The numbers that a CPU kernel reads: one array of 64-bit integers, laid out here and nowhere else.

A kernel is called by every thread at once as ``kernel(source, target, job, counter, scratch)``: two addresses, the job,
an array of one number from which the threads draw tickets, and the address of memory of the thread's own. A ticket is
one piece of the output: a chunk of the walk, of a group of strips, of one index of the outer axes.
"""

from cornerturn.op.cpu.vectors import Job, compiled

TICKETS = 0
ROWS = 1  # extent of the axis that is contiguous in the output, or comes nearest to it
ROW_IN = 2  # bytes from one row to the next in the input
ROW_OUT = 3  # and in the output
COLS = 4  # extent of the axis that is contiguous in the input, or comes nearest to it
COL_IN = 5
COL_OUT = 6
WALK = 7  # extent of the axis that is walked after COLS, so that the input is read on in order
WALK_IN = 8
WALK_OUT = 9
HEIGHT = 10  # rows of a strip
STRIPS = 11
STRIPS_STEP = 12  # strips a ticket
COLS_STEP = 13  # columns a ticket
WALK_STEP = 14  # positions of the walk a ticket
RUN = 15  # bytes, rows or columns that stay together; each kernel says which
STREAM = 16  # 1: whole lines are written past the caches
REACH = 17  # bytes from the input's first element to the end of its last one
OUTER = 18  # number of outer axes; for each follow extent, bytes in the input, bytes in the output


@compiled
def outer_offsets(job: Job, index: int) -> tuple[int, int]:
    """Return the offsets in input and output, in bytes, of a position of the outer axes."""
    offset_in = 0
    offset_out = 0
    for axis in range(job[OUTER] - 1, -1, -1):
        place = OUTER + 1 + 3 * axis
        position = index % job[place]
        index //= job[place]
        offset_in += position * job[place + 1]
        offset_out += position * job[place + 2]
    return offset_in, offset_out


@compiled
def chunk(index: int, extent: int, step: int) -> tuple[int, int, int]:
    """Return the number of the next larger chunk, and where this one begins and ends."""
    chunks = (extent + step - 1) // step
    begin = index % chunks * step
    return index // chunks, begin, min(begin + step, extent)


@compiled
def piece(job: Job, ticket: int) -> tuple[int, int, int, int, int, int, int, int]:
    """Return what a ticket stands for: outer offsets, and where strips, walk and columns begin and end."""
    rest, col, col_end = chunk(ticket, job[COLS], job[COLS_STEP])
    rest, walk, walk_end = chunk(rest, job[WALK], job[WALK_STEP])
    rest, strip, strip_end = chunk(rest, job[STRIPS], job[STRIPS_STEP])
    offset_in, offset_out = outer_offsets(job, rest)
    return offset_in, offset_out, strip, strip_end, walk, walk_end, col, col_end
