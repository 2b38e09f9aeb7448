"""One thread's way, for every kernel; the steps must agree with each other, and y with x."""

from dataclasses import replace

import pytest

from cornerturn.errors import UsageError
from cornerturn.kernels.catalogue import CATALOGUE, find
from cornerturn.kernels.kernel import CudaSource, Kernel
from cornerturn.lab.observation import Element
from cornerturn.lab.tracing import trace
from cornerturn.lab.views.trace import trace_view
from cornerturn.toolchain import unavailable_reason

from .printing import printed
from .small_kernel import kernel_of

KERNELS = [entry for entry in CATALOGUE if isinstance(entry, Kernel)]
READ_BEYOND = [kernel.name for kernel in KERNELS if kernel.name.startswith("ragged")]
"""What these read around a tile is not all written by the block."""
SHARE_OUT = ["permute_1", "permute_2", *READ_BEYOND]
"""Of these, units of another length are read than written: a thread may write more elements than it reads, or none."""


def staging(body):
    """One block of 32 threads and a shared tile, for an x of 1 x 32."""
    return kernel_of(f"  __shared__ unsigned tile[64]; unsigned t = threadIdx.x;\n  {body}")


def elements_of(run, memory, kind):
    """How many elements a block reads or writes."""
    moved = (each for each in run.movements if (each.memory, each.kind) == (memory, kind))
    return sum(each.width * len(each.thread) for each in moved) // run.element_bytes


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_the_threads_of_a_block_move_each_element_once_to_where_it_belongs(kernel):
    if reason := unavailable_reason(kernel.source):
        pytest.skip(reason)
    rows, cols = (128, 128) if kernel.refuses(128, 128) is None else (5, 2048)
    launch = kernel.launch(rows, cols)
    at = (launch.grid[0] - 1, launch.grid[1] - 1)
    arrived = []
    width, height, _ = launch.block
    for number in range(0, width * height, 32):  # one thread a warp and each lane somewhere
        thread = (number + number // 32 % 32) % width, (number + number // 32 % 32) // width
        followed = trace(kernel, rows, cols, at, thread)
        assert followed.astray == []
        assert printed(trace_view(followed))[-1]
        arrivals = list(followed.arrivals())
        loads = [value for step in followed.steps if (step.memory, step.kind) == ("x", "load") for value in step.values]
        if kernel.name not in SHARE_OUT:
            assert arrivals
            assert len(loads) == len(arrivals)
        arrived += [place for _, place, _ in arrivals]
        for step in followed.steps:
            if step.memory == "x":
                assert step.values == step.places
            assert bool(step.writers) == (step.memory == "shared" and step.kind == "load")
    assert arrived
    assert len(set(arrived)) == len(arrived)
    read, written = elements_of(followed.run, "x", "load"), elements_of(followed.run, "y", "store")
    assert read > written if kernel.name in READ_BEYOND else read == written


@pytest.mark.parametrize(
    "name", ["tiled_8", "shared_padding", "tiled_async", "tiled_vectorized", "f32x4_shared_row2col2d"]
)
def test_what_a_thread_takes_was_stored_there_by_the_thread_that_is_named(name):
    kernel = find(name)
    followed = trace(kernel, 64, 64, (0, 0), (3, 5))
    taken = [step for step in followed.steps if step.writers]
    assert taken
    for step in taken:
        for number, (value, writer) in enumerate(zip(step.values, step.writers, strict=True)):
            cell = step.offset + 4 * number
            stored = [
                (value, each.offset + 4 * n)
                for each in trace(kernel, 64, 64, (0, 0), writer[:2]).steps
                if (each.memory, each.kind) == ("shared", "store")
                for n, value in enumerate(each.values)
            ]
            assert (value, cell) in stored


def test_an_element_that_goes_astray_is_named():
    followed = trace(staging("y[t] = x[t ^ 1];"), 1, 32, (0, 0), (4, 0))
    assert followed.astray == [(Element(0, 5), Element(4, 0), Element(5, 0))]
    assert printed(trace_view(followed))[-1] == "x[0, 5] arrives at y[4, 0] and belongs at y[5, 0]."


def test_the_last_thread_that_stored_into_a_cell_is_the_one_that_is_named():
    body = "tile[t] = x[t]; __syncthreads(); if (t >= 16) tile[t - 16] = x[t]; __syncthreads(); y[t] = tile[t % 16];"
    followed = trace(staging(body), 1, 32, (0, 0), (3, 0))
    (taken,) = (step for step in followed.steps if step.writers)
    assert (taken.writers, taken.values) == (((19, 0, 0),), (Element(0, 19),))


@pytest.mark.parametrize(
    ("at", "thread", "message"),
    [
        ((2, 0), (0, 0), "block 2,0 is outside the 2 x 3 blocks"),
        ((0, 0), (32, 0), "thread 32,0 is outside the 32 x 8 threads"),
        ((0, 0), (0, 8), "thread 0,8 is outside the 32 x 8 threads"),
    ],
)
def test_what_lies_outside_of_the_launch_is_refused(at, thread, message):
    with pytest.raises(UsageError, match=message):
        trace(find("shared_padding"), 96, 64, at, thread)


def test_a_refused_shape_is_refused_with_the_rule():
    with pytest.raises(UsageError, match="cols must be a multiple of 4: got 3"):
        trace(find("f32x4_col2row"), 3, 3, (0, 0), (0, 0))


@pytest.mark.parametrize("size", [1, 2, 4, 8, 16])
def test_elements_of_any_size_are_told_apart(size):
    """More elements than a byte or two number: where a value is from is seen all the same."""
    kernel, rows, cols = find(f"tile_{size}"), 256, 512
    last = kernel.launch(rows, cols).grid[0] - 1
    followed = trace(kernel, rows, cols, (last, 0), (37, 0))
    assert followed.astray == []
    assert all(value.row * cols + value.col > 2**16 for value, _, _ in followed.arrivals())
    assert len(list(followed.arrivals())) >= 2


def test_what_is_no_element_of_x_is_said_to_be_none():
    body = "tile[t] = t; tile[32 + t] = x[t]; __syncthreads(); y[t] = tile[32 + tile[t]] + (t == 9);"
    followed = trace(staging(body), 1, 32, (0, 0), (9, 0))
    assert [step.values for step in followed.steps if step.kind == "store"] == [
        (None,),
        (Element(0, 9),),
        (None,),
    ]
    assert printed(trace_view(followed))[-1] == "What arrives at y[9, 0] is not an element of x."
    assert followed.astray == [(None, Element(9, 0), None)]
    rows = [" ".join(line.split()) for line in printed(trace_view(followed))]
    assert any(row.endswith("stores shared, bank 9 +36 none") for row in rows)


def test_a_variable_of_the_module_is_no_matrix():
    kernel = staging("y[t] = x[t ^ table[t]];")
    text = kernel.source.text.replace('extern "C"', '__device__ unsigned table[32] = {1, 1};\nextern "C"')
    followed = trace(replace(kernel, source=CudaSource("k.cu", text, ("k",))), 1, 32, (0, 0), (1, 0))
    assert [(step.memory, step.offset, step.values) for step in followed.steps] == [
        ("variable", 4, (None,)),
        ("x", 0, (Element(0, 0),)),
        ("y", 4, (Element(0, 0),)),
    ]
