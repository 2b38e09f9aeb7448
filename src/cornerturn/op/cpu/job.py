"""The numbers that a CPU kernel reads: an array of 64-bit integers, laid out here and nowhere else.

Every thread calls a kernel at once as ``kernel(source, target, job, counter, scratch)``: the addresses of the input, of
the output, of the job, of one number from which the threads draw tickets, and of memory of the thread's own. A ticket
is some boxes, one after the other. A box is moved in two steps: it is filled into scratch memory in the output's order,
and leaves it as runs of the output; or it is filled into the output at once.

Names that end in ``_AT`` say where in the job a table begins.
"""

from cornerturn.op.cpu.vectors import LINE, compiled, copy_run, number, prefetch

REFERENCE = 0  # where an object holds the address of its elements, or 0 where source and target are these addresses
BOXES = 1
BOXES_STEP = 2  # boxes per ticket
GRID = 3  # axes along which boxes lie; of each: boxes, step, last position, bytes per position in input and output
GRID_AT = 4
OWNER = 5  # the axis of the grid along which boxes share lines of the output, or -1
OWNED = 6  # bytes of a run that belong to a box, before the next one along this axis begins
LOOPS = 7  # how often a box is filled: offsets in the input and in what is filled
LOOPS_AT = 8
RUNS = 9  # runs that leave scratch memory, each with its offset in the output; 0: the output is filled at once
RUNS_AT = 10
RUN_BYTES = 11
RUN_PITCH = 12  # bytes from one run to the next in scratch memory
STREAM = 13  # 1: whole lines are written past the caches
SPANS = 14  # contiguous spans that a box reads, each with its offset in the input
SPANS_AT = 15
SPAN_BYTES = 16
OFFSET_IN = 17  # bytes from the input's address to the first element moved
OFFSET_OUT = 18  # the same in the output
FILL = 19  # from here on: what the kernel's own way of filling needs, see there

FIRST, LAST = 1, 2  # whether a box is the first, and the last, along the grid's OWNER axis


@compiled
def place(job: int, box: int) -> tuple[int, int, int]:
    """Return the offsets of a box in input and output, in bytes, and whether it is FIRST, LAST."""
    offset_in = 0
    offset_out = 0
    edge = FIRST | LAST
    owner = number(job, OWNER)
    at = number(job, GRID_AT)
    for axis in range(number(job, GRID)):
        boxes = number(job, at)
        index = box % boxes
        box //= boxes
        position = min(index * number(job, at + 1), number(job, at + 2))
        offset_in += position * number(job, at + 3)
        offset_out += position * number(job, at + 4)
        if axis == owner:
            edge = (FIRST if index == 0 else 0) | (LAST if index == boxes - 1 else 0)
        at += 5
    return offset_in, offset_out, edge


@compiled
def leave(job: int, scratch: int, goal: int, edge: int, following: int) -> None:
    """Copy a box from scratch memory to the output, and meanwhile ask for what the following box reads.

    A line that two boxes share is written, whole, by the one in which it begins.
    """
    runs, runs_at, pitch, stream = number(job, RUNS), number(job, RUNS_AT), number(job, RUN_PITCH), number(job, STREAM)
    spans, spans_at, span_bytes = number(job, SPANS), number(job, SPANS_AT), number(job, SPAN_BYTES)
    nbytes, owned = number(job, RUN_BYTES), number(job, OWNED)
    asked = 0
    for run in range(runs):
        if following != 0:
            while asked * runs < (run + 1) * spans and asked < spans:
                line = following + number(job, spans_at + asked)
                end = line + span_bytes
                while line < end:
                    prefetch(line)
                    line += LINE
                asked += 1
        begin = goal + number(job, runs_at + run)
        end = begin + nbytes
        first = begin
        if edge & FIRST == 0:
            first = (begin + LINE - 1) & -LINE
        if edge & LAST == 0:
            end = (begin + owned + LINE - 1) & -LINE
        copy_run(scratch + run * pitch + first - begin, first, end - first, stream)
