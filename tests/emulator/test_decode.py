"""What has no meaning in the emulator is named, with its line of the source."""

import numpy as np
import pytest

from cornerturn.errors import EmulatorError

from .harness import HEADER, launch_cuda, launch_ptx

FUNCTIONS = " ".join(
    [
        "namespace deep { __device__ __noinline__ float far(float v) { return v * v; } }",
        "__device__ __noinline__ float count(float v) { return v < 1 ? v : count(v - 1) + count(v - 2); }",
    ]
)


@pytest.mark.parametrize(
    ("body", "instruction", "reason"),
    [
        ("y[0] = __sinf(y[0]);", "sin.approx.f32", ""),
        ('printf("%d", (int)y[0]);', "call.uni (retval0), vprintf", "': printf was not inlined, and calls"),
        ("y[0] = deep::far(y[0]);", "call.uni (retval0), _ZN4deep3farEf", "': deep::far was not inlined, and calls"),
        (
            "y[0] = count(y[0]);",
            "call.uni (retval0), _Z5countf",
            "': count was not inlined, and calls are not emulated",
        ),
        ("y[0] = sin((double)y[0]);", "call.uni (retval0), __internal_trig_red", "slowpathd was not inlined"),
        ("y[0] = (y[0] > 2 ? &deep::far : &count)(y[0]);", "", "is not a variable, and functions have no address here"),
        ("y[0] = clock64();", "mov.u64 %rd1, %clock64", "%clock64 is not emulated"),
        ('asm volatile("mbarrier.init.shared.b64 [%0], 1;" :: "r"(0));', "mbarrier.init.shared.b64", ""),
        (
            'asm volatile("ld.acquire.cluster.global.f32 %0, [%1];" : "=f"(y[0]) : "l"(y));',
            "ld.acquire.cluster.global",
            "modifier .cluster",
        ),
        ('asm volatile("add.rz.f32 %0, %0, %0;" : "+f"(y[0]));', "add.rz.f32", ""),
    ],
)
def test_what_is_not_emulated_is_named_with_its_line(body: str, instruction: str, reason: str):
    text = f"""extern "C" __global__ void kernel(float* y) {{
        {body}
    }}"""
    if "far" in body or "count" in body:
        text = f"{FUNCTIONS} {text}"
    expected = f"kernel.cu:2: the emulator does not know the instruction '{instruction}"
    with pytest.raises(EmulatorError) as error:
        launch_cuda(text, np.ones(4, dtype=np.float32))
    assert str(error.value).startswith(expected)
    assert reason in str(error.value)


def test_an_assertion_that_holds_costs_nothing_and_one_that_fails_names_the_thread():
    text = """extern "C" __global__ void kernel(int* y) {
    assert(y[threadIdx.x] < 20);
    y[threadIdx.x] = 3;
}"""
    y = np.zeros(32, dtype=np.int32)
    launch_cuda(text, y)
    assert y.tolist() == [3] * 32
    with pytest.raises(EmulatorError, match=r"kernel.cu:2: an assertion failed in thread \(20, 0, 0\) of block"):
        launch_cuda(text, np.arange(32, dtype=np.int32))


def test_a_call_through_a_pointer_is_named():
    text = (
        HEADER
        + """.visible .entry kernel() {
        .reg .b64 %rd<2>;
        .loc 1 7 1
        prototype_0 : .callprototype ()_ ();
        call %rd1, (), prototype_0;
        ret;
    }"""
    )
    with pytest.raises(
        EmulatorError, match=r"': a function behind a pointer was not inlined, and calls are not emulated$"
    ):
        launch_ptx(text, "kernel")
