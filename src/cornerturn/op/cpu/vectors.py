"""The machine underneath the CPU kernels: vector loads, shuffles and stores written as LLVM IR inside Numba.

Vectors are as long as LLVM is told and it splits them into what the host has (one AVX-512 register, two of AVX2, four
of NEON). One instruction has no name in LLVM's own language, the look-up of 16 bytes by 16 indices: x86-64 and AArch64
have it, under names of their own.

Addresses are 64-bit integers. Loads and plain stores take any alignment; non-temporal stores want whole lines.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from llvmlite import ir  # type: ignore[import-untyped]
from numba import njit, types
from numba.core.cgutils import alloca_once_value, for_range
from numba.extending import intrinsic

from cornerturn.op.cpu.machine import byte_lookup

LINE = 64
"""Bytes of a cache line on every host that matters (Apple's 128-byte lines take two)."""

VECTOR = 16
"""Bytes of a vector that is put together by look-ups."""

_I8 = ir.IntType(8)
_I32 = ir.IntType(32)
_I64 = ir.IntType(64)
_LANE_BYTES_MAX = 8  # LLVM has no good code for vectors of 16-byte integers: such an element is two lanes

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """Compile with Numba where a kernel calls it, whose code it becomes part of."""
    return njit(nogil=True, error_model="numpy")(function)  # type: ignore[no-any-return]


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


def _load(builder: Any, address: Any, kind: Any) -> Any:
    value = builder.load(builder.inttoptr(address, kind.as_pointer()))
    value.align = 1
    return value


def _store(builder: Any, value: Any, address: Any, nontemporal: bool) -> None:
    store = builder.store(value, builder.inttoptr(address, value.type.as_pointer()))
    store.align = LINE if nontemporal else 1
    if nontemporal:
        store.set_metadata("nontemporal", builder.module.add_metadata([ir.Constant(_I32, 1)]))


def _number(builder: Any, table: Any, index: Any) -> Any:
    """Load one of a table of 64-bit integers."""
    address = builder.add(table, builder.shl(index, ir.Constant(_I64, 3)))
    return builder.load(builder.inttoptr(address, _I64.as_pointer()))


def _transposed(builder: Any, vectors: list[Any], item: int) -> list[Any]:
    """Transpose a square: n vectors of n lanes, n a power of two.

    First rows are interleaved within parts of VECTOR bytes, which is one instruction on every host: what a part holds
    is then transposed. Then whole parts of two vectors change places, one round for each bit of their number.
    """
    lanes = len(vectors)
    part = min(lanes, max(1, VECTOR // item))
    groups = (vectors[first : first + part] for first in range(0, lanes, part))
    rows = [row for group in groups for row in _interleaved(builder, group, item)]
    step = part
    while step < lanes:
        low = [n if not n & step else lanes + n - step for n in range(lanes)]
        high = [n + step if not n & step else lanes + n for n in range(lanes)]
        for n in range(lanes):
            if not n & step:
                a, b = rows[n], rows[n + step]
                rows[n], rows[n + step] = (_shuffle(builder, a, b, picks, item) for picks in (low, high))
        step *= 2
    return rows


def _interleaved(builder: Any, rows: list[Any], item: int) -> list[Any]:
    """Transpose within each part of n lanes of n vectors: shuffle the rows as a pack of cards, log2(n) times."""
    part = len(rows)
    places = range(_lanes(rows[0], item))
    low, high = ([n - n % part + (n % part + half) // 2 + n % 2 * len(places) for n in places] for half in (0, part))
    for _ in range(part.bit_length() - 1):
        pairs = zip(rows[: part // 2], rows[part // 2 :], strict=True)
        rows = [_shuffle(builder, a, b, picks, item) for a, b in pairs for picks in (low, high)]
    return rows


def _intrinsic(function: Callable[..., Any]) -> Callable[..., Any]:
    return intrinsic(prefer_literal=True)(function)  # type: ignore[no-any-return]


# The intrinsics. item (bytes), side, nbytes and stream are compile-time integers.


def _literals(*arguments: Any) -> list[int]:
    return [argument.literal_value for argument in arguments]


@_intrinsic
def number(context: Any, table: Any, index: Any) -> Any:
    """Load number ``index`` of the 64-bit integers at an address."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _number(builder, *args)

    return types.int64(table, types.int64), generate


@_intrinsic
def transpose_tile(context: Any, source: Any, rows: Any, target: Any, cols: Any, item: Any, side: Any) -> Any:
    """Transpose ``side`` x ``side`` elements in registers.

    ``rows`` and ``cols`` are addresses of tables: the offset of each row from source, and of each column from target.
    """
    size, count = _literals(item, side)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        source, rows, target, cols, *_ = args
        places = [ir.Constant(_I64, place) for place in range(count)]
        addresses = [builder.add(source, _number(builder, rows, place)) for place in places]
        loaded = [_load(builder, address, _vector(count, size)) for address in addresses]
        for place, column in zip(places, _transposed(builder, loaded, size), strict=True):
            _store(builder, column, builder.add(target, _number(builder, cols, place)), False)
        return context.get_dummy_value()

    return types.void(source, rows, target, cols, item, side), generate


@_intrinsic
def gather_vector(context: Any, source: Any, offsets: Any, masks: Any, count: Any, target: Any) -> Any:
    """Put 16 bytes together out of ``count`` vectors of the input, a compile-time integer or not.

    ``offsets`` is the address of a table of offsets from source, ``masks`` that of 16 bytes for each: which byte of the
    vector comes to this place, or 128 if none does.
    """
    known = getattr(count, "literal_value", 0)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        source, offsets, masks, count, target = args
        kind = ir.VectorType(_I8, VECTOR)
        name = byte_lookup()
        signature = ir.FunctionType(kind, [kind, kind])
        lookup = builder.module.globals.get(name) or ir.Function(builder.module, signature, name)

        def found(index: Any) -> Any:
            vector = _load(builder, builder.add(source, _number(builder, offsets, index)), kind)
            mask = _load(builder, builder.add(masks, builder.shl(index, ir.Constant(_I64, 4))), kind)
            return builder.call(lookup, [vector, mask])

        parts = [found(ir.Constant(_I64, index)) for index in range(known)]
        while len(parts) > 1:
            parts = [*parts[2:], builder.or_(*parts[:2])]
        if not parts:
            gathered = alloca_once_value(builder, ir.Constant(kind, [0] * VECTOR))
            with for_range(builder, count) as loop:
                builder.store(builder.or_(builder.load(gathered), found(loop.index)), gathered)
            parts = [builder.load(gathered)]
        _store(builder, parts[0], target, False)
        return context.get_dummy_value()

    return types.void(source, offsets, masks, count, target), generate


@_intrinsic
def move(context: Any, source: Any, target: Any, nbytes: Any, stream: Any) -> Any:
    """Copy nbytes bytes, a power of two."""
    size, streams = _literals(nbytes, stream)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        _store(builder, _load(builder, args[0], _vector(1, size)), args[1], bool(streams))
        return context.get_dummy_value()

    return types.void(source, target, nbytes, stream), generate


@_intrinsic
def copy_bytes(context: Any, source: Any, target: Any, nbytes: Any) -> Any:
    """Copy bytes as the C library does, which knows what the processor is best at for long runs."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = _I8.as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [pointer, pointer, _I64, ir.IntType(1)])
        function = builder.module.declare_intrinsic("llvm.memcpy", [pointer, pointer, _I64], kind)
        there, here = (builder.inttoptr(address, pointer) for address in (args[1], args[0]))
        builder.call(function, [there, here, args[2], ir.Constant(ir.IntType(1), 0)])
        return context.get_dummy_value()

    return types.void(source, target, nbytes), generate


@_intrinsic
def prefetch(context: Any, address: Any) -> Any:
    """Ask for the line at an address, which need not exist."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = _I8.as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [pointer, _I32, _I32, _I32])
        function = builder.module.declare_intrinsic("llvm.prefetch", [pointer], kind)
        read, keep, data = (ir.Constant(_I32, flag) for flag in (0, 3, 1))
        builder.call(function, [builder.inttoptr(args[0], pointer), read, keep, data])
        return context.get_dummy_value()

    return types.void(address), generate


@_intrinsic
def take_ticket(context: Any, counter: Any) -> Any:
    """Add one to the 64-bit integer at an address, atomically, and return what it was."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = builder.inttoptr(args[0], _I64.as_pointer())
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
