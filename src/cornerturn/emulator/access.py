"""Loads and stores: every access is counted, checked, and only then carried out."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from cornerturn.emulator.counters import WARP
from cornerturn.emulator.memory import Arena, Memory, Store
from cornerturn.emulator.operands import Operands, Step, Unsupported
from cornerturn.emulator.report import Kind, Movement, Space
from cornerturn.emulator.spaces import WINDOWS
from cornerturn.emulator.types import TYPES, Array
from cornerturn.emulator.wave import Lanes, Wave
from cornerturn.ptx import Instruction, elements

_SPACES: dict[str, Space] = {
    "global": "global",
    "shared": "shared",
    "shared::cta": "shared",
    "local": "local",
    "const": "const",
    "param": "param",
}
_CACHE_HINTS = {"nc", "ca", "cg", "cs", "lu", "cv", "wb", "wt"}
_EVICTION_HINTS = {f"L1::{word}" for word in ("evict_normal", "evict_last", "evict_first", "evict_unchanged")}
_PREFETCH_HINTS = {"L1::no_allocate", "L2::cache_hint", "L2::64B", "L2::128B", "L2::256B"}
_ORDERING = {"volatile", "relaxed", "acquire", "release", "weak", "cta", "gpu", "sys", "mmio"}
_NO_EFFECT = _CACHE_HINTS | _EVICTION_HINTS | _PREFETCH_HINTS | _ORDERING


@dataclass(frozen=True)
class MemoryInstruction:
    """What an ``ld``, ``st`` or ``atom`` says about its access.

    Attributes:
        space: None for a generic address.
        element: bytes of one element.
        count: elements a lane.
    """

    position: int
    instruction: Instruction
    space: Space | None
    kind: Kind
    element: int
    count: int

    @property
    def width(self) -> int:
        """Bytes a lane."""
        return self.element * self.count


def space_of(instruction: Instruction) -> Space | None:
    """The state space that the instruction names; None for a generic address."""
    return next((_SPACES[name] for name in instruction.modifiers if name in _SPACES), None)


def visit(wave: Wave, lanes: Lanes, what: MemoryInstruction, addresses: Array) -> Iterator[tuple[Store, Array, Array]]:
    """Count an access and find where it goes: the store, the offsets, and which of the lanes they belong to.

    Lanes whose address is misaligned or out of bounds, or that write to an input, are recorded as hazards and left
    out.

    Args:
        addresses: one for each active lane.
    """
    for space, home, local, members in _route(wave, what.space, addresses):
        if space != "param":
            dense, active = _by_warp(wave, lanes.index[members], local)
            wave.ledger.access(what.position, what.instruction, space, what.kind, what.width, dense, active)
        aligned = _check_alignment(wave, lanes, what, home, local, members)
        if not aligned.all():
            local, members = local[aligned], members[aligned]
        for placement in home.locate(local, lanes.index[members], what.width):
            chosen = members if placement.chosen is None else members[placement.chosen]
            if placement.store is None:
                where, fault = home.describe(int(placement.offsets[0])), "out of bounds"
            elif what.kind != "load" and not placement.store.writable:
                where, fault = f"{placement.store.name} + {int(placement.offsets[0])} bytes", "write to an input"
            else:
                yield placement.store, placement.offsets, chosen
                continue
            message = f"{what.width}-byte {what.kind} at {where}"
            wave.fault(what.position, what.instruction, fault, message, lanes.index[chosen])


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
    wave: Wave, lanes: Lanes, what: MemoryInstruction, home: Memory | Arena, local: Array, members: Array
) -> Array:
    """Whether each address is a multiple of the access's width, as it must be; those that are not are recorded."""
    aligned = (local & np.uint64(what.width - 1)) == 0
    if not aligned.all():
        address = int(local[aligned.argmin()])
        message = (
            f"{what.width}-byte {what.kind} at {home.describe(address)}: "
            f"the address must be a multiple of {what.width}, it is {address % what.width} bytes past one"
        )
        wave.fault(what.position, what.instruction, "misaligned", message, lanes.index[members[~aligned]])
    return aligned


