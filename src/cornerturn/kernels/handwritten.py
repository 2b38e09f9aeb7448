"""The handwritten family: pairs that keep the read (``col2row``) or the write (``row2col``) contiguous."""

from cornerturn.kernels.grid import Linear, Tiled, cols_in_fours, rows_in_fours, square
from cornerturn.kernels.kernel import CudaSource
from cornerturn.kernels.members import Member, kernels_of

_BLOCK = (16, 16)
_READ_WIDE = Tiled(16, 64, _BLOCK)
_WRITE_WIDE = Tiled(64, 16, _BLOCK)

HANDWRITTEN = kernels_of(
    "handwritten",
    "handwritten.cu",
    CudaSource,
    (
        Member("f32_col2row", Linear()),
        Member("f32_row2col", Linear()),
        Member("f32x4_col2row", Linear(4), (cols_in_fours,)),
        Member("f32x4_row2col", Linear(4), (rows_in_fours,)),
        Member("f32_col2row2d", Tiled(16, 16, _BLOCK)),
        Member("f32_row2col2d", Tiled(16, 16, _BLOCK, across="rows")),
        Member("f32x4_col2row2d", _READ_WIDE, (cols_in_fours,)),
        Member("f32x4_row2col2d", Tiled(64, 16, _BLOCK, across="rows"), (rows_in_fours,)),
        Member("f32_diagonal2d", Tiled(16, 16, _BLOCK, across="rows"), (square,)),
        Member("f32x4_shared_col2row2d", _READ_WIDE, (cols_in_fours, rows_in_fours)),
        Member("f32x4_shared_row2col2d", _WRITE_WIDE, (rows_in_fours,)),
        Member("f32x4_shared_bcf_col2row2d", _READ_WIDE, (cols_in_fours, rows_in_fours)),
        Member("f32x4_shared_bcf_row2col2d", _WRITE_WIDE, (rows_in_fours,)),
        Member("f32x4_shared_bcf_merge_write_row2col2d", _WRITE_WIDE, (rows_in_fours,)),
    ),
)
