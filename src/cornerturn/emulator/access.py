"""Loads and stores: every access is counted, checked and reported to the watchers before memory changes."""

from collections.abc import Callable, Iterator

import numpy as np

from cornerturn.emulator.counting import WARP
from cornerturn.emulator.events import MemoryOperation, Requests, Transfer
from cornerturn.emulator.memory import Arena, Memory, Store
from cornerturn.emulator.operands import Action, Operands, Unsupported
from cornerturn.emulator.report import Kind
from cornerturn.emulator.spaces import WINDOWS
from cornerturn.emulator.types import TYPES, Array
from cornerturn.emulator.wave import Lanes, Wave
from cornerturn.ptx import Instruction, Space, elements
from cornerturn.wording import counted

_SPACES = {"global", "shared", "shared::cta", "local", "const", "param"}
_CACHE_HINTS = {"nc", "ca", "cg", "cs", "lu", "cv", "wb", "wt"}
_EVICTION_HINTS = {f"L1::{word}" for word in ("evict_normal", "evict_last", "evict_first", "evict_unchanged")}
_PREFETCH_HINTS = {"L1::no_allocate", "L2::cache_hint", "L2::64B", "L2::128B", "L2::256B"}
_ORDERING = {"volatile", "relaxed", "acquire", "release", "weak", "cta", "gpu", "sys", "mmio"}
_NO_EFFECT = _CACHE_HINTS | _EVICTION_HINTS | _PREFETCH_HINTS | _ORDERING


def transfers(
    wave: Wave, lanes: Lanes, operation: MemoryOperation, addresses: Array, parts: list[Array] | None = None
) -> Iterator[tuple[Transfer, Array]]:
    """All of an access except the change of memory: tell of its requests, check its addresses, read, tell of the bytes.

    Args:
        addresses: one for each active lane.
        parts: what a store writes, an array per element with a value for each active lane; None for an atomic.

    Yields:
        The transfer with one store, and which of the active lanes take part in it.
    """
    for store, offsets, chosen in _sound(wave, lanes, operation, addresses):
        if operation.kind == "load":
            moved: list[Array] | None = store.load(offsets, operation.element, operation.count)
        elif parts is None or len(chosen) == len(lanes.index):
            moved = parts
        else:
            moved = [part[chosen] for part in parts]
        transfer = Transfer(operation, store, offsets, lanes.index[chosen], moved)
        wave.tell(transfer)
        yield transfer, chosen


def _sound(
    wave: Wave, lanes: Lanes, operation: MemoryOperation, addresses: Array
) -> Iterator[tuple[Store, Array, Array]]:
    """Where an access goes: the store, the offsets in it, and which of the active lanes have them.

    Lanes whose address is misaligned or out of bounds, or that write to an input, are reported and omitted.
    """
    for space, home, local, members in _route(wave, operation.space, addresses):
        if space != "param":
            wave.tell(Requests(operation, space, *_by_warp(wave, lanes.index[members], local)))
        aligned = _check_alignment(wave, lanes, operation, home, local, members)
        if not aligned.all():
            local, members = local[aligned], members[aligned]
        for placement in home.locate(local, lanes.index[members], operation.width):
            chosen = members if placement.chosen is None else members[placement.chosen]
            if placement.store is None:
                where, fault = home.describe(int(placement.offsets[0])), "out of bounds"
            elif operation.kind != "load" and not placement.store.writable:
                offset = counted(int(placement.offsets[0]), "byte")
                where, fault = f"{placement.store.name} + {offset}", "write to an input"
            else:
                yield placement.store, placement.offsets, chosen
                continue
            message = f"{operation.width}-byte {operation.kind} at {where}"
            wave.fault(operation.position, operation.instruction, fault, message, lanes.index[chosen])


def _route(wave: Wave, space: Space | None, addresses: Array) -> Iterator[tuple[Space, Memory | Arena, Array, Array]]:
    """Split by state space: the space, its memory, addresses in it, and which lanes have them."""
    everyone = np.arange(len(addresses))
    homes: dict[Space, Memory | Arena] = {"shared": wave.shared, "local": wave.local}
    if space is not None:
        yield space, homes.get(space, wave.memory), addresses, everyone
        return
    outside = np.ones(len(addresses), dtype=bool)
    for name, home in homes.items():
        window = WINDOWS[name]
        within = (addresses >= np.uint64(window.base)) & (addresses < np.uint64(window.end))
        if within.any():
            yield name, home, addresses[within] - np.uint64(window.base), everyone[within]
            outside &= ~within
    if outside.any():
        yield "global", wave.memory, addresses[outside], everyone[outside]


