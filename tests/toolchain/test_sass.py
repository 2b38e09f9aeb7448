"""Accesses are counted in PTX; here the machine code is held against it, kernel by kernel."""

from collections import Counter
from pathlib import Path

import pytest

from cornerturn.errors import CompileError, PtxError
from cornerturn.kernels.catalogue import CATALOGUE
from cornerturn.kernels.kernel import CudaSource, Kernel
from cornerturn.toolchain import Image, build, compile_source, sass, unavailable_reason
from cornerturn.toolchain.sass import (
    MemoryInstruction,
    find_nvdisasm,
    ptx_memory_instructions,
    sass_memory_instructions,
)

pytestmark = pytest.mark.skipif(find_nvdisasm() is None, reason="needs nvdisasm: pip install nvidia-cuda-nvdisasm")

KERNELS = [entry for entry in CATALOGUE if isinstance(entry, Kernel)]


def show(instructions: list[MemoryInstruction]) -> str:
    counted = sorted(Counter(instructions).items())
    return ", ".join(f"{n} x {found.kind} {found.space} {found.width} bytes" for found, n in counted)


# What ptxas makes of accesses of the production kernels, which are written for speed: in PTX, and in machine code.
NOT_FINAL = {
    # Of the unit that follows, only the first half can be needed.
    "ragged_8": (
        "4 x load global 16 bytes, 4 x load shared 16 bytes",
        "4 x load global 8 bytes, 4 x load shared 8 bytes",
    ),
}


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_ptx_and_sass_agree_on_number_and_width(kernel: Kernel, arch: str):
    if reason := unavailable_reason(kernel.source, arch):
        pytest.skip(reason)
    image = build(kernel, arch)
    ptx, sass = ptx_memory_instructions(image), sass_memory_instructions(image)
    assert ptx, "a kernel of the catalogue reads and writes memory"
    if kernel.name in NOT_FINAL:
        more, fewer = Counter(ptx) - Counter(sass), Counter(sass) - Counter(ptx)
        assert (show(list(more.elements())), show(list(fewer.elements()))) == NOT_FINAL[kernel.name]
        return
    assert show(ptx) == show(sass), (
        f"{kernel.name}: ptxas did not keep the memory instructions that are counted in PTX "
        "(it unrolled, split or merged them): write the kernel so that NVRTC's PTX is final already"
    )


def image_of(element: str, body: str) -> Image:
    text = f"""__global__ void own({element}* x, {element}* y, int n) {{
        __shared__ {element} tile[64];
        const int i = threadIdx.x;
        {body}
    }}"""
    return compile_source(CudaSource("own.cu", text, ("own",))).image("own")


LOAD, STORE = ("global", "load"), ("global", "store")
STAGE, UNSTAGE = ("shared", "store"), ("shared", "load")
MOVE = "y[i] = x[i];"
THROUGH_SHARED = "tile[i] = x[i]; __syncthreads(); y[i] = tile[63 - i];"
COPY_ASYNC = """asm volatile("cp.async.{how}.shared.global [%0], [%1], {width};" ::
    "r"((unsigned)__cvta_generic_to_shared(tile + i)), "l"(__cvta_generic_to_global(x + i)));"""


