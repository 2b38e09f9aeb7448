"""Every kernel of the catalogue on the device, bit for bit."""

import numpy as np
import pytest

from cornerturn.gpu import Device
from cornerturn.kernels.catalogue import CATALOGUE
from cornerturn.kernels.kernel import Kernel
from cornerturn.lab.matrices import distinct
from cornerturn.toolchain import build, unavailable_reason

KERNELS = [entry for entry in CATALOGUE if isinstance(entry, Kernel)]
SHAPES = [(1024, 1024), (1000, 1000), (1022, 514), (33, 65), (1, 1), (1, 4096), (4096, 1), (3, 4096), (4096, 16)]
GUARD = 4096  # bytes behind the output that must stay untouched


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: "{}x{}".format(*shape))
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_every_bit_is_right(device: Device, kernel: Kernel, shape: tuple[int, int]):
    rows, cols = shape
    if rule := kernel.refuses(rows, cols):
        assert "got" in rule
        return
    if reason := unavailable_reason(kernel.source, device.facts.arch):
        pytest.skip(reason)
    # Elements as distinct as their size allows, NaNs of all kinds among them.
    x = distinct(rows, cols, kernel.element_bytes)
    expected = x if kernel.name == "copy" else x.T
    poison = np.concatenate(
        [~np.ascontiguousarray(expected).reshape(-1).view(np.uint8), np.full(GUARD, 0xA5, np.uint8)]
    )

    image, launch = build(kernel, device.facts.arch), kernel.launch(rows, cols)
    function = device.load(image.cubin, image.symbol, kernel.name)
    with device.upload(x) as x_buffer, device.upload(poison) as y_buffer:
        buffers = {"x": x_buffer, "y": y_buffer}
        arguments = [buffers[one] if isinstance(one, str) else one for one in launch.arguments]
        function.launch(launch.grid, launch.block, arguments, launch.shared_bytes)
        y = y_buffer.download(poison.shape, np.uint8)
        assert np.array_equal(x_buffer.download(shape, x.dtype), x), "the input was changed"

    assert np.array_equal(y[: x.nbytes].view(x.dtype).reshape(expected.shape), expected)
    assert np.array_equal(y[x.nbytes :], poison[x.nbytes :]), "written behind the output"