def _by_warp(wave: Wave, lanes: Array, addresses: Array) -> tuple[Array, Array]:
    """Addresses and activity as warps x 32."""
    total = wave.shape[0] * wave.shape[1]
    if len(lanes) == total:
        return addresses.reshape(-1, WARP), np.ones((total // WARP, WARP), dtype=bool)
    dense, active = np.zeros(total, dtype=addresses.dtype), np.zeros(total, dtype=bool)
    dense[lanes], active[lanes] = addresses, True
    return dense.reshape(-1, WARP), active.reshape(-1, WARP)


def _check_alignment(
    wave: Wave, lanes: Lanes, operation: MemoryOperation, home: Memory | Arena, local: Array, members: Array
) -> Array:
    """Whether each address is a multiple of the access's width, as it must be; those that are not are reported."""
    aligned = (local & np.uint64(operation.width - 1)) == 0
    if not aligned.all():
        address = int(local[aligned.argmin()])
        past = counted(address % operation.width, "byte")
        message = (
            f"{operation.width}-byte {operation.kind} at {home.describe(address)}: "
            f"the address must be a multiple of {operation.width}, it is {past} past one"
        )
        wave.fault(operation.position, operation.instruction, "misaligned", message, lanes.index[members[~aligned]])
    return aligned


def read(wave: Wave, lanes: Lanes, operation: MemoryOperation, addresses: Array) -> list[Array]:
    """The bits of each element at each address; 0 where the access is at fault."""
    parts: list[Array] = []
    for transfer, chosen in transfers(wave, lanes, operation, addresses):
        check_written(wave, transfer)
        found = transfer.parts or []
        if len(chosen) == len(addresses):
            return found
        parts = parts or [np.zeros(len(addresses), dtype=part.dtype) for part in found]
        for part, values in zip(parts, found, strict=True):
            part[chosen] = values
    return parts or [np.zeros(len(addresses), dtype=f"u{operation.element}")] * operation.count


def check_written(wave: Wave, transfer: Transfer) -> None:
    """Report the lanes that read a byte that nobody wrote."""
    operation = transfer.operation
    missing = transfer.store.unwritten_at(transfer.offsets, operation.element, operation.count)
    if missing is not None:
        message = f"{operation.width}-byte read of bytes that no thread wrote"
        lanes = transfer.lanes[missing]
        wave.fault(operation.position, operation.instruction, "uninitialised read", message, lanes)


def memory_operation(
    operands: Operands, position: int, instruction: Instruction, kind: Kind, count: int
) -> MemoryOperation:
    """The operation of an instruction; modifiers that the emulator does not know are refused."""
    known = {*_SPACES, *_NO_EFFECT, *TYPES, "v2", "v4", "v8"}
    for name in instruction.modifiers:
        if name not in known:
            raise Unsupported(f"modifier .{name}")
    element = operands.type_of(instruction).bytes
    return MemoryOperation(position, instruction, instruction.space, kind, element, count)


def _load(operands: Operands, position: int, instruction: Instruction) -> Action:
    targets = elements(instruction.operands[0])
    operation = memory_operation(operands, position, instruction, "load", len(targets))
    kind = operands.type_of(instruction)
    address = operands.address(instruction.operands[1])
    writers = [operands.writer(target, kind) for target in targets]

    def load(wave: Wave, lanes: Lanes) -> None:
        where = address(wave)
        if operation.space == "param" and where.ndim == 0:  # one value for every lane: keep it as a scalar
            parts = read(wave, _ONE_LANE, operation, where.reshape(1))
            values = [part[0] for part in parts]
        else:
            values = [lanes.spread(part) for part in read(wave, lanes, operation, lanes.pick(where))]
        for write, value in zip(writers, values, strict=True):
            write(wave, lanes, kind.decode(value))

    return load


_ONE_LANE = Lanes(np.ones((1, 1), dtype=bool), whole=True)


def _store(operands: Operands, position: int, instruction: Instruction) -> Action:
    sources = elements(instruction.operands[1])
    operation = memory_operation(operands, position, instruction, "store", len(sources))
    bits = TYPES[f"b{8 * operation.element}"]
    address = operands.address(instruction.operands[0])
    readers = [operands.reader(source, bits) for source in sources]

    def store(wave: Wave, lanes: Lanes) -> None:
        parts = [lanes.pick(value(wave)) for value in readers]
        for transfer, _ in transfers(wave, lanes, operation, lanes.pick(address(wave)), parts):
            transfer.write()

    return store


def _create_policy(operands: Operands, position: int, instruction: Instruction) -> Action:
    """``createpolicy``: a hint for caches, which change no value and no count."""
    write = operands.writer(instruction.operands[0], TYPES["b64"])
    return lambda wave, lanes: write(wave, lanes, np.uint64(0))


ACTIONS: dict[str, Callable[[Operands, int, Instruction], Action]] = {
    "ld": _load,
    "ldu": _load,
    "st": _store,
    "createpolicy": _create_policy,
}
