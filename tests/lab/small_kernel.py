"""A kernel of a few lines."""

from collections.abc import Callable

from cornerturn.kernels.grid import Rule, accepts_all, matrix_arguments
from cornerturn.kernels.kernel import CudaSource, Kernel, Launch

HEAD = 'extern "C" __global__ void k(const unsigned* x, unsigned* y, unsigned rows, unsigned cols) {\n'

Blocks = Callable[[int, int], tuple[int, int, int]]


def kernel_of(
    body: str, threads: int = 32, blocks: Blocks = lambda rows, cols: (1, 1, 1), refuses: Rule = accepts_all
) -> Kernel:
    """Return the kernel ``k`` of ``k.cu`` over elements of 4 bytes; the body begins in line 2."""
    return Kernel(
        name="k",
        family="tests",
        source=CudaSource("k.cu", f"{HEAD}{body}\n}}\n", ("k",)),
        entry="k",
        element_bytes=4,
        launch=lambda rows, cols: Launch(blocks(rows, cols), (threads, 1, 1), matrix_arguments(rows, cols)),
        refuses=refuses,
        lesson="For tests.",
    )
