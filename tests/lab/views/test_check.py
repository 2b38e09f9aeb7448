from cornerturn.kernels.grid import accepts_all
from cornerturn.lab.user.checking import check
from cornerturn.lab.views.check import check_view

from ..printing import printed
from ..small_kernel import kernel_of


def kernel(condition, refuses=accepts_all):
    return kernel_of(
        "  unsigned c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y;\n"
        f"  if ({condition}) y[c * rows + r] = x[r * cols + c];",
        blocks=lambda rows, cols: (-(-cols // 32), rows, 1),
        refuses=refuses,
    )


def test_a_right_kernel_shows_its_shapes_and_its_costs():
    lines = printed(check_view(check(kernel("c < cols"), [(40, 40), (8, 64)])))
    assert lines[0] == "k.cu: k, emulator, PTX for sm_90"
    assert [line.split() for line in lines if line.endswith("right")] == [["40x40", "right"], ["8x64", "right"]]
    assert "What its accesses cost when x is 40 x 40" in lines
    assert lines[-1] == "no fault found at 2 shapes"


def test_a_fault_shows_its_line_and_its_shapes():
    lines = printed(check_view(check(kernel("true"), [(40, 40), (64, 64)])))
    assert lines[-1].endswith("found") and lines[-1] != "no fault found at 1 shape"
    fault = next(line for line in lines if "out of bounds" in line)
    assert fault == "k.cu:3: out of bounds, at 40x40"


def test_a_kernel_that_refuses_every_shape_was_not_checked():
    lines = printed(check_view(check(kernel("true", lambda rows, cols: "no shape will do"), [(40, 40)])))
    assert any("refused: no shape will do" in line for line in lines)
    assert lines[-1] == "nothing was checked: the kernel refuses every shape"
