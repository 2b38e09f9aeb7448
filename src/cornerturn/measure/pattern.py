"""Memory of a device that holds known bytes, and the comparison of what was moved out of it, without a host's copy.

A byte of the pattern is a hash of its place: what an output must hold follows from where its elements come from, and
an input that was damaged excuses nothing. The second highest bit of every byte is 0: read as floating-point numbers of
any dtype, elements are finite.
"""

from dataclasses import dataclass
from typing import cast

import numpy as np

from cornerturn.gpu import Buffer, Device
from cornerturn.kernels.kernel import CudaSource
from cornerturn.op.strided_view import MAX_NDIM, StridedView
from cornerturn.toolchain import compile_source

THREADS = 256

SOURCE = CudaSource(
    "pattern.cu",
    f"constexpr int max_rank = {MAX_NDIM};"
    """
using Word = unsigned long long;

// Eight bytes of the pattern. The hash is the finalizer of SplitMix64 (Steele, Lea, Flood 2014).
__device__ Word word_at(Word index) {
    Word word = (index + 1) * 0x9E3779B97F4A7C15ull;
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9ull;
    word = (word ^ (word >> 27)) * 0x94D049BB133111EBull;
    return (word ^ (word >> 31)) & 0xBFBFBFBFBFBFBFBFull;
}

__device__ unsigned char byte_at(Word place) { return word_at(place / 8) >> (place % 8 * 8); }

// Elements of the pattern, in the order in which an output shall hold them. A row of blocks per output: from one to the
// next, its address and the places of its elements grow by the pitch.
struct Elements {
    Word count, size, rank, first, pitch;
    Word extents[max_rank];
    long long strides[max_rank];

    __device__ Word place_of(Word index) const {
        Word place = first + blockIdx.y * pitch;
        for (int axis = rank - 1; axis >= 0; --axis) {
            place += index % extents[axis] * strides[axis];
            index /= extents[axis];
        }
        return place;
    }
};

__device__ Word thread() { return blockIdx.x * (Word)blockDim.x + threadIdx.x; }

extern "C" __global__ void lay(Word* words, Word count) {
    const Word index = thread();
    if (index < count) words[index] = word_at(index);
}

extern "C" __global__ void spoil(unsigned char* y, Elements expected) {
    const Word index = thread();
    if (index >= expected.count) return;
    const Word place = expected.place_of(index), first = blockIdx.y * expected.pitch + index * expected.size;
    for (Word byte = 0; byte < expected.size; ++byte) y[first + byte] = ~byte_at(place + byte);
}

extern "C" __global__ void differ(const unsigned char* y, Elements expected, int* found) {
    const Word index = thread();
    if (index >= expected.count) return;
    const Word place = expected.place_of(index), first = blockIdx.y * expected.pitch + index * expected.size;
    for (Word byte = 0; byte < expected.size; ++byte)
        if (y[first + byte] != byte_at(place + byte)) *found = 1;
}
""",
    ("lay", "spoil", "differ"),
)

_ELEMENTS = np.dtype(
    [(name, "u8") for name in ("count", "size", "rank", "first", "pitch")]
    + [("extents", "u8", (MAX_NDIM,)), ("strides", "i8", (MAX_NDIM,))]
)


@dataclass(frozen=True, slots=True)
class Outputs:
    """What shall hold elements of the pattern.

    Attributes:
        address: of the first output.
        expected: the elements that it shall hold in C order; their ``pointer`` counts from the pattern's first byte.
        count: number of outputs.
        pitch: bytes from one output to the next, and from its elements to the next one's in the pattern.
    """

    address: int
    expected: StridedView
    count: int = 1
    pitch: int = 0


class Pattern:
    """Lays the pattern into memory of one device, and compares outputs with it.

    All methods wait for what the device does.
    """

    def __init__(self, device: Device) -> None:
        module = compile_source(SOURCE, device.facts.arch)
        self._lay, self._spoil, self._differ = (
            device.load(image.cubin, image.symbol) for image in map(module.image, SOURCE.entries)
        )
        self._found = device.allocate(4)

    def lay(self, buffer: Buffer) -> None:
        """Fill a buffer, of a multiple of 8 bytes, with the first bytes of the pattern."""
        words = buffer.nbytes // 8
        self._lay.launch(grid_for(words), (THREADS, 1, 1), [buffer, np.uint64(words)])

    def spoil(self, outputs: Outputs) -> None:
        """Fill outputs with bits that are wrong everywhere."""
        elements = pack_elements(outputs)
        grid = grid_for(elements["count"], outputs.count)
        self._spoil.launch(grid, (THREADS, 1, 1), [np.uint64(outputs.address), elements])

    def found_in(self, outputs: Outputs) -> bool:
        """Return whether each output holds the elements that it shall hold."""
        self._found.fill(0)
        elements = pack_elements(outputs)
        grid = grid_for(elements["count"], outputs.count)
        self._differ.launch(grid, (THREADS, 1, 1), [np.uint64(outputs.address), elements, self._found])
        return not self._found.download(1, np.int32)[0]


def pack_elements(outputs: Outputs) -> np.void:
    """Return what outputs shall hold as the kernels take it."""
    packed, view = np.zeros((), _ELEMENTS), outputs.expected
    rank = len(view.shape)
    packed["count"] = np.prod(view.shape, dtype=np.uint64)
    packed["size"], packed["rank"] = view.itemsize, rank
    packed["first"], packed["pitch"] = view.pointer, outputs.pitch
    packed["extents"][:rank], packed["strides"][:rank] = view.shape, view.strides
    return cast(np.void, packed[()])


def grid_for(threads: int, rows: int = 1) -> tuple[int, int, int]:
    """The grid of ``rows`` rows of blocks, each of which holds ``threads`` threads."""
    return -(-int(threads) // THREADS), rows, 1
