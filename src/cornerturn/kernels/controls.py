"""The controls: the copy, which no transpose can beat, and the view, which moves nothing."""

from cornerturn.kernels.grid import accepts_all, ceil_div, matrix_arguments
from cornerturn.kernels.kernel import CudaSource, Kernel, Launch, View
from cornerturn.kernels.source import lessons, read_source

_TEXT = read_source("controls.cu")
_LESSONS = lessons(_TEXT)


def _launch_copy(rows: int, cols: int) -> Launch:
    vectors, tail = divmod(rows * cols, 4)
    return Launch((ceil_div(vectors + tail, 256), 1, 1), (256, 1, 1), matrix_arguments(rows, cols))


COPY_SOURCE = CudaSource("controls.cu", _TEXT, ("copy",))

COPY = Kernel(
    name="copy",
    family="controls",
    source=COPY_SOURCE,
    entry="copy",
    element_bytes=4,
    launch=_launch_copy,
    refuses=accepts_all,
    lesson=_LESSONS["copy"],
)

VIEW = View(name="view", family="controls", lesson=_LESSONS["view"])

CONTROLS: tuple[Kernel | View, ...] = (COPY, VIEW)
