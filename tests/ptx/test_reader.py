"""Reading PTX: what the text says, and where in the source it comes from."""

import re
from typing import Any

import numpy as np
import pytest

from cornerturn.errors import PtxError
from cornerturn.ptx import (
    Address,
    Immediate,
    Instruction,
    Register,
    Symbol,
    Vector,
    kernel_names,
    parameters,
    parse,
)

from ..emulator.harness import HEADER, image_of, launch_cuda, launch_ptx


def instructions(body: str) -> tuple[Instruction, ...]:
    return parse(f"{HEADER}.visible .entry kernel(.param .u64 p) {{ {body} }}", "kernel").instructions


@pytest.mark.parametrize(
    ("text", "operands"),
    [
        ("ld.global.u32 %r1, [%rd1];", (Register("%r1"), Address(Register("%rd1")))),
        ("ld.global.u32 %r1, [%rd1+8];", (Register("%r1"), Address(Register("%rd1"), 8))),
        ("ld.global.u32 %r1, [%rd1+-8];", (Register("%r1"), Address(Register("%rd1"), -8))),
        ("ld.global.u32 %r1, [ %rd1 + 0x10 ];", (Register("%r1"), Address(Register("%rd1"), 16))),
        ("ld.shared.u32 %r1, [tile+4];", (Register("%r1"), Address(Symbol("tile"), 4))),
        ("ld.shared.u32 %r1, [256];", (Register("%r1"), Address(Immediate(256)))),
        ("mov.u32 %r1, -5;", (Register("%r1"), Immediate(-5))),
        ("mov.u32 %r1, 0x1F;", (Register("%r1"), Immediate(31))),
        ("mov.u32 %r1, 4294967295U;", (Register("%r1"), Immediate(4294967295))),
        ("mov.f32 %f1, 0f3F800000;", (Register("%f1"), Immediate(0x3F800000, 4))),
        ("mov.f64 %fd1, 0dBFF0000000000000;", (Register("%fd1"), Immediate(0xBFF0000000000000, 8))),
        ("mov.u32 %r1, WARP_SZ;", (Register("%r1"), Immediate(32))),
        ("mov.u32 %r1, %tid.x;", (Register("%r1"), Register("%tid.x"))),
        ("mov.u64 %rd1, _ZZ6kernelE4tile$1;", (Register("%rd1"), Symbol("_ZZ6kernelE4tile$1"))),
        (
            "st.global.v2.u32 [%rd1], {%r1, %r2};",
            (Address(Register("%rd1")), Vector((Register("%r1"), Register("%r2")))),
        ),
        ("mov.b64 {%r1, _}, %rd1;", (Vector((Register("%r1"), Register("_"))), Register("%rd1"))),
        (
            "shfl.sync.up.b32 %r1|%p1, %r2, 1, 0, -1;",
            (
                Vector((Register("%r1"), Register("%p1"))),
                *(Register("%r2"), Immediate(1), Immediate(0), Immediate(-1)),
            ),
        ),
        (
            "setp.lt.and.u32 %p1, %r1, %r2, !%p2;",
            (*(Register("%p1"), Register("%r1"), Register("%r2")), Register("%p2", negated=True)),
        ),
        ("bar.sync 0;", (Immediate(0),)),
        ("ret;", ()),
    ],
)
def test_operands(text: str, operands: tuple[Any, ...]):
    (found,) = instructions(text)
    assert found.operands == operands
    assert found.text == " ".join(text.rstrip(";").split())


def test_opcode_modifiers_and_guard():
    plain, guarded, negated = instructions(
        "ld.global.nc.L1::no_allocate.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1];"
        "@%p1 bra.uni\t$L_1;\n@!%p2\nadd.s32 %r1,%r2,%r3;"
    )
    assert (plain.opcode, plain.modifiers) == ("ld", ("global", "nc", "L1::no_allocate", "v4", "f32"))
    assert plain.guard is None
    assert (guarded.opcode, guarded.guard) == ("bra", Register("%p1"))
    assert guarded.operands == (Symbol("$L_1"),)
    assert negated.guard == Register("%p2", negated=True)


