import os
import shutil
from dataclasses import replace

import numpy as np
import pytest

from cornerturn.errors import CompileError, UsageError
from cornerturn.files import TEXT_BYTES
from cornerturn.kernels.kernel import CudaProgram
from cornerturn.lab import check
from cornerturn.lab.user.cuda_text import take_apart
from cornerturn.lab.user.kernel import Recipe, read_kernel

BODY = "int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < rows * cols) y[i % cols * rows + i / cols] = x[i];"
PLAIN = f"__global__ void turn(const float* x, float* y, int rows, int cols) {{ {BODY} }}\n"
LAUNCH = {"block": "128", "grid": "ceil(rows*cols/block.x)"}
MAIN = "#include <cstdio>\n" + PLAIN + 'int main() { turn<<<1, 1>>>(0, 0, 0, 0); printf("%d", 1); }\n'


@pytest.fixture
def file(tmp_path):
    def write(text):
        path = tmp_path / "k.cu"
        path.write_text(text)
        return path

    return write


def test_a_header_comment_serves_instead_of_options(file):
    text = "// cornerturn: block = 64, 2 grid=ceil(rows * cols / 64), 1  args=x,y,rows,cols\n" + PLAIN
    assert Recipe.of_comments(take_apart(text).comments, "k.cu") == Recipe(
        block="64, 2", grid="ceil(rows * cols / 64), 1"
    )
    launch = read_kernel(file(text), {}).launch(10, 13)
    assert (launch.grid, launch.block) == ((3, 1, 1), (64, 2, 1))
    assert launch.arguments == ("x", "y", 10, 13)


def test_options_go_before_the_header(file):
    text = "// cornerturn: block=64 grid=rows\n" + PLAIN
    assert read_kernel(file(text), {"block": "32"}).launch(10, 13).block == (32, 1, 1)


def test_arguments_take_the_parameters_types(file):
    text = """struct Two { int a, b; };
    __global__ void turn(double scale, float* y, unsigned long long n, const float* x, short s, float f, char c) {}"""
    kernel = read_kernel(file(text), {**LAUNCH, "args": "2.5, y, rows*cols, x, -3, 1/4, cols"})
    arguments = kernel.launch(10, 13).arguments
    assert [a if isinstance(a, str) else a.dtype.name for a in arguments] == [
        *("float64", "y", "uint64", "x", "uint16", "float32", "uint8")
    ]
    assert arguments[0] == 2.5
    assert arguments[4].view(np.int16) == -3
    assert arguments[5] == 0.25


@pytest.mark.parametrize(
    ("text", "entry"),
    [
        (PLAIN, "turn"),
        ("// __global__ void other()\n/* __global__ void third() {} */\n" + PLAIN, "turn"),
        ('extern "C" ' + PLAIN, "turn"),
        (PLAIN.replace("void turn", "void __launch_bounds__(128) turn"), "turn"),
        (PLAIN.replace("__global__ void", "static __global__ void"), "turn"),
        (f"#if 0\n__global__ void old() {{}}\n#endif\n{PLAIN}", "turn"),
        (f"#define KERNEL __global__ void\n{PLAIN.replace('__global__ void', 'KERNEL')}", "turn"),
        (f"namespace a {{ namespace b {{ {PLAIN} }} }}", "a::b::turn"),
        (f"namespace {{ {PLAIN} }}", "turn"),
        (f"template <int n>\n{PLAIN.replace('turn', 'many')}", "many<3>"),
    ],
)
def test_the_kernel_is_found(file, text, entry):
    asked = {"entry": entry} if "<" in entry else {}
    kernel = read_kernel(file(text), {**LAUNCH, **asked})
    assert kernel.entry == entry
    assert check(kernel, [(33, 20)]).passed


