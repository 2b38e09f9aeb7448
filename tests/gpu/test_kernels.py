"""Every kernel of the catalogue on the device, bit for bit."""

import numpy as np
import pytest

from cornerturn.gpu import Device
from cornerturn.kernels.catalogue import CATALOGUE
from cornerturn.kernels.kernel import Kernel
from cornerturn.toolchain import build, unavailable_reason

KERNELS = [entry for entry in CATALOGUE if isinstance(entry, Kernel)]
SHAPES = [(1024, 1024), (1000, 1000), (1022, 514), (33, 65), (1, 1), (1, 4096), (4096, 1)]
GUARD = 1024  # elements behind the output that must stay untouched


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: "{}x{}".format(*shape))
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_every_bit_is_right(device: Device, kernel: Kernel, shape: tuple[int, int]):
    rows, cols = shape
    if rule := kernel.refuses(rows, cols):
        assert "got" in rule
        return
    if reason := unavailable_reason(kernel.source, device.facts.arch):
        pytest.skip(reason)
    # An odd factor permutes the 32-bit integers: every element is distinct, and NaNs of all kinds are among them.
    x = (np.arange(rows * cols, dtype=np.uint32) * np.uint32(0x9E3779B1)).reshape(rows, cols)
    expected = x if kernel.name == "copy" else x.T
    poison = np.concatenate([~expected.ravel(), np.full(GUARD, 0xDEADBEEF, np.uint32)])

    image, launch = build(kernel, device.facts.arch), kernel.launch(rows, cols)
    function = device.load(image.cubin, image.symbol, kernel.name)
    with device.upload(x) as x_buffer, device.upload(poison) as y_buffer:
        buffers = {"x": x_buffer, "y": y_buffer}
        arguments = [buffers[one] if isinstance(one, str) else one for one in launch.arguments]
        function.launch(launch.grid, launch.block, arguments, launch.shared_bytes)
        y = y_buffer.download(poison.shape, np.uint32)
        assert np.array_equal(x_buffer.download(shape, np.uint32), x), "the input was changed"

    assert np.array_equal(y[: x.size].reshape(expected.shape), expected)
    assert np.array_equal(y[x.size :], poison[x.size :]), "written behind the output"