def test_comments_directives_and_debug_sections_are_skipped():
    text = f"""// a comment with {{ braces }} and ; semicolons
    {HEADER}
    .extern .func (.param .b32 result) vprintf (.param .b64 a, .param .b64 b);
    /* .visible .entry kernel(.param .u64 fake) {{ trap; }} */
    .visible .func helper(.param .b32 a) {{ .reg .b32 %r<2>; ret; }}
    .visible .entry other(.param .u32 n) {{ trap; }}
    .weak .entry kernel(
        .param .u64 .ptr .global .align 16 kernel_param_0, // the matrix
        .param .align 8 .b8 kernel_param_1[24]
    )
    .maxntid 256, 1, 1
    .minnctapersm 2
    {{
        .pragma "nounroll";
        .reg .b32 %r<3>;
        mov.u32 %r1, 7; // the last line
        ret;
    }}
    .section .debug_str {{ $L__info_string0: .b8 95,90,0 }}
    .file 1 "late.cu"
    """
    kernel = parse(text, "kernel")
    assert [i.text for i in kernel.instructions] == ["mov.u32 %r1, 7", "ret"]
    assert [(p.size, p.align, p.space) for p in kernel.parameters] == [(8, 8, "param"), (24, 8, "param")]
    assert kernel.max_threads == 256
    assert [i.text for i in parse(text, "other").instructions] == ["trap"]


def test_lines_of_the_source():
    text = f"""{HEADER}
    .visible .entry kernel() {{
        .loc 1 7 3
        mov.u32 %r1, 1;
        .loc 2 40 5, function_name $L__info_string0, inlined_at 1 8 9
        mov.u32 %r1, 2;
        mov.u32 %r1, 3;
        .loc 1 9 1
        ret;
    }}
    .file 1 "kernel.cu"
    .file 2 "include/tile.h"
    """
    found = [(i.location, i.inlined_at) for i in parse(text, "kernel").instructions]
    assert found == [
        ("kernel.cu:7", ()),
        ("include/tile.h:40", ("kernel.cu:8",)),
        ("include/tile.h:40", ("kernel.cu:8",)),
        ("kernel.cu:9", ()),
    ]


def test_the_compilers_line_table_leads_through_inlined_calls():
    text = """__device__ int load(const int* x) {
    return *x;
}
__device__ int twice(const int* x) {
    return load(x) + load(x + 1);
}
extern "C" __global__ void kernel(const int* x, int* y) {
    y[threadIdx.x] =
        twice(x + threadIdx.x);
}"""
    image = image_of(text)
    loads = [i for i in parse(image.ptx, image.symbol).instructions if i.opcode == "ld" and "global" in i.modifiers]
    assert [(i.location, i.inlined_at) for i in loads] == [("kernel.cu:2", ("kernel.cu:5", "kernel.cu:9"))] * 2


