"""Instructions in which the lanes of a warp see each other (PTX ISA: shfl.sync, vote.sync, redux.sync, ...)."""

from collections.abc import Callable
from functools import reduce

import numpy as np

from cornerturn.emulator.counting import WARP
from cornerturn.emulator.events import WarpBarrier
from cornerturn.emulator.operands import Action, Operands, Unsupported
from cornerturn.emulator.types import TYPES, Array
from cornerturn.emulator.wave import Lanes, Wave
from cornerturn.errors import EmulatorError
from cornerturn.ptx import Instruction, elements

_LANE = np.arange(WARP)
_BIT = np.uint32(1) << np.arange(WARP, dtype=np.uint32)


def _rows(wave: Wave, value: Array) -> Array:
    """A value as warps x 32."""
    return np.broadcast_to(value, wave.shape).reshape(-1, WARP)


def _ballot(flags: Array) -> Array:
    """Bit mask of each row's true flags, warps x 1."""
    return np.bitwise_or.reduce(np.where(flags, _BIT, np.uint32(0)), axis=1, keepdims=True)


def _meet(wave: Wave, lanes: Lanes, members: Array, instruction: Instruction) -> Array:
    """The active lanes, warps x 32, after a check that every lane of their member masks is there or has exited."""
    active = _rows(wave, lanes.mask)
    here, staying = _ballot(active), _ballot(_rows(wave, wave.staying))
    for wrong, rule in (
        (members & staying & ~here, "are named in its member mask but do not reach it"),
        (_BIT & ~members, "reach it but are not named in their own member mask"),
    ):
        broken = (active & (wrong != 0)).any(axis=1)
        if broken.any():
            warp = int(broken.argmax())
            culprits = int(np.bitwise_or.reduce(wrong[warp, active[warp]]))
            block, thread = wave.geometry.coordinates(warp * WARP)
            raise EmulatorError(
                f"{instruction.location}: '{instruction.text}': lanes {culprits:#010x} of the warp of thread {thread} "
                f"in block {block} {rule}: the mask must name just the lanes that execute it together"
            )
    return active


def _source_lane(mode: str, b: Array, c: Array) -> tuple[Array, Array]:
    """Which lane a shuffle reads, and whether it lies in range (PTX ISA, shfl.sync)."""
    clamp, segment = (c & 31).astype(np.int64), ((c >> 8) & 31).astype(np.int64)
    b = (b & 31).astype(np.int64)
    first = _LANE & segment
    last = first | (clamp & ~segment)
    source = {
        "up": lambda: _LANE - b,
        "down": lambda: _LANE + b,
        "bfly": lambda: _LANE ^ b,
        "idx": lambda: first | (b & ~segment),
    }[mode]()
    inside = source >= last if mode == "up" else source <= last
    return np.where(inside, source, _LANE), inside


def _shuffle(operands: Operands, position: int, instruction: Instruction) -> Action:
    mode = next((name for name in instruction.modifiers if name in ("up", "down", "bfly", "idx")), None)
    if mode is None or instruction.modifiers[0] != "sync":
        raise Unsupported
    targets = elements(instruction.operands[0])
    word, flag = TYPES["b32"], TYPES["pred"]
    writers = [operands.writer(t, kind) for t, kind in zip(targets, (word, flag), strict=False)]
    readers = [operands.reader(source, word) for source in instruction.operands[1:]]

    def shuffle(wave: Wave, lanes: Lanes) -> None:
        a, b, c, members = (_rows(wave, value(wave)) for value in readers)
        active = _meet(wave, lanes, members, instruction)
        source, inside = _source_lane(mode, b, c)
        lost = active & ~np.take_along_axis(active, source, axis=1)
        if lost.any():
            message = "shuffle from a lane that does not take part: its value is undefined"
            wave.fault(position, instruction, "inactive source lane", message, np.flatnonzero(lost))
        moved = np.take_along_axis(a, source, axis=1)
        for write, value in zip(writers, (moved, np.broadcast_to(inside, moved.shape)), strict=False):
            write(wave, lanes, value.reshape(wave.shape))

    return shuffle


def _vote(operands: Operands, position: int, instruction: Instruction) -> Action:
    match instruction.modifiers:
        case ("sync", "ballot" | "all" | "any" | "uni" as mode, _):
            pass
        case _:
            raise Unsupported
    flag = TYPES["pred"]
    write = operands.writer(instruction.operands[0], TYPES["b32"] if mode == "ballot" else flag)
    condition = operands.reader(instruction.operands[1], flag)
    mask = operands.reader(instruction.operands[2], TYPES["b32"])

    def vote(wave: Wave, lanes: Lanes) -> None:
        members = _rows(wave, mask(wave))
        active = _meet(wave, lanes, members, instruction)
        true = _rows(wave, condition(wave))
        yes, no = _ballot(active & true) & members, _ballot(active & ~true) & members
        result = {"ballot": yes, "any": yes != 0, "all": no == 0, "uni": (yes == 0) | (no == 0)}[mode]
        write(wave, lanes, result.reshape(wave.shape))

    return vote