def read(wave: Wave, lanes: Lanes, what: MemoryInstruction, addresses: Array) -> list[Array]:
    """The bits of each element at each address; 0 where the access is at fault."""
    parts: list[Array] = []
    for store, offsets, chosen in visit(wave, lanes, what, addresses):
        found = store.load(offsets, what.element, what.count)
        if wave.races is not None:
            wave.races.read(what, store, offsets, lanes.index[chosen])
        tell(wave, what, store, offsets, lanes.index[chosen], found)
        check_written(wave, what, store, offsets, lanes.index[chosen])
        if len(chosen) == len(addresses):
            return found
        parts = parts or [np.zeros(len(addresses), dtype=part.dtype) for part in found]
        for part, values in zip(parts, found, strict=True):
            part[chosen] = values
    return parts or [np.zeros(len(addresses), dtype=f"u{what.element}")] * what.count


def tell(wave: Wave, what: MemoryInstruction, store: Store, offsets: Array, lanes: Array, parts: list[Array]) -> None:
    """Let the launch's observer know what the flat ``lanes`` moved: the value at each offset, element by element."""
    if wave.ledger.observer is None or what.space == "param":
        return
    start = lanes // store.lanes_per_owner * store.pitch if isinstance(store, Arena) else 0
    wave.ledger.observer(
        Movement(
            position=what.position,
            kind=what.kind,
            width=what.width,
            memory=store.name,
            block=wave.blocks[lanes // wave.lanes_per_block, 0],
            thread=lanes % wave.lanes_per_block,
            offset=offsets.astype(np.int64) - start,
            values=np.stack(parts, axis=1),
        )
    )


def check_written(wave: Wave, what: MemoryInstruction, store: Store, offsets: Array, lanes: Array) -> None:
    """Record the flat ``lanes`` that read a byte nobody wrote."""
    missing = store.unwritten_at(offsets, what.element, what.count)
    if missing is not None:
        message = f"{what.width}-byte read of bytes that no thread wrote"
        wave.fault(what.position, what.instruction, "uninitialised read", message, lanes[missing])


def memory_instruction(
    operands: Operands, position: int, instruction: Instruction, kind: Kind, count: int
) -> MemoryInstruction:
    """Read off what the instruction says, refusing modifiers with a meaning of their own."""
    known = {*_SPACES, *_NO_EFFECT, *TYPES, "v2", "v4", "v8"}
    for name in instruction.modifiers:
        if name not in known:
            raise Unsupported(f"modifier .{name}")
    element = operands.type_of(instruction).bytes
    return MemoryInstruction(position, instruction, space_of(instruction), kind, element, count)


def _load(operands: Operands, position: int, instruction: Instruction) -> Step:
    targets = elements(instruction.operands[0])
    what = memory_instruction(operands, position, instruction, "load", len(targets))
    kind = operands.type_of(instruction)
    address = operands.address(instruction.operands[1])
    writers = [operands.writer(target, kind) for target in targets]

    def load(wave: Wave, lanes: Lanes) -> None:
        where = address(wave)
        if what.space == "param" and where.ndim == 0:  # one value for every lane: keep it as a scalar
            parts = read(wave, _ONE_LANE, what, where.reshape(1))
            values = [part[0] for part in parts]
        else:
            values = [lanes.spread(part) for part in read(wave, lanes, what, lanes.pick(where))]
        for write, value in zip(writers, values, strict=True):
            write(wave, lanes, kind.decode(value))

    return load


_ONE_LANE = Lanes(np.ones((1, 1), dtype=bool), whole=True)


def _store(operands: Operands, position: int, instruction: Instruction) -> Step:
    sources = elements(instruction.operands[1])
    what = memory_instruction(operands, position, instruction, "store", len(sources))
    bits = TYPES[f"b{8 * what.element}"]
    address = operands.address(instruction.operands[0])
    readers = [operands.reader(source, bits) for source in sources]

    def store(wave: Wave, lanes: Lanes) -> None:
        parts = [lanes.pick(value(wave)) for value in readers]
        for target, offsets, chosen in visit(wave, lanes, what, lanes.pick(address(wave))):
            moved = parts if len(chosen) == len(lanes.index) else [part[chosen] for part in parts]
            if wave.races is not None:
                wave.races.write(what, target, offsets, lanes.index[chosen], moved)
            target.store(offsets, moved)
            tell(wave, what, target, offsets, lanes.index[chosen], moved)

    return store


def _create_policy(operands: Operands, position: int, instruction: Instruction) -> Step:
    """``createpolicy``: an opaque hint for caches, and nothing here depends on those."""
    write = operands.writer(instruction.operands[0], TYPES["b64"])
    return lambda wave, lanes: write(wave, lanes, np.uint64(0))


STEPS: dict[str, Callable[[Operands, int, Instruction], Step]] = {
    "ld": _load,
    "ldu": _load,
    "st": _store,
    "createpolicy": _create_policy,
}
