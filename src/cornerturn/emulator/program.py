"""A kernel's flow of control: basic blocks, in the order in which a wave visits them."""

from dataclasses import dataclass

import numpy as np

from cornerturn.emulator.types import Array
from cornerturn.errors import EmulatorError
from cornerturn.ptx import Entry, Instruction, Symbol

EXITS = frozenset({"ret", "exit"})


def is_barrier(instruction: Instruction) -> bool:
    """Whether it is a barrier of the block (``bar.warp.sync`` is one of the warp)."""
    return instruction.opcode in ("bar", "barrier") and "warp" not in instruction.modifiers


def is_failed_assertion(instruction: Instruction) -> bool:
    """Whether it is where ``assert`` goes when its condition does not hold."""
    return instruction.opcode == "call" and Symbol("__assertfail") in instruction.operands


def _leaves(instruction: Instruction) -> bool:
    """Whether control never goes on to the next instruction, unless a guard says so."""
    return instruction.opcode in EXITS | {"bra", "trap"} or is_failed_assertion(instruction)


def _ends_block(instruction: Instruction) -> bool:
    return _leaves(instruction) or is_barrier(instruction)


@dataclass(frozen=True)
class BasicBlock:
    """Instructions that always run together.

    Attributes:
        start: position of the first instruction in the kernel.
        body: the instructions before the last one, or all where control just falls through.
        end: the branch, exit or barrier that ends the block, or None.
        target: rank of the block that ``end`` branches to.
        following: rank of the next block in the text; equal to the number of blocks past the end of the kernel.
    """

    start: int
    body: tuple[Instruction, ...]
    end: Instruction | None
    target: int
    following: int

    @property
    def leaves(self) -> bool:
        """Whether it only exits."""
        return not self.body and self.end is not None and self.end.opcode in EXITS and self.end.guard is None

    @property
    def onward(self) -> tuple[int, ...]:
        """Ranks of the blocks in which control can go on."""
        jump = (self.target,) if self.end is not None and self.end.opcode == "bra" else ()
        stays = self.end is None or not _leaves(self.end) or self.end.guard is not None
        return (*jump, self.following) if stays else jump


def blocks_of(entry: Entry) -> list[BasicBlock]:
    """The kernel's basic blocks, in visiting order.

    A wave always runs the block of lowest rank that any lane waits for. The ranks are topological, loops are
    contiguous and come before what follows them, so lanes that part at a branch meet again no later than at its
    immediate post-dominator, where the hardware reconverges them.
    """
    instructions = entry.instructions
    starts = {0, *entry.labels.values()}
    starts |= {n + 1 for n, instruction in enumerate(instructions) if _ends_block(instruction)}
    cuts = sorted(start for start in starts if start < len(instructions))
    number = {start: n for n, start in enumerate(cuts)} | {len(instructions): len(cuts)}
    pieces = [instructions[a:b] for a, b in zip(cuts, [*cuts[1:], len(instructions)], strict=True)]
    targets = [_target(entry, piece[-1], number) for piece in pieces]
    successors = [_successors(n, piece[-1], targets[n], len(cuts)) for n, piece in enumerate(pieces)]
    order = visiting_order(successors)
    rank = {n: r for r, n in enumerate(order)} | {len(cuts): len(cuts)}
    blocks = []
    for n in order:
        jumps = _ends_block(pieces[n][-1])
        body = pieces[n][:-1] if jumps else pieces[n]
        end = pieces[n][-1] if jumps else None
        blocks.append(BasicBlock(cuts[n], body, end, rank[targets[n]], rank[n + 1]))
    return blocks


def paths_onward(blocks: list[BasicBlock]) -> Array:
    """Blocks x blocks by rank: whether control can go on from the one to the other without going back in a loop."""
    paths = np.zeros((len(blocks), len(blocks)), dtype=bool)
    for rank in reversed(range(len(blocks))):
        for successor in blocks[rank].onward:
            if rank < successor < len(blocks):
                paths[rank] |= paths[successor]
                paths[rank, successor] = True
    return paths


def _target(entry: Entry, last: Instruction, number: dict[int, int]) -> int:
    if last.opcode != "bra":
        return len(number) - 1
    label = last.operands[0]
    if not isinstance(label, Symbol) or label.name not in entry.labels:
        raise EmulatorError(f"{last.location}: '{last.text}' branches to a label that the kernel does not have")
    return number[entry.labels[label.name]]


def _successors(n: int, last: Instruction, target: int, end: int) -> list[int]:
    reached = []
    if last.opcode == "bra":
        reached.append(target)
    if not _leaves(last) or last.guard:
        reached.append(n + 1)
    return [block for block in reached if block < end]


def visiting_order(successors: list[list[int]]) -> list[int]:
    """Topological from block 0, every loop in one piece behind its header; what no path reaches comes last."""
    reached: set[int] = set()
    _postorder(0, dict(enumerate(successors)), reached)
    return _arrange(sorted(reached), successors) + [n for n in range(len(successors)) if n not in reached]


def _arrange(nodes: list[int], successors: list[list[int]]) -> list[int]:
    order: list[int] = []
    for component in _components(nodes, successors):
        header = component[0]
        order.append(header)
        if len(component) > 1:
            inner = sorted(component[1:], key=lambda n: (n not in successors[header], n))
            order.extend(_arrange(inner, successors))
    return order


def _components(nodes: list[int], successors: list[list[int]]) -> list[list[int]]:
    """Strongly connected components in topological order (Kosaraju), each with its first reached node first."""
    inside = set(nodes)
    forward = {n: [m for m in successors[n] if m in inside] for n in nodes}
    backward: dict[int, list[int]] = {n: [] for n in nodes}
    for n in nodes:
        for m in forward[n]:
            backward[m].append(n)
    finished: list[int] = []
    seen: set[int] = set()
    for n in nodes:
        finished.extend(_postorder(n, forward, seen))
    seen.clear()
    return [list(reversed(_postorder(n, backward, seen))) for n in reversed(finished) if n not in seen]


def _postorder(root: int, edges: dict[int, list[int]], seen: set[int]) -> list[int]:
    if root in seen:
        return []
    order, stack = [], [(root, iter(edges[root]))]
    seen.add(root)
    while stack:
        node, remaining = stack[-1]
        step = next((m for m in remaining if m not in seen), None)
        if step is None:
            order.append(node)
            stack.pop()
        else:
            seen.add(step)
            stack.append((step, iter(edges[step])))
    return order
