"""A kernel that is wrong in any way must not pass: here are the ways, one small kernel each."""

from dataclasses import replace

import numpy as np
import pytest

from cornerturn.errors import UsageError
from cornerturn.kernels.catalogue import find
from cornerturn.kernels.controls import COPY
from cornerturn.kernels.kernel import Launch
from cornerturn.lab.matrices import distinct
from cornerturn.lab.run import run_emulated

from .small_kernel import kernel_of

ROWS, COLS = 40, 36


def one_thread_an_element(body):
    """A kernel in which one thread handles one element of x: ``x[i]`` with ``i = r * cols + c``."""
    return kernel_of(
        "  unsigned i = blockIdx.x * blockDim.x + threadIdx.x, r = i / cols, c = i % cols;\n"
        "  if (i >= rows * cols) return;\n"
        f"  {body}",
        128,
        lambda rows, cols: (-(-rows * cols // 128), 1, 1),
    )


def run(body):
    return run_emulated(one_thread_an_element(body), distinct(ROWS, COLS))


def test_a_right_kernel_is_valid():
    done = run("y[c * rows + r] = x[i];")
    assert done.valid
    assert done.faults == ()
    assert np.array_equal(done.output, distinct(ROWS, COLS).T)
    assert done.timing is None
    assert [access.kind for access in done.emulation.accesses] == ["load", "store"]
    assert done.emulation.warp_instructions > 0


@pytest.mark.parametrize(
    ("body", "wrong", "unwritten"),
    [
        pytest.param("y[i] = x[i];", ROWS * COLS - 2, 0, id="untransposed"),
        pytest.param("y[c * rows + r] = x[i < 2 ? 1 - i : i];", 2, 0, id="two elements swapped"),
        pytest.param("if (i != 77) y[c * rows + r] = x[i];", 1, 1, id="one element left out"),
        pytest.param("if (rows > 9999) y[i] = 0;", ROWS * COLS, ROWS * COLS, id="nothing written"),
        pytest.param("y[c * rows + r] = x[i] ^ (i == 5);", 1, 0, id="one bit flipped"),
        pytest.param("((char*)y)[4 * (c * rows + r)] = x[i];", ROWS * COLS, ROWS * COLS, id="a quarter written"),
        pytest.param("y[c * rows + r] = ~x[i];", ROWS * COLS, 0, id="written with the poison itself"),
    ],
)
def test_a_wrong_output_is_found_and_counted(body, wrong, unwritten):
    done = run(body)
    assert not done.valid
    assert (done.mismatch.wrong, done.mismatch.unwritten) == (wrong, unwritten)
    assert f"{wrong} of {ROWS * COLS} elements {'is' if wrong == 1 else 'are'} wrong" in done.faults[0]


def test_the_first_wrong_element_is_named():
    mismatch = run("y[c * rows + r] = x[i] + (r == 3 && c == 2);").mismatch
    x = distinct(ROWS, COLS)
    assert (mismatch.row, mismatch.col) == (2, 3)
    assert (mismatch.got, mismatch.expected) == (x[3, 2] + 1, x[3, 2])


def test_a_hazard_makes_a_run_invalid_though_every_bit_is_right():
    done = run("y[c * rows + r] = x[i]; if (i == 0) *(volatile unsigned*)&x[rows * cols];")
    assert done.mismatch is None
    assert not done.valid
    (fault,) = done.faults
    assert fault.startswith("k.cu:4: out of bounds: ")


def test_the_copy_control_must_copy_and_nothing_else_may():
    x = distinct(ROWS, COLS)
    done = run_emulated(COPY, x)
    assert done.valid
    assert np.array_equal(done.output, x)
    assert not run_emulated(replace(COPY, name="impostor"), x).valid


def test_a_refused_shape_raises_with_the_rule():
    with pytest.raises(UsageError, match="f32x4_col2row refuses 4x6: cols must be a multiple of 4: got 6"):
        run_emulated(find("f32x4_col2row"), distinct(4, 6))


@pytest.mark.parametrize("dtype", ["float32", ">i4", "V4"])
def test_the_output_has_the_dtype_of_x(dtype):
    x = distinct(ROWS, COLS).view(dtype)
    done = run_emulated(find("naive"), x)
    assert done.valid
    assert done.output.dtype == x.dtype
    assert done.output.tobytes() == x.T.tobytes()


@pytest.mark.parametrize("shape", [(4,), (0, 3), (2, 2, 2)])
def test_what_is_no_matrix_is_refused_before_any_kernel_is_blamed(shape):
    with pytest.raises(UsageError, match="x must have two axes"):
        run_emulated(find("naive"), np.zeros(shape, np.uint32))


@pytest.mark.parametrize(("kernel", "name"), [(find("view"), "view"), ("naive", "'naive'"), (None, "None")])
def test_what_is_no_kernel_is_not_launched(kernel, name):
    with pytest.raises(UsageError, match=f"^{name} is not a kernel and launches nothing"):
        run_emulated(kernel, distinct(4, 4))


def test_an_argument_has_the_name_of_a_matrix():
    launch = Launch((1, 1, 1), (32, 1, 1), ("x", "z", np.uint32(4), np.uint32(4)))
    with pytest.raises(UsageError, match="argument 1 of the launch is 'z': the matrices are named x and y"):
        run_emulated(replace(find("naive"), launch=lambda rows, cols: launch), distinct(4, 4))


@pytest.mark.parametrize("arch", [None, 90, b"sm_90", ["sm_90"], "sm_75", "sm_9"])
def test_an_architecture_that_cannot_be_is_refused(arch):
    with pytest.raises(UsageError, match=r"architecture .* sm_80"):
        run_emulated(find("naive"), distinct(4, 4), arch)


def test_progress_ends_with_all_blocks():
    seen = []
    run_emulated(find("naive"), distinct(100, 100), progress=lambda done, blocks: seen.append((done, blocks)))
    assert seen[-1] == (16, 16)
    assert seen == sorted(seen)


def test_x_is_left_alone():
    x = distinct(33, 65)
    run_emulated(find("tiled_32"), x)
    assert np.array_equal(x, distinct(33, 65))


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("const_cast<unsigned*>(x)[i] = 0; y[i] = 0;", id="zeroes both"),
        pytest.param("y[c * rows + r] = x[i]; atomicAdd(const_cast<unsigned*>(x) + i, 1);", id="adds to x afterwards"),
    ],
)
def test_a_kernel_that_writes_x_is_not_valid_and_leaves_it_alone(body):
    x = distinct(ROWS, COLS)
    done = run_emulated(one_thread_an_element(body), x)
    assert any("write to an input" in fault for fault in done.faults)
    assert np.array_equal(x, distinct(ROWS, COLS))
