import re
import sys
from pathlib import Path

import pytest

from cornerturn.errors import CompileError, MissingExtraError, UsageError
from cornerturn.kernels.kernel import CudaSource, CudaText
from cornerturn.toolchain import nvrtc

SCALE = """
extern "C" __global__ void scale(float* x) {
    x[threadIdx.x] *= 2;
}
template <int N> __global__ void add(float* x) {
    x[threadIdx.x] += N;
}
"""


def compile_scale(file: str = "scale.cu", entries: tuple[str, ...] = ("scale",), arch: str = "sm_90"):
    return nvrtc.compile_with_nvrtc(CudaSource(file, SCALE, entries), arch)


def test_every_entry_has_its_symbol_in_ptx_and_cubin():
    module = compile_scale(entries=("scale", "add<3>", "add<4>"))
    assert module.symbols["scale"] == "scale"
    assert len(set(module.symbols.values())) == 3
    for symbol in module.symbols.values():
        assert f".entry {symbol}(" in module.ptx
        assert symbol.encode() in module.cubin


def test_an_image_is_one_kernel_of_the_module():
    module = compile_scale(entries=("scale", "add<3>"))
    image = module.image("add<3>")
    assert (image.ptx, image.cubin, image.symbol) == (module.ptx, module.cubin, module.symbols["add<3>"])
    assert image.arch == "sm_90"
    assert re.fullmatch(r"nvrtc \d+\.\d+", image.compiler)


@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_90a"])
def test_code_is_for_the_architecture_asked_for(arch: str):
    assert f".target {arch}\n" in compile_scale(arch=arch).ptx.replace(", debug", "")


def test_the_module_does_not_depend_on_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    here = compile_scale()
    monkeypatch.chdir(tmp_path)
    assert compile_scale() == here
    assert str(tmp_path).encode() not in here.cubin


@pytest.mark.parametrize("file", ["scale.cu", "my kernels/scale.cu", "/home/someone/scale.cu", "../Größe.cu"])
def test_the_line_table_names_the_file_as_it_was_given(file: str):
    ptx = compile_scale(file).ptx
    assert re.findall(r'\.file\s+1\s+"(.*)"', ptx) == [file]
    assert re.search(r"\.loc\s+1\s+3\s", ptx)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("\n__global__ void f(int* a) { a[0] = b; }", 'own.cu(2): error: identifier "b" is undefined'),
        ("__global__ void f(int* a) { a[0] = 1 }", 'own.cu(1): error: expected a ";"'),
        (
            '#include "other.h"\n__global__ void f() {}',
            "own.cu(1): catastrophic error: could not open source",
        ),
        ('\n\n__global__ void f() {\n  asm("bogus;");\n}', "own.cu(4): error: "),
        (
            "__global__ void f(int i) { __shared__ int s[99999]; s[i] = s[i + 1]; s[0]++; }",
            "too much shared data",
        ),
        (
            "extern __device__ void far(int);\n__global__ void f(int* a) { far(a[0]); }",
            "own.cu: fatal: Unresolved extern function '_Z3fari'",
        ),
        ("__global__ void g(int* a) {}", "own.cu has no kernel f"),
        ("__device__ void f(int* a) {}", "own.cu has no kernel f: that function is not __global__"),
        (
            "template <class T> __global__ void f(T* a) {}",
            "own.cu has no kernel f: it is a template: name an instance, such as f<float> or f<32>",
        ),
        (
            "__global__ void f(int* a) {} __global__ void f(float* a) {}",
            "own.cu has no kernel f: several functions have that name, in the file or in CUDA: rename it",
        ),
    ],
)
def test_a_compile_error_shows_the_users_file_and_line(text: str, message: str):
    with pytest.raises(CompileError) as caught:
        nvrtc.compile_with_nvrtc(CudaSource("own.cu", text, ("f",)), "sm_90")
    shown = str(caught.value)
    assert message in shown
    assert not re.search("nv_name_map|mangled_name|detected|Remark|ptxas|/own.cu", shown)


def test_arguments_that_a_template_does_not_take_are_not_advised():
    source = CudaSource("own.cu", "template <class T, int N> __global__ void f(T* a) {}", ("f<float>",))
    with pytest.raises(CompileError, match=r"no kernel f<float>: it is a template, and these arguments are not those"):
        nvrtc.compile_with_nvrtc(source, "sm_90")


def test_an_error_of_the_assembler_names_the_file_of_its_line():
    parts = CudaText("parts.cuh", '\n__device__ void part() { asm("bogus;"); }')
    source = CudaSource("own.cu", "__global__ void f() { part(); }", ("f",), preceding=(parts,))
    with pytest.raises(CompileError, match=r"^parts\.cuh\(2\): error: "):
        nvrtc.compile_with_nvrtc(source, "sm_90")


def test_a_kernel_with_the_name_of_a_function_of_cuda_is_named():
    text = 'extern "C" __global__ void clock(int* a) { a[0] = 1; }'
    with pytest.raises(CompileError, match=r"^own\.cu has no kernel clock: several functions have that name"):
        nvrtc.compile_with_nvrtc(CudaSource("own.cu", text, ("clock",)), "sm_90")


def test_a_line_directive_shows_its_file_and_no_folder_of_the_machine():
    text = '#line 500 "generated/other.cu"\n__global__ void f(int* a) { a[0] = 1; }\n#line 7 "/made/third.cu"\n'
    text += "__global__ void g(int* a) { a[0] = 1; }"
    ptx = nvrtc.compile_with_nvrtc(CudaSource("own.cu", text, ("f", "g")), "sm_90").ptx
    assert sorted(re.findall(r'\.file\s+\d+\s+"(.*)"', ptx)) == ["/made/third.cu", "generated/other.cu"]


def test_only_the_missing_entry_is_named():
    with pytest.raises(CompileError, match=r"^scale\.cu has no kernel sub<3>$"):
        compile_scale(entries=("scale", "add<3>", "sub<3>"))


@pytest.mark.parametrize("arch", ["banana", "sm_12", "sm_9", "90", "compute_90", "sm_90b", "sm_75a", "sm_90f", ""])
def test_an_unknown_architecture_is_refused_with_those_that_are_known(arch: str):
    with pytest.raises(UsageError) as caught:
        compile_scale(arch=arch)
    assert repr(arch) in str(caught.value)
    assert "sm_90, " in str(caught.value)


def test_a_missing_compiler_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "cuda.bindings", None)
    nvrtc._nvrtc.cache_clear()
    with pytest.raises(MissingExtraError, match=r"pip install .*nvidia-cuda-nvrtc"):
        compile_scale()
