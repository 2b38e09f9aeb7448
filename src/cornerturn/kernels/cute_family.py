"""The CuTe family: transposes as compositions of layouts, compiled from ``cute.py`` by the CuTe Python DSL."""

from cornerturn.kernels.grid import Tiled, cols_in_fours, rows_in_fours
from cornerturn.kernels.kernel import CuteSource
from cornerturn.kernels.members import Member, kernels_of

_BLOCK = (256, 1)
_SQUARE = Tiled(16, 16, _BLOCK)
_IN_FOURS = (rows_in_fours, cols_in_fours)

CUTE = kernels_of(
    "cute",
    "cute.py",
    CuteSource,
    (
        Member("cute_row2col_reg", _SQUARE),
        Member("cute_col2row_reg", _SQUARE),
        Member("cute_col_smem", _SQUARE),
        Member("cute_row_smem", _SQUARE),
        Member("cute_col_smem_swizzled", _SQUARE),
        Member("cute_row_smem_swizzled", _SQUARE),
        Member("cute_row_cvectorized", Tiled(64, 16, _BLOCK), _IN_FOURS),
        Member("cute_row_cvectorized_swizzled", Tiled(64, 16, _BLOCK), _IN_FOURS),
        Member("cute_row_rvectorized", Tiled(16, 64, _BLOCK), _IN_FOURS),
        Member("cute_row_rvectorized_swizzled", Tiled(16, 64, _BLOCK), _IN_FOURS),
        Member("cute_row_rvectorized_swizzled_optimized", Tiled(8, 128, _BLOCK), _IN_FOURS),
    ),
)
