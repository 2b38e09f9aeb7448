"""Accesses that nothing orders: each way to omit the ordering, and each way to have it."""

import re
from dataclasses import replace

import numpy as np
import pytest

from cornerturn.emulator import Memory, emulate
from cornerturn.kernels.catalogue import CATALOGUE
from cornerturn.kernels.kernel import CudaSource, Kernel
from cornerturn.lab.matrices import distinct
from cornerturn.lab.run import run_emulated
from cornerturn.toolchain import compile_source

SHARED = [
    kernel
    for kernel in CATALOGUE
    if isinstance(kernel, Kernel) and "__syncthreads" in kernel.source.text and kernel.family != "production"
]


def races(body, *, block=(64, 1, 1), grid=(1, 1, 1), words=256):
    """The races of a kernel with this body, which has ``t`` (its thread), ``tile`` (shared) and ``y`` (an output)."""
    text = (
        'extern "C" __global__ void k(unsigned* y) {\n'
        "  __shared__ unsigned tile[256]; volatile unsigned* s = tile; unsigned t = threadIdx.x; (void)s;\n"
        f"{body}\n"
        "}\n"
    )
    image = compile_source(CudaSource("k.cu", text, ("k",))).image("k")
    memory = Memory()
    y = memory.bind(np.zeros(words, dtype=np.uint32), "y", written=False)
    done = emulate(image.ptx, image.symbol, memory, grid=grid, block=block, arguments=[y])
    return [hazard for hazard in done.hazards if "race" in hazard.kind]


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("s[t] = t; __syncthreads(); y[t] = s[63 - t];", id="a barrier between write and read"),
        pytest.param("s[t] = t; y[t] = s[t];", id="a thread and itself"),
        pytest.param("s[t] = t; __syncthreads(); y[t] = s[63 - t]; __syncthreads(); s[t] = 1;", id="and back"),
        pytest.param("s[t] = t; __syncwarp(); y[t] = s[t ^ 1];", id="a barrier of the warp"),
        pytest.param("s[t] = t; __syncwarp(3u << (t & 30)); y[t] = s[t ^ 1];", id="a barrier of two lanes"),
        pytest.param(
            "s[t] = t; __syncwarp(); if (t % 32 < 16) __syncwarp(65535); y[t] = s[t ^ 1];", id="an earlier barrier"
        ),
        pytest.param(
            "s[t] = t; unsigned l = t & 31; if (l < 2) __syncwarp(3); if (l == 1 || l == 2) __syncwarp(6);\n"
            "if (l == 2) y[t] = s[t - 2];",
            id="by way of a third lane",
        ),
        pytest.param("if (t < 64) s[9] = 7;", id="the same value from everyone"),
        pytest.param("atomicAdd(&tile[0], 1u);", id="atomics"),
        pytest.param("((volatile unsigned char*)s)[t] = t;", id="neighbouring bytes"),
        pytest.param("y[t & 31] = 5;", id="the same value in an output"),
        pytest.param("y[t] = t; __syncthreads(); y[63 - t] = t + 1;", id="an output written again after a barrier"),
        pytest.param(
            's[t] = t; asm volatile("bar.sync 1, 64;" ::: "memory"); y[t] = s[63 - t];',
            id="a numbered barrier of the whole block",
        ),
        pytest.param(
            's[t] = t; asm volatile("bar.sync %0, 32;" :: "r"(1 + t / 32) : "memory"); y[t] = s[t ^ 1];',
            id="a numbered barrier for each warp",
        ),
    ],
)
def test_what_is_ordered_does_not_race(body):
    assert races(body) == []


