"""The CuTe family: transposes as compositions of layouts, compiled from ``cute.py`` by the CuTe Python DSL."""

from cornerturn.kernels.grid import Rule, Tiled, cols_in_fours, first_broken, rows_in_fours
from cornerturn.kernels.kernel import CuteSource, Kernel
from cornerturn.kernels.source import lessons, read_source

_BLOCK = (256, 1)
_SQUARE = Tiled(16, 16, _BLOCK)
_IN_FOURS = (rows_in_fours, cols_in_fours)

# Name, geometry, and what the kernel's vector accesses demand of the shape on top of it.
_TABLE: tuple[tuple[str, Tiled, tuple[Rule, ...]], ...] = (
    ("cute_row2col_reg", _SQUARE, ()),
    ("cute_col2row_reg", _SQUARE, ()),
    ("cute_col_smem", _SQUARE, ()),
    ("cute_row_smem", _SQUARE, ()),
    ("cute_col_smem_swizzled", _SQUARE, ()),
    ("cute_row_smem_swizzled", _SQUARE, ()),
    ("cute_row_cvectorized", Tiled(64, 16, _BLOCK), _IN_FOURS),
    ("cute_row_cvectorized_swizzled", Tiled(64, 16, _BLOCK), _IN_FOURS),
    ("cute_row_rvectorized", Tiled(16, 64, _BLOCK), _IN_FOURS),
    ("cute_row_rvectorized_swizzled", Tiled(16, 64, _BLOCK), _IN_FOURS),
    ("cute_row_rvectorized_swizzled_optimized", Tiled(8, 128, _BLOCK), _IN_FOURS),
)

_TEXT = read_source("cute.py")
_LESSONS = lessons(_TEXT)
_SOURCE = CuteSource("cute.py", _TEXT, tuple(name for name, _, _ in _TABLE))

CUTE = tuple(
    Kernel(
        name=name,
        family="cute",
        source=_SOURCE,
        entry=name,
        element_bytes=4,
        launch=geometry.launch,
        refuses=first_broken(*rules, geometry.refuses),
        lesson=_LESSONS[name],
    )
    for name, geometry, rules in _TABLE
)