@pytest.mark.parametrize(
    ("text", "asked", "message"),
    [
        ("__device__ int a;", LAUNCH, "k.cu has no __global__ function"),
        (PLAIN + PLAIN.replace("turn", "spin"), LAUNCH, "k.cu has 2 kernels, spin, turn: choose one with --entry"),
        ("template <int n> " + PLAIN, LAUNCH, "turn is a template: give its arguments, as --entry 'turn<32>'"),
        (PLAIN, {"block": "128"}, "k.cu: the launch is not known: give --grid, or write a comment"),
        (PLAIN, {"grid": "1"}, "k.cu: the launch is not known: give --block, or write a comment"),
        ("// cornerturn: blocks=1\n" + PLAIN, LAUNCH, "got 'blocks=1'"),
        (
            "// cornerturn: block=1 block=2\n" + PLAIN,
            LAUNCH,
            "each of entry, block, grid, args, shared, element_bytes once",
        ),
        (PLAIN, {**LAUNCH, "args": "x,y,rows"}, "the kernel takes 4 arguments and 3 are given"),
        (PLAIN, {**LAUNCH, "args": "x,y,rows,x"}, "argument 4 is x, a pointer, but the parameter there is a .u32"),
        (PLAIN, {**LAUNCH, "args": "x,y,rows,width"}, "args: unknown name 'width': the names are rows, cols, block.x"),
        (
            PLAIN,
            {**LAUNCH, "args": "x,y,rows,width"},
            "; args is one for each parameter of the kernel, such as x,y,rows,",
        ),
        (PLAIN, {**LAUNCH, "block": "32x32"}, "block: '32x32' is not an expression: it may hold"),
        (PLAIN, {**LAUNCH, "block": "32x32"}, "; block is threads along x, y and z, such as 32,8"),
        (PLAIN, {**LAUNCH, "block": "1.5"}, "block: 1.5 is not whole: write ceil(1.5), or // for /"),
        (
            PLAIN,
            {**LAUNCH, "grid": "cols,,1"},
            "; grid is blocks along x, y and z, such as ceil(cols/32),ceil(rows/32)",
        ),
        (PLAIN, {**LAUNCH, "grid": "wide,1"}, "grid: unknown name 'wide'"),
        (PLAIN, {**LAUNCH, "shared": "4kB"}, "; shared is bytes of a block, such as 4*block.x"),
        (PLAIN, {**LAUNCH, "grid": "rows-32"}, "grid must be 1 to 3 numbers of at least 1: got 0 for rows = 32"),
        (PLAIN, {**LAUNCH, "block": "1,1,1,1"}, "block must be 1 to 3 numbers"),
        (PLAIN, {**LAUNCH, "shared": "-1"}, "shared must be a number, at least 0: got -1"),
        (
            "struct S { int a[3]; };" + PLAIN.replace("int cols", "S s, int cols"),
            {**LAUNCH, "args": "x,y,rows,1,cols"},
            "argument 4 is a structure",
        ),
        (
            "struct S { int a, b; }; __global__ void turn(const float* x, float* y, S s) {}",
            {**LAUNCH, "args": "x,y,rows", "grid": "1"},
            "argument 3 is a structure",
        ),
        (
            "struct S { float* a; }; __global__ void turn(const float* x, S s, int rows, int cols) {}",
            LAUNCH,
            "argument 2 is a structure",
        ),
        (
            PLAIN.replace("int cols", "int cols, float scale"),
            {**LAUNCH, "args": "x,y,rows,cols,1e300"},
            "argument 5 is 1e+300: a .f32",
        ),
        (
            PLAIN.replace("int cols", "int cols, double scale"),
            {**LAUNCH, "args": "x,y,rows,cols,1e300*1e300"},
            "a .f64 holds at most",
        ),
        (PLAIN, {**LAUNCH, "args": "x,y,4294967296,cols"}, "does not fit in 32 bits"),
        (PLAIN, {**LAUNCH, "args": "x,y,-2147483649,cols"}, "does not fit in 32 bits"),
        (PLAIN, {**LAUNCH, "block": "()"}, "'()' is empty"),
        (PLAIN, {**LAUNCH, "grid": "1e300*1e300*1e300"}, "is too large a number"),
        (
            f"namespace a {{ template <typename E> {PLAIN} }}",
            LAUNCH,
            "a::turn is a template: give its arguments, as --entry 'a::turn<float>'",
        ),
    ],
)
def test_bad_usage_names_the_rule(file, text, asked, message):
    with pytest.raises(UsageError) as error:
        read_kernel(file(text), asked)
    assert message in str(error.value)


