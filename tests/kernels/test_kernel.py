"""Sources of one and of several files."""

import re

import pytest

from cornerturn.errors import CompileError
from cornerturn.kernels.kernel import CudaSource, CudaText
from cornerturn.toolchain.nvrtc import compile_with_nvrtc

TWICE = CudaText("twice.cu", "// doubles\n__device__ int twice(int value) { return 2 * value; }\n")
TEXT = "__global__ void f(int* a) {\n    *a = twice(*a);\n}\n"


def test_a_source_of_one_file_is_compiled_as_it_is() -> None:
    assert CudaSource("f.cu", TEXT, ("f",)).joined() == TEXT


def test_every_file_is_named_and_its_lines_are_numbered_from_one() -> None:
    joined = CudaSource("f.cu", TEXT, ("f",), (TWICE,)).joined(str.upper)
    assert joined == f'#line 1 "TWICE.CU"\n{TWICE.text}\n#line 1 "F.CU"\n{TEXT}'


def test_line_tables_name_every_file() -> None:
    ptx = compile_with_nvrtc(CudaSource("f.cu", TEXT, ("f",), (TWICE,)), "sm_90").ptx
    files = dict(re.findall(r'\.file\s+(\d+)\s+"(.*)"', ptx))
    places = {(files[number], int(line)) for number, line in re.findall(r"\.loc\s+(\d+)\s+(\d+)", ptx)}
    assert set(files.values()) == {"f.cu", "twice.cu"}
    assert {("f.cu", 2), ("twice.cu", 2)} <= places


@pytest.mark.parametrize(
    ("preceding", "text", "message"),
    [
        ("// one\n__device__ int twice(int value) { return value + b; }", TEXT, r"^twice\.cu\(2\): error: identifier"),
        (TWICE.text, TEXT.replace("twice", "thrice"), r"^f\.cu\(2\): error: identifier"),
    ],
)
def test_an_error_names_the_file_that_it_is_in(preceding: str, text: str, message: str) -> None:
    with pytest.raises(CompileError, match=message):
        compile_with_nvrtc(CudaSource("f.cu", text, ("f",), (CudaText("twice.cu", preceding),)), "sm_90")