@pytest.mark.parametrize(
    ("element", "body", "expected"),
    [
        ("char", MOVE, [(*LOAD, 1), (*STORE, 1)]),
        ("unsigned char", MOVE, [(*LOAD, 1), (*STORE, 1)]),
        ("signed char", "y[i] = x[i] / 3;", [(*LOAD, 1), (*STORE, 1)]),
        ("short", MOVE, [(*LOAD, 2), (*STORE, 2)]),
        ("unsigned short", MOVE, [(*LOAD, 2), (*STORE, 2)]),
        ("short", "y[i] = x[i] / 3;", [(*LOAD, 2), (*STORE, 2)]),
        ("float", MOVE, [(*LOAD, 4), (*STORE, 4)]),
        ("double", MOVE, [(*LOAD, 8), (*STORE, 8)]),
        ("float2", MOVE, [(*LOAD, 8), (*STORE, 8)]),
        ("double2", MOVE, [(*LOAD, 16), (*STORE, 16)]),
        ("float", "if (i < n) y[i] = __ldg(x + i);", [(*LOAD, 4), (*STORE, 4)]),
        ("float4", "y[i].x = x[i].w;", [(*LOAD, 4), (*STORE, 4)]),
        ("float", "y[i] = *(volatile float*)(x + i);", [(*LOAD, 4), (*STORE, 4)]),
        ("char", THROUGH_SHARED, [(*LOAD, 1), (*STAGE, 1), (*UNSTAGE, 1), (*STORE, 1)]),
        ("short", THROUGH_SHARED, [(*LOAD, 2), (*STAGE, 2), (*UNSTAGE, 2), (*STORE, 2)]),
        ("float4", THROUGH_SHARED, [(*LOAD, 16), (*STAGE, 16), (*UNSTAGE, 16), (*STORE, 16)]),
        ("float", COPY_ASYNC.format(how="ca", width=4), [(*LOAD, 4), (*STAGE, 4)]),
        ("double", COPY_ASYNC.format(how="ca", width=8), [(*LOAD, 8), (*STAGE, 8)]),
        ("float4", COPY_ASYNC.format(how="cg", width=16), [(*LOAD, 16), (*STAGE, 16)]),
        ("float", "float own[4]; for (int k = 0; k < n; ++k) own[k & 3] = x[k]; y[i] = own[i & 3];", None),
    ],
)
def test_each_instruction_is_read_in_both_languages(element: str, body: str, expected: list | None):
    image = image_of(element, body)
    ptx, sass = ptx_memory_instructions(image), sass_memory_instructions(image)
    if expected is None:
        assert {found.space for found in ptx + sass} == {"global"}, "local memory is not listed"
    else:
        assert sorted(ptx) == sorted(sass) == sorted(MemoryInstruction(*one) for one in expected)


def test_only_the_kernel_asked_for_is_read():
    text = "__global__ void one(int* x) { *x = 1; } __global__ void none(int* x) {}"
    module = compile_source(CudaSource("two.cu", text, ("one", "none")))
    for read in (ptx_memory_instructions, sass_memory_instructions):
        assert len(read(module.image("one"))) == 1
        assert read(module.image("none")) == []


def test_a_symbol_that_is_not_there_is_an_error():
    image = image_of("float", MOVE)
    other = Image(image.ptx, image.cubin, "gone", image.arch, image.compiler)
    with pytest.raises(PtxError, match="no kernel gone"):
        ptx_memory_instructions(other)
    with pytest.raises(CompileError, match="no kernel gone"):
        sass_memory_instructions(other)


def test_damaged_machine_code_is_an_error():
    with pytest.raises(CompileError, match="nvdisasm cannot read"):
        sass_memory_instructions(Image("", b"no ELF", "gone", "sm_90", "none"))


@pytest.mark.parametrize(
    ("content", "mode", "rule"),
    [
        (b"\x7fELF garbage", 0o755, "nvdisasm cannot be run: Exec format error"),
        (b"#!/bin/sh", 0o644, "nvdisasm cannot be run: Permission denied"),
        (b"#!/bin/sh\nprintf '\\377\\376'", 0o755, "the machine code has no kernel gone"),
    ],
)
def test_an_nvdisasm_of_no_use_is_an_error(
    content: bytes, mode: int, rule: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    program = tmp_path / "nvdisasm"
    program.write_bytes(content)
    program.chmod(mode)
    monkeypatch.setattr(sass, "find_nvdisasm", lambda: str(program))
    with pytest.raises(CompileError, match=rule):
        sass_memory_instructions(Image("", content, "gone", "sm_90", "none"))
