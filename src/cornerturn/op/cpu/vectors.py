"""The machine underneath the CPU kernels: vector loads, shuffles and stores written as LLVM IR inside Numba.

Vectors are as long as one cache line and LLVM splits them into what the host has (one AVX-512 register, two of AVX2,
four of NEON), so nothing here knows an instruction set. A line is the unit because a non-temporal store pays only
when it fills a whole one: a part of a line costs a read of the rest.

Addresses are 64-bit integers. Loads and plain stores take any alignment; non-temporal stores want whole lines.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar
from zlib import crc32

from llvmlite import ir  # type: ignore[import-untyped]
from numba import njit, types
from numba.core.cgutils import for_range
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

LINE = 64
"""Bytes of a cache line on every host that matters (Apple's 128-byte lines take two)."""

TILE_SCRATCH_BYTES = LINE * LINE

_I8 = ir.IntType(8)
_I32 = ir.IntType(32)
_I64 = ir.IntType(64)
_INLINED = crc32(Path(__file__).read_bytes() + Path(__file__).with_name("job.py").read_bytes())
_LANE_BYTES_MAX = 8  # LLVM has no good code for vectors of 16-byte integers: such an element is two lanes
_REGISTERS = 16  # vectors that are held at once; hosts with shorter registers spill a few, which costs little
_STAGE_VECTORS = 8

Function = TypeVar("Function", bound=Callable[..., Any])
Job = Sequence[int]  # to the type checker; to Numba these are arrays of int64
Counter = Sequence[int]
Kernel = Callable[[int, int, Any, Any, int], None]


def compiled(function: Function) -> Function:
    """Compile with Numba on the first call, without the GIL; kept on disk where a folder can be written.

    Numba's cache notices when a function's own file changes, not when what it calls does, which is inlined: hence the
    digest in the name that it is kept under.
    """
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
    function.__qualname__ += f"-{_INLINED:08x}"
    try:
        return njit(cache=True, **options)(function)  # type: ignore[no-any-return]
    except RuntimeError:  # Numba found no folder for its cache
        return njit(**options)(function)  # type: ignore[no-any-return]


def _vector(lanes: int, item: int) -> ir.VectorType:
    lane = min(item, _LANE_BYTES_MAX)
    return ir.VectorType(ir.IntType(8 * lane), lanes * item // lane)


def _lanes(vector: Any, item: int) -> int:
    return int(vector.type.count * vector.type.element.width // 8 // item)


def _shuffle(builder: Any, a: Any, b: Any, picks: list[int], item: int) -> Any:
    """Pick elements of the concatenation of a and b."""
    split = 8 * item // a.type.element.width
    mask = [pick * split + part for pick in picks for part in range(split)]
    return builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(_I32, len(mask)), mask))


def _load(builder: Any, address: Any, vector: ir.VectorType) -> Any:
    value = builder.load(builder.inttoptr(address, vector.as_pointer()))
    value.align = 1
    return value


def _store(builder: Any, value: Any, address: Any, nontemporal: bool) -> None:
    store = builder.store(value, builder.inttoptr(address, value.type.as_pointer()))
    store.align = LINE if nontemporal else 1
    if nontemporal:
        store.set_metadata("nontemporal", builder.module.add_metadata([ir.Constant(_I32, 1)]))


def _step(builder: Any, base: Any, pitch: Any, count: int) -> Any:
    return builder.add(base, builder.mul(pitch, ir.Constant(_I64, count)))


def _exchange(builder: Any, vectors: list[Any], item: int, distance: int = 1) -> list[Any]:
    """Transpose every block of n vectors x n lanes that lie ``distance`` apart, n = len(vectors), a power of two.

    One round for each bit of a vector's number, which changes places with a bit of the lane's number: the off-diagonal
    quarters of a block are exchanged. Rounds commute, so that a large square can be done in stages of a few vectors.
    """
    lanes = _lanes(vectors[0], item)
    bit = 1
    while bit < len(vectors):
        low = [n if not n & distance else lanes + n - distance for n in range(lanes)]
        high = [n + distance if not n & distance else lanes + n for n in range(lanes)]
        for i in range(len(vectors)):
            if not i & bit:
                a, b = vectors[i], vectors[i + bit]
                vectors[i], vectors[i + bit] = (_shuffle(builder, a, b, picks, item) for picks in (low, high))
        bit *= 2
        distance *= 2
    return vectors


def _joined(builder: Any, parts: list[Any], item: int) -> Any:
    """Concatenate a power of two of vectors."""
    while len(parts) > 1:
        picks = list(range(2 * _lanes(parts[0], item)))
        parts = [_shuffle(builder, a, b, picks, item) for a, b in zip(parts[::2], parts[1::2], strict=True)]
    return parts[0]


def _tile(builder: Any, rows: list[Any], item: int) -> list[Any]:
    """Return the columns of a tile given as its rows; both counts are powers of two."""
    cols = _lanes(rows[0], item)
    if len(rows) >= cols:
        stacked = [_joined(builder, rows[i::cols], item) for i in range(cols)]
        return _exchange(builder, stacked, item)
    side = len(rows)
    square = _exchange(builder, rows, item)
    return [
        _shuffle(builder, vector, vector, list(range(start, start + side)), item)
        for start in range(0, cols, side)
        for vector in square
    ]


def _interleaved(builder: Any, rows: list[Any], item: int) -> list[Any]:
    """Return vectors that hold r0[0] r1[0] ... r0[1] r1[1] ... one after another, given the rows r0, r1, ..."""
    lanes, count = _lanes(rows[0], item), len(rows)
    if count == 1 or lanes == 1:
        return rows
    if count % 2 == 0:  # pairs of rows become rows of pairs, in two halves
        half = lanes // 2
        halves = [[n + side for n in range(start, start + half) for side in (0, lanes)] for start in (0, half)]
        return [
            vector
            for picks in halves
            for vector in _interleaved(
                builder,
                [_shuffle(builder, a, b, picks, item) for a, b in zip(rows[::2], rows[1::2], strict=True)],
                2 * item,
            )
        ]
    flat = [divmod(place, count)[::-1] for place in range(lanes * count)]  # (row, lane) of each place
    return [_gathered(builder, rows, flat[start : start + lanes], item) for start in range(0, len(flat), lanes)]


def _deinterleaved(builder: Any, vectors: list[Any], item: int) -> list[Any]:
    """Return the rows r0, r1, ... of which the vectors hold r0[0] r1[0] ... r0[1] r1[1] ... one after another."""
    lanes, count = _lanes(vectors[0], item), len(vectors)
    if count == 1 or lanes == 1:
        return vectors
    if count % 2 == 0:
        low = _deinterleaved(builder, vectors[: count // 2], 2 * item)
        high = _deinterleaved(builder, vectors[count // 2 :], 2 * item)
        evens, odds = list(range(0, 2 * lanes, 2)), list(range(1, 2 * lanes, 2))
        return [_shuffle(builder, a, b, picks, item) for a, b in zip(low, high, strict=True) for picks in (evens, odds)]
    return [
        _gathered(builder, vectors, [divmod(n * count + row, lanes) for n in range(lanes)], item)
        for row in range(count)
    ]


def _gathered(builder: Any, vectors: list[Any], places: list[tuple[int, int]], item: int) -> Any:
    """Collect lanes from several vectors; ``places`` holds (number of the vector, lane) of each lane of the result."""
    merged = vectors[0]
    for i, vector in enumerate(vectors[1:], start=1):
        picks = [
            len(places) + lane if source == i else (lane if source == 0 and i == 1 else n)
            for n, (source, lane) in enumerate(places)
        ]
        merged = _shuffle(builder, merged, vector, picks, item)
    return merged


def _intrinsic(function: Callable[..., Any]) -> Callable[..., Any]:
    return intrinsic(prefer_literal=True)(function)  # type: ignore[no-any-return]


# The intrinsics. item (bytes), rows, cols, count, nbytes and stream are compile-time integers.


def _literals(*arguments: Any) -> list[int]:
    return [argument.literal_value for argument in arguments]


def _prefetch(builder: Any, address: Any) -> None:
    """Ask for the line at an address, which need not exist."""
    pointer = _I8.as_pointer()
    kind = ir.FunctionType(ir.VoidType(), [pointer, _I32, _I32, _I32])
    function = builder.module.declare_intrinsic("llvm.prefetch", [pointer], kind)
    read, keep, data = (ir.Constant(_I32, flag) for flag in (0, 3, 1))
    builder.call(function, [builder.inttoptr(address, pointer), read, keep, data])


def _load_rows(builder: Any, address: Any, pitch: Any, count: int, vector: ir.VectorType, ahead: int = 0) -> list[Any]:
    rows = [_step(builder, address, pitch, i) for i in range(count)]
    if ahead:
        for row in rows:
            _prefetch(builder, builder.add(row, ir.Constant(_I64, ahead)))
    return [_load(builder, row, vector) for row in rows]


def _store_rows(builder: Any, rows: list[Any], address: Any, pitch: Any, stream: bool) -> None:
    for i, row in enumerate(rows):
        _store(builder, row, _step(builder, address, pitch, i), stream)


def _square_in_stages(
    builder: Any, places: tuple[Any, Any, Any, Any, Any], item: int, ahead: int, stream: bool
) -> None:
    """Emit two loops over groups of vectors: neighbours first, then every eighth. ``places``: see transpose_tile."""
    source, source_pitch, target, target_pitch, scratch = places
    lanes = LINE // item
    first, second = _STAGE_VECTORS, lanes // _STAGE_VECTORS
    vector = _vector(lanes, item)
    line, stage = ir.Constant(_I64, LINE), ir.Constant(_I64, first)
    with for_range(builder, ir.Constant(_I64, second)) as loop:
        row = builder.mul(loop.index, stage)
        address = builder.add(source, builder.mul(row, source_pitch))
        rows = _exchange(builder, _load_rows(builder, address, source_pitch, first, vector, ahead), item)
        _store_rows(builder, rows, builder.add(scratch, builder.mul(row, line)), line, False)
    with for_range(builder, stage) as loop:
        address = builder.add(scratch, builder.mul(loop.index, line))
        rows = _exchange(builder, _load_rows(builder, address, builder.mul(stage, line), second, vector), item, first)
        address = builder.add(target, builder.mul(loop.index, target_pitch))
        _store_rows(builder, rows, address, builder.mul(stage, target_pitch), stream)


@_intrinsic
def transpose_tile(
    context: Any,
    source: Any,
    source_pitch: Any,
    target: Any,
    target_pitch: Any,
    scratch: Any,
    item: Any,
    rows: Any,
    cols: Any,
    ahead: Any,
    stream: Any,
) -> Any:
    """Transpose a tile in registers: one vector load a row, one vector store a column.

    A square of more vectors than processors have registers takes two stages through TILE_SCRATCH_BYTES of scratch.
    Where ahead is not 0, the line so many bytes further on in each row is prefetched.
    """
    size, height, width, distance, streams = _literals(item, rows, cols, ahead, stream)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        source, source_pitch, target, target_pitch, scratch, *_ = args
        if height == width == LINE // size > _REGISTERS:
            places = source, source_pitch, target, target_pitch, scratch
            _square_in_stages(builder, places, size, distance, bool(streams))
        else:
            loaded = _load_rows(builder, source, source_pitch, height, _vector(width, size), distance)
            _store_rows(builder, _tile(builder, loaded, size), target, target_pitch, bool(streams))
        return context.get_dummy_value()

    arguments = (source, source_pitch, target, target_pitch, scratch, item, rows, cols, ahead, stream)
    return types.void(*arguments), generate


@_intrinsic
def exchange_rows(
    context: Any,
    source: Any,
    source_pitch: Any,
    target: Any,
    target_pitch: Any,
    item: Any,
    count: Any,
    distance: Any,
    stream: Any,
) -> Any:
    """Do one stage of the transpose of squares that are a line wide: count rows, distance lanes apart."""
    size, rows, lanes_apart, streams = _literals(item, count, distance, stream)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        source, source_pitch, target, target_pitch, *_ = args
        loaded = _load_rows(builder, source, source_pitch, rows, _vector(LINE // size, size))
        exchanged = _exchange(builder, loaded, size, lanes_apart)
        _store_rows(builder, exchanged, target, target_pitch, bool(streams))
        return context.get_dummy_value()

    arguments = (source, source_pitch, target, target_pitch, item, count, distance, stream)
    return types.void(*arguments), generate


@_intrinsic
def interleave_lines(context: Any, source: Any, source_pitch: Any, target: Any, item: Any, count: Any) -> Any:
    """Interleave one line of each of count rows into count consecutive lines."""
    size, rows = _literals(item, count)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        source, source_pitch, target, *_ = args
        vector = _vector(LINE // size, size)
        loaded = _load_rows(builder, source, source_pitch, rows, vector)
        _store_rows(builder, _interleaved(builder, loaded, size), target, ir.Constant(_I64, LINE), False)
        return context.get_dummy_value()

    return types.void(source, source_pitch, target, item, count), generate


@_intrinsic
def deinterleave_lines(context: Any, source: Any, target: Any, target_pitch: Any, item: Any, count: Any) -> Any:
    """Part count consecutive lines into one line of each of count rows."""
    size, rows = _literals(item, count)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        source, target, target_pitch, *_ = args
        vector = _vector(LINE // size, size)
        lines = _load_rows(builder, source, ir.Constant(_I64, LINE), rows, vector)
        _store_rows(builder, _deinterleaved(builder, lines, size), target, target_pitch, False)
        return context.get_dummy_value()

    return types.void(source, target, target_pitch, item, count), generate


@_intrinsic
def move(context: Any, source: Any, target: Any, nbytes: Any, stream: Any) -> Any:
    """Copy nbytes bytes, a power of two."""
    size, streams = _literals(nbytes, stream)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        vector = _vector(1, size)
        _store(builder, _load(builder, args[0], vector), args[1], bool(streams))
        return context.get_dummy_value()

    return types.void(source, target, nbytes, stream), generate


@_intrinsic
def prefetch(context: Any, address: Any) -> Any:
    """Ask for the line at an address, which need not exist."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        _prefetch(builder, args[0])
        return context.get_dummy_value()

    return types.void(address), generate


@_intrinsic
def take_ticket(context: Any, counter: Any) -> Any:
    """Add one to the first element of an array of int64, atomically, and return what it was."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = make_array(signature.args[0])(context, builder, args[0]).data
        return builder.atomic_rmw("add", pointer, ir.Constant(_I64, 1), "monotonic")

    return types.int64(counter), generate


@_intrinsic
def fence(context: Any) -> Any:
    """Make all earlier stores visible, the non-temporal ones too, which no lock orders."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.fence("seq_cst")
        return context.get_dummy_value()

    return types.void(), generate


@compiled
def copy_run(source: int, target: int, nbytes: int, stream: int) -> None:
    """Copy a run of bytes that do not overlap, with whole aligned lines non-temporal when ``stream`` is not 0."""
    if nbytes < LINE:
        done = 0
        while done + 8 <= nbytes:
            move(source + done, target + done, 8, 0)
            done += 8
        while done < nbytes:
            move(source + done, target + done, 1, 0)
            done += 1
        return
    end = nbytes - LINE
    done = -target & (LINE - 1)
    if done:
        move(source, target, LINE, 0)
    if (end - done) & (LINE - 1):
        move(source + end, target + end, LINE, 0)
    if stream:
        while done <= end:
            move(source + done, target + done, LINE, 1)
            done += LINE
    else:
        while done <= end:
            move(source + done, target + done, LINE, 0)
            done += LINE
