"""Loops that change nothing."""

import numpy as np
import pytest

from cornerturn.errors import EmulatorError

from .harness import launch_cuda

ENDLESS = {
    "waiting for memory": "while (y[1] == 0) {}",
    "writing the same": "while (true) y[0] = y[1] + 1;",
    "several blocks": "for (;;) { if (y[1] != 0) y[2] = 1; else if (y[2] == 0) y[0] = threadIdx.x; }",
    "waiting for a warp": "while (threadIdx.x < 32 && y[1] == 0) {} y[1] = 1;",
    "at a barrier": "while (true) { __syncthreads(); y[0] = 1; }",
    "going back and forth": "while (true) { y[1] = 1 - y[1]; }",
}


@pytest.mark.parametrize("body", ENDLESS.values(), ids=ENDLESS)
def test_a_loop_that_changes_nothing_is_found(body: str):
    text = f'extern "C" __global__ void kernel(volatile int* y) {{\n    {body}\n}}'
    with pytest.raises(EmulatorError, match=r"^kernel.cu:2: a loop of kernel kernel changes neither registers nor m"):
        launch_cuda(text, np.zeros(4, dtype=np.int32), block=64)