@pytest.mark.parametrize(
    ("body", "line", "kind", "message"),
    [
        pytest.param(
            "s[t] = t;\ny[t] = s[63 - t];",
            4,
            "race",
            "thread (0, 0, 0) of block (0, 0, 0) reads shared memory + 252 bytes, which thread (63, 0, 0) writes at "
            "k.cu:3, and nothing orders the two",
            id="read after write",
        ),
        pytest.param(
            "s[t] = 0; __syncthreads();\ny[t] = s[63 - t];\ns[t] = t;",
            5,
            "race",
            "thread (0, 0, 0) of block (0, 0, 0) writes shared memory + 0 bytes, which thread (63, 0, 0) reads at "
            "k.cu:4, and nothing orders the two",
            id="write after read",
        ),
        pytest.param(
            "s[t] = t;\ns[(t + 1) % 64] = t;",
            4,
            "write-write race",
            "which thread (1, 0, 0) writes at k.cu:3 with another value",
            id="write after write",
        ),
        pytest.param(
            "s[t] = 0; __syncthreads();\ny[t] = s[0];\nif (t == 63) s[0] = 5;",
            5,
            "race",
            "thread (63, 0, 0) of block (0, 0, 0) writes shared memory + 0 bytes, which thread (62, 0, 0) reads at ",
            id="one of many readers writes",
        ),
        pytest.param(
            "s[t] = t; unsigned l = t & 31; if (l < 2) __syncwarp(3); if (l == 2 || l == 3) __syncwarp(12);\n"
            "if (l == 2) y[t] = s[t - 2];",
            4,
            "race",
            "",
            id="by way of nobody",
        ),
        pytest.param("s[t / 2] = t;", 3, "write-write race", "writes in the same instruction", id="one instruction"),
        pytest.param("s[t] = t;\ny[t] = s[t ^ 1];", 4, "race", "thread (1, 0, 0) writes", id="lanes of one warp"),
        pytest.param(
            "s[t] = t; y[t] = __shfl_sync(~0u, t, 0);\ny[t] += s[t ^ 1];", 4, "race", "", id="a shuffle orders nothing"
        ),
        pytest.param(
            "s[t] = t; __syncwarp();\ny[t] = s[63 - t];", 4, "race", "", id="a barrier of the warp, read across warps"
        ),
        pytest.param(
            "s[t] = t; __syncwarp(1u << (t & 31));\ny[t] = s[t ^ 1];", 4, "race", "", id="a barrier of one lane"
        ),
        pytest.param(
            's[t] = t; asm volatile("bar.sync %0, 32;" :: "r"(1 + t / 32) : "memory");\ny[t] = s[63 - t];',
            4,
            "race",
            "",
            id="each warp its own barrier",
        ),
        pytest.param("atomicAdd(&tile[0], 1u);\ny[t] = s[0];", 4, "race", "", id="an atomic and a read"),
        pytest.param("((volatile unsigned char*)s)[t] = t;\ny[t] = s[t / 4];", 4, "race", "", id="a byte of a word"),
        pytest.param("y[t & 31] = t;", 3, "write-write race", "y + 0 bytes", id="an output written twice"),
    ],
)
def test_a_race_is_found_at_its_line_with_both_threads(body, line, kind, message):
    found = {hazard.location: hazard for hazard in races(body)}[f"k.cu:{line}"]
    assert found.kind == kind
    assert message in found.message


def test_blocks_are_never_ordered():
    (found,) = races("__syncthreads(); y[t] = blockIdx.x;", grid=(2, 1, 1))
    assert (found.kind, found.block, found.count) == ("write-write race", (0, 0, 0), 64)
    assert found.message == (
        "thread (0, 0, 0) of block (0, 0, 0) writes y + 0 bytes, which thread (0, 0, 0) of block (1, 0, 0) writes "
        "in the same instruction with another value, and nothing orders the two"
    )


def test_blocks_of_different_waves_race_too():
    (found,) = races("y[t] = blockIdx.x / 1999;", block=(64, 1, 1), grid=(2000, 1, 1))
    assert "of block (1999, 0, 0) writes y + 0 bytes, which thread (0, 0, 0) of block (1535, 0, 0)" in found.message


@pytest.mark.parametrize("kernel", SHARED, ids=lambda kernel: kernel.name)
def test_every_barrier_of_the_catalogue_is_needed(kernel):
    """Take out each barrier in turn: lanes in lockstep still give the right output, and only the race shows."""
    text, x = kernel.source.text, distinct(256, 256)
    start = text.index(f"__global__ void {kernel.entry.split('<')[0]}(")
    end = text.index("\n}\n", start)
    for barrier in re.finditer(r"__syncthreads\(\);", text[start:end]):
        cut = start + barrier.start()
        source = CudaSource("k.cu", text[:cut] + text[start + barrier.end() :], (kernel.entry,))
        done = run_emulated(replace(kernel, source=source), x)
        assert done.mismatch is None
        hazard = done.emulation.hazards[0]
        assert (hazard.kind, hazard.block) == ("race", (0, 0, 0))
        lines = [text.splitlines()[int(line) - 1] for line in re.findall(r"k.cu:(\d+)", str(hazard))]
        assert len(lines) == 2
        assert "__shared__" not in "".join(lines)