def test_scopes_of_inline_assembly_do_not_meet():
    """Every copy of an asm statement declares the same names: registers and labels."""
    text = r"""__device__ __forceinline__ int count(int n) {
        int total;
        asm volatile("{\n\t.reg .pred done;\n\t.reg .b32 left;\n\t"
                     "mov.b32 left, %1;\n\tmov.b32 %0, 0;\n"
                     "again:\n\t"
                     "setp.le.s32 done, left, 0;\n\t@done bra out;\n\t"
                     "{\n\t.reg .b32 left2;\n\tadd.s32 left2, left, 0;\n\tadd.s32 %0, %0, left2;\n\t}\n\t"
                     "sub.s32 left, left, 1;\n\tbra again;\nout:\n\t}"
                     : "=&r"(total) : "r"(n));
        return total;
    }
    extern "C" __global__ void kernel(int* y) {
        const int first = count(threadIdx.x), second = count(5);
        y[threadIdx.x] = first * 100 + second;
    }"""
    y = np.zeros(32, dtype=np.int32)
    launch_cuda(text, y)
    assert y.tolist() == [t * (t + 1) // 2 * 100 + 15 for t in range(32)]


def test_a_name_in_an_inner_scope_hides_the_outer_one():
    text = f"""{HEADER}
    .visible .entry kernel(.param .u64 p) {{
        .reg .u64 %at; .reg .u32 %r<4>, value;
        ld.param.u64 %at, [p];
        mov.u32 value, 1;
        mov.u32 %r1, 10;
        {{ .reg .u32 value; .reg .u32 %r<2>; mov.u32 value, 2; mov.u32 %r1, 20; add.u32 %r3, value, %r1; }}
        add.u32 value, value, %r1;
        st.global.v2.u32 [%at], {{value, %r3}};
        ret;
    }}"""
    y = np.zeros(2, dtype=np.uint32)
    launch_ptx(text, "kernel", y)
    assert y.tolist() == [11, 22]


def test_variables_of_the_module_and_of_the_kernel():
    text = f"""{HEADER}
    .visible .const .align 4 .f32 scale = 0f40200000;
    .global .align 2 .b8 table[2][3] = {{ {{1, 2, 0xFF}}, {{-1}} }};
    .global .u64 pointer = generic(table);
    .extern .shared .align 16 .b8 dynamic[];
    .visible .entry kernel() {{
        .shared .align 8 .f64 pair[2];
        .local .align 16 .b8 __local_depot0[40];
        .reg .b32 %r<9>;
        mov.u32 %r1, scale; mov.u32 %r2, table; mov.u32 %r3, dynamic; mov.u32 %r4, pair; mov.u32 %r5, __local_depot0;
        ret;
    }}"""
    found = {v.name: (v.space, v.size, v.align, v.initial) for v in parse(text, "kernel").variables}
    assert found == {
        "scale": ("const", 4, 4, bytes.fromhex("00002040")),
        "table": ("global", 6, 2, bytes([1, 2, 255, 255])),
        "dynamic": ("shared", 0, 16, b""),
        "pair": ("shared", 16, 8, b""),
        "__local_depot0": ("local", 40, 16, b""),
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"{HEADER}.visible .entry other() {{ ret; }}", "the PTX holds no kernel kernel; it holds: other"),
        (HEADER, "it holds: none"),
        ("", "it holds: none"),
        (f"{HEADER}.visible .entry kernel() {{ ret;", "the PTX ends inside a function body: the text is cut off"),
        (
            f"{HEADER}.global .u64 p = generic(x);\n.visible .entry kernel() {{ .reg .u64 %rd; mov.u64 %rd, p; ret; }}",
            "variable p is initialised with generic(x): only numbers are emulated, no addresses",
        ),
        (f"{HEADER}.visible .entry kernel() {{ 5 + 5; }}", "?: cannot read the PTX statement '5 + 5'"),
        (f"{HEADER}.visible .entry kernel() {{ mov.u32 %r1, a+b; }}", "?: cannot read the operand 'a+b'"),
        (f"{HEADER}.visible .entry kernel() {{ ld.u32 %r1, [a+b]; }}", "?: cannot read the address '[a+b]'"),
    ],
)
def test_text_that_is_no_kernel(text: str, message: str):
    with pytest.raises(PtxError, match=re.escape(message)):
        parse(text, "kernel")


def test_any_cut_is_an_error_of_ours():
    """However the text was damaged, no other exception comes out."""
    image = image_of("""extern "C" __global__ void kernel(const float4* x, float4* y, int n) {
        __shared__ float4 tile[32];
        if (threadIdx.x < n) tile[threadIdx.x] = x[threadIdx.x];
        __syncthreads();
        y[threadIdx.x] = tile[31 - threadIdx.x];
    }""")
    for cut in range(0, len(image.ptx), 23):
        arrays = (np.zeros(128, dtype=np.float32), np.zeros(128, dtype=np.float32))
        try:
            launch_ptx(image.ptx[:cut], image.symbol, *arrays, np.int32(32))
        except PtxError:
            continue
        assert image.ptx[cut:].count("}") == image.ptx[cut:].count("{"), "only what follows the kernel may be missing"


TWO = f"""{HEADER}
.visible .func helper(.param .b32 a) {{ ret; }}
// .entry commented() {{ ret; }}
.visible .entry one(.param .u64 .ptr .global .align 16 x, .param .align 8 .b8 pair[24], .param .f32 scale) {{ ret; }}
.entry declared(.param .u32 n);
.weak .entry _Z3twov() {{ 5 + 5; }}
"""


def test_the_kernels_of_a_module_are_listed():
    assert kernel_names(TWO) == ("one", "_Z3twov")
    assert kernel_names("") == ()


def test_parameters_are_read_without_the_body():
    assert [(each.type, each.array, each.size) for each in parameters(TWO, "one")] == [
        ("u64", False, 8),
        ("b8", True, 24),
        ("f32", False, 4),
    ]
    assert parameters(TWO, "_Z3twov") == ()
    with pytest.raises(PtxError, match="the PTX holds no kernel three; it holds: one, two"):
        parameters(TWO, "three")
