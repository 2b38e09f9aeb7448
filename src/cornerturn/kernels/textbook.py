"""The textbook family: from the naive transpose over shared-memory tiles to asynchronous copies."""

from cornerturn.kernels.grid import Tiled, cols_in_fours, rows_in_fours
from cornerturn.kernels.kernel import CudaSource
from cornerturn.kernels.members import Member, kernels_of

TEXTBOOK = kernels_of(
    "textbook",
    "textbook.cu",
    CudaSource,
    (
        Member("naive", Tiled(32, 32, (32, 32))),
        Member("tiled_8", Tiled(8, 8, (8, 8)), entry="tiled<8>"),
        Member("tiled_16", Tiled(16, 16, (16, 16)), entry="tiled<16>"),
        Member("tiled_32", Tiled(32, 32, (32, 32)), entry="tiled<32>"),
        Member("shared_no_padding", Tiled(32, 32, (32, 8)), entry="four_rows<32>"),
        Member("shared_padding", Tiled(32, 32, (32, 8)), entry="four_rows<33>"),
        Member("tiled_vectorized", Tiled(32, 32, (8, 32)), (cols_in_fours, rows_in_fours)),
        Member("tiled_async", Tiled(32, 4 * 32, (32, 8))),
    ),
)