def _active_mask(operands: Operands, position: int, instruction: Instruction) -> Action:
    write = operands.writer(instruction.operands[0], TYPES["b32"])

    def active_mask(wave: Wave, lanes: Lanes) -> None:
        here = _ballot(_rows(wave, lanes.mask))
        write(wave, lanes, np.broadcast_to(here, (len(here), WARP)).reshape(wave.shape))

    return active_mask


def _elect(operands: Operands, position: int, instruction: Instruction) -> Action:
    """The lowest lane of the member mask is the leader."""
    targets = elements(instruction.operands[0])
    write_leader, write_flag = (
        operands.writer(t, kind) for t, kind in zip(targets, (TYPES["b32"], TYPES["pred"]), strict=True)
    )
    mask = operands.reader(instruction.operands[1], TYPES["b32"])

    def elect(wave: Wave, lanes: Lanes) -> None:
        members = _rows(wave, mask(wave))
        present = members & _ballot(_meet(wave, lanes, members, instruction))
        leader = np.bitwise_count((present & (~present + np.uint32(1))) - np.uint32(1)).astype(np.uint32)
        write_leader(wave, lanes, leader.reshape(wave.shape))
        write_flag(wave, lanes, (leader == _LANE).reshape(wave.shape))

    return elect


_REDUCTIONS: dict[str, Callable[[Array, Array], Array]] = {
    "add": np.add,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}


def _reduce(operands: Operands, position: int, instruction: Instruction) -> Action:
    match instruction.modifiers:
        case ("sync", name, _) if name in _REDUCTIONS:
            combine = _REDUCTIONS[name]
        case _:
            raise Unsupported
    kind = operands.type_of(instruction)
    if kind.dtype.kind == "f":
        raise Unsupported("only reductions of integers are emulated")
    write = operands.writer(instruction.operands[0], kind)
    read = operands.reader(instruction.operands[1], kind)
    mask = operands.reader(instruction.operands[2], TYPES["b32"])

    def redux(wave: Wave, lanes: Lanes) -> None:
        members = _rows(wave, mask(wave))
        active = _meet(wave, lanes, members, instruction)
        values = _rows(wave, read(wave))
        total = np.zeros(values.shape, dtype=kind.dtype)
        for row in np.flatnonzero(active.any(axis=1)):
            for group in np.unique(members[row, active[row]]):
                together = active[row] & ((group & _BIT) != 0)
                total[row, together] = reduce(combine, values[row, together])
        write(wave, lanes, total.reshape(wave.shape))

    return redux


def _transpose_matrix(operands: Operands, position: int, instruction: Instruction) -> Action:
    """8 x 8 halves, row by row over the warp: lane t holds columns 2 (t mod 4) and the next of row t / 4."""
    if instruction.modifiers != ("sync", "aligned", "m8n8", "trans", "b16"):
        raise Unsupported
    word = TYPES["b32"]
    write = operands.writer(instruction.operands[0], word)
    read = operands.reader(instruction.operands[1], word)

    def movmatrix(wave: Wave, lanes: Lanes) -> None:
        values = np.ascontiguousarray(_rows(wave, read(wave)))
        _meet(wave, lanes, np.full_like(values, ~np.uint32(0)), instruction)
        turned = np.ascontiguousarray(values.view(np.uint16).reshape(-1, 8, 8).swapaxes(1, 2))
        write(wave, lanes, turned.view(np.uint32).reshape(wave.shape))

    return movmatrix


def _warp_barrier(operands: Operands, position: int, instruction: Instruction) -> Action:
    mask = operands.reader(instruction.operands[0], TYPES["b32"])

    def barrier(wave: Wave, lanes: Lanes) -> None:
        members = _rows(wave, mask(wave))
        active = _meet(wave, lanes, members, instruction)
        wave.tell(WarpBarrier(members, active))

    return barrier


ACTIONS: dict[str, Callable[[Operands, int, Instruction], Action]] = {
    "bar": _warp_barrier,
    "shfl": _shuffle,
    "vote": _vote,
    "activemask": _active_mask,
    "elect": _elect,
    "redux": _reduce,
    "movmatrix": _transpose_matrix,
}
