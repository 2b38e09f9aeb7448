"""Bits on the device: fill an output with what is wrong everywhere, and compare it, without moving it to the host."""

from collections.abc import Sequence

import numpy as np

from cornerturn.gpu import Buffer, Device
from cornerturn.kernels.kernel import CudaSource
from cornerturn.toolchain import compile_source

THREADS = 256

SOURCE = CudaSource(
    "gpu_bits.cu",
    """// One byte per thread.
__device__ unsigned long long byte_of_thread() { return blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x; }

extern "C" __global__ void spoil(unsigned char* y, const unsigned char* expected, unsigned long long bytes) {
    const unsigned long long i = byte_of_thread();
    if (i < bytes) y[i] = ~expected[i];
}

extern "C" __global__ void differ(const unsigned char* y, const unsigned char* expected, unsigned long long bytes,
                                  int* found) {
    const unsigned long long i = byte_of_thread();
    if (i < bytes && y[i] != expected[i]) *found = 1;
}
""",
    ("spoil", "differ"),
)


class Bits:
    """Compares memory of one device with what it should hold.

    All methods wait for what the device does.
    """

    def __init__(self, device: Device) -> None:
        module = compile_source(SOURCE, device.facts.arch)
        self._spoil, self._differ = (
            device.load(image.cubin, image.symbol, image.symbol) for image in map(module.image, SOURCE.entries)
        )
        self._found = device.allocate(4)

    def spoil(self, address: int, expected: Buffer, nbytes: int) -> None:
        """Write the inverse of ``expected``, so that every bit is wrong."""
        arguments: list[Buffer | np.generic] = [np.uint64(address), expected, np.uint64(nbytes)]
        self._spoil.launch(_grid(nbytes), (THREADS, 1, 1), arguments)

    def equal(self, addresses: Sequence[int], expected: Buffer, nbytes: int) -> bool:
        """Return whether each place holds the ``nbytes`` bytes with which ``expected`` starts."""
        self._found.fill(0)
        for address in addresses:
            arguments: list[Buffer | np.generic] = [np.uint64(address), expected, np.uint64(nbytes), self._found]
            self._differ.launch(_grid(nbytes), (THREADS, 1, 1), arguments)
        return not self._found.download(1, np.int32)[0]


def _grid(nbytes: int) -> tuple[int, int, int]:
    return -(-nbytes // THREADS), 1, 1
