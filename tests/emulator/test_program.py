"""The order of basic blocks: topological, every loop in one piece."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cornerturn.emulator.program import blocks_of, visiting_order
from cornerturn.errors import EmulatorError
from cornerturn.ptx import parse

from .harness import image_of, launch_ptx

Graph = list[list[int]]


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    size = draw(st.integers(1, 9))
    node = st.integers(0, size - 1)
    return draw(st.lists(st.lists(node, max_size=2, unique=True), min_size=size, max_size=size))


def reach(graph: Graph, nodes: set[int]) -> dict[int, set[int]]:
    """What each node leads to, over at least one edge, without leaving ``nodes``."""
    found = {node: {m for m in graph[node] if m in nodes} for node in nodes}
    for middle in nodes:
        for node in nodes:
            if middle in found[node]:
                found[node] |= found[middle]
    return found


def loops(graph: Graph, nodes: set[int]) -> list[set[int]]:
    """The largest sets of nodes that all lead to each other."""
    found = reach(graph, nodes)
    return [
        set(loop)
        for loop in {frozenset({m for m in found[node] if node in found[m]}) for node in nodes if node in found[node]}
    ]


def check_order(graph: Graph, order: list[int]) -> None:
    rank = {node: r for r, node in enumerate(order)}
    found = reach(graph, set(order))
    for node in order:
        for after in found[node]:
            assert rank[node] < rank[after] or node in found[after], "what cannot come back comes later"
    for loop in loops(graph, set(order)):
        ranks = sorted(rank[node] for node in loop)
        assert ranks == list(range(ranks[0], ranks[0] + len(loop))), "a loop lies in one piece"
        inner = order[ranks[0] + 1 : ranks[-1] + 1]
        if len(inner) < len(loop):
            check_order(graph, inner)  # without its header, what is left is ordered in the same way


@settings(max_examples=300)
@given(graph=graphs())
def test_the_order_is_topological_and_keeps_loops_together(graph: Graph):
    order = visiting_order(graph)
    assert sorted(order) == list(range(len(graph)))
    reachable = reach(graph, set(order))[0] | {0}
    assert order[0] == 0 and set(order[: len(reachable)]) == reachable
    check_order(graph, order[: len(reachable)])


@settings(max_examples=200)
@given(graph=graphs())
def test_a_loop_that_is_entered_at_one_place_begins_there(graph: Graph):
    order = visiting_order(graph)
    reachable = reach(graph, set(order))[0] | {0}
    for loop in loops(graph, set(order)):
        entries = {m for node in reachable - loop for m in graph[node] if m in loop} | ({0} & loop)
        if len(entries) == 1 and loop <= reachable:
            assert min(loop, key=order.index) in entries


def test_a_long_chain_needs_no_deep_recursion():
    length = 20_000
    assert visiting_order([[n + 1] for n in range(length - 1)] + [[]]) == list(range(length))


def test_blocks_of_a_kernel_cover_it():
    image = image_of("""extern "C" __global__ void kernel(int* y, int n) {
        for (int i = threadIdx.x; i < n; i += blockDim.x) { if (y[i]) y[i] = 0; __syncthreads(); }
    }""")
    entry = parse(image.ptx, image.symbol)
    blocks = blocks_of(entry)
    covered = sorted((b.start, len(b.body) + (b.end is not None)) for b in blocks)
    position = 0
    for start, size in covered:
        assert start == position
        position += size
    assert position == len(entry.instructions)
    assert blocks[0].start == 0, "the kernel begins at the block of rank 0"


def test_code_that_no_path_reaches_is_never_run():
    text = """.version 8.5
    .target sm_90
    .visible .entry kernel(.param .u64 p) {
        .reg .u64 %at;
        ld.param.u64 %at, [p];
        bra.uni last;
        trap;
        exit;
    last:
        st.global.u32 [%at], 7;
        ret;
    }"""
    y = np.zeros(1, dtype=np.uint32)
    launch_ptx(text, "kernel", y)
    assert y.tolist() == [7]


def test_a_branch_to_nowhere_is_an_error():
    text = ".version 8.5\n.target sm_90\n.visible .entry kernel() { bra.uni nowhere; ret; }"
    with pytest.raises(EmulatorError, match=r"'bra\.uni nowhere' branches to a label that the kernel does not have"):
        blocks_of(parse(text, "kernel"))