def test_a_file_that_cannot_be_read(tmp_path):
    with pytest.raises(UsageError, match="no such file"):
        read_kernel(tmp_path / "none.cu", {})
    (tmp_path / "binary.cu").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="not a text file"):
        read_kernel(tmp_path / "binary.cu", {})


def test_a_pipe_and_a_huge_file_are_refused_unread(tmp_path):
    os.mkfifo(tmp_path / "pipe.cu")
    with pytest.raises(UsageError, match="not a regular file"):
        read_kernel(tmp_path / "pipe.cu", {})
    with (tmp_path / "huge.cu").open("wb") as file:
        file.truncate(TEXT_BYTES + 1)
    with pytest.raises(UsageError, match="8388609 bytes are too many: at most 8388608"):
        read_kernel(tmp_path / "huge.cu", {})


@pytest.mark.parametrize(
    "text", ["/* " * 40_000 + "*/" + PLAIN, "// padding\n" * 150_000 + PLAIN, "\n" * 60_000 + PLAIN]
)
def test_a_long_file_takes_the_time_of_its_length(file, text):
    """Quadratic time, here or in the compiler's log, would be minutes."""
    assert read_kernel(file(text), LAUNCH).entry == "turn"


def test_a_compiler_log_keeps_its_lines(file):
    with pytest.raises(CompileError) as error:
        read_kernel(file(PLAIN.replace("x[i];", "x[i]")), LAUNCH)
    assert "k.cu(1): error: expected" in str(error.value)
    assert str(error.value).count("\n") >= 2


def test_host_code_without_nvcc_is_explained(file, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CORNERTURN_CACHE", str(tmp_path / "cache"))
    with pytest.raises(CompileError) as error:
        read_kernel(file(MAIN), LAUNCH)
    assert "could not open source file" in str(error.value)
    assert "NVRTC compiles device code only" in str(error.value)
    assert "this file has '#include'" in str(error.value)
    assert "nvcc, which is not on PATH" in str(error.value)


needs_nvcc = pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs nvcc")


@needs_nvcc
def test_host_code_is_compiled_with_nvcc(file):
    kernel = read_kernel(file(MAIN), LAUNCH)
    assert isinstance(kernel.source, CudaProgram)
    found = check(kernel, [(33, 20)])
    assert found.passed
    assert {access.location for access in found.emulation.accesses} == {"k.cu:2"}


@needs_nvcc
def test_a_template_of_a_program_is_instantiated(file):
    text = MAIN.replace("__global__", "namespace mine { template <int n> __global__").replace(
        "}\nint main", "}}\nint main"
    )
    text = text.replace("turn<<<1", "mine::turn<2><<<1")
    kernel = read_kernel(file(text), {**LAUNCH, "entry": "mine::turn<7>"})
    assert check(kernel, [(33, 20)]).passed
    with pytest.raises(CompileError, match=r"k\.cu has no kernel mine::spin"):
        read_kernel(file(text), {**LAUNCH, "entry": "mine::spin"})


@needs_nvcc
def test_an_error_of_a_program_has_its_line(file):
    with pytest.raises(CompileError, match=r"k\.cu\(2\): error: expected"):
        read_kernel(file(MAIN.replace("x[i];", "x[i]")), LAUNCH)


@pytest.mark.parametrize(
    ("size", "element"), [(1, "char"), (2, "short"), (4, "float"), (8, "double"), (16, "double2")], ids=str
)
def test_elements_of_any_size_are_checked(file, size, element):
    text = f"typedef {element} T;\n" + PLAIN.replace("float", "T")
    header = f"// cornerturn: element_bytes={size} block=128 grid=ceil(rows*cols/128)\n"
    assert check(read_kernel(file(header + text), {}), [(33, 20), (64, 64)]).passed
    kernel = read_kernel(file(text), {**LAUNCH, "element_bytes": str(size)})
    assert kernel.element_bytes == size
    found = check(replace(kernel, element_bytes=2 * size if size < 16 else 8), [(33, 20)])
    assert not found.passed


@pytest.mark.parametrize("size", ["3", "0", "32", "", "four"])
def test_other_element_sizes_are_refused(file, size):
    with pytest.raises(UsageError, match=f"element_bytes must be 1, 2, 4, 8 or 16: got '{size}'"):
        read_kernel(file(PLAIN), {**LAUNCH, "element_bytes": size})
