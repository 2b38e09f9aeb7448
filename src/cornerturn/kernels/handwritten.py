"""The handwritten family: pairs that keep the read (``col2row``) or the write (``row2col``) contiguous."""

from cornerturn.kernels.grid import Linear, Rule, Tiled, cols_in_fours, first_broken, rows_in_fours, square
from cornerturn.kernels.kernel import CudaSource, Kernel
from cornerturn.kernels.source import lessons, read_source

_BLOCK = (16, 16)
_READ_WIDE = Tiled(16, 64, _BLOCK)
_WRITE_WIDE = Tiled(64, 16, _BLOCK)

# Name, geometry, and what the kernel's vector accesses demand of the shape on top of it.
_TABLE: tuple[tuple[str, Linear | Tiled, tuple[Rule, ...]], ...] = (
    ("f32_col2row", Linear(), ()),
    ("f32_row2col", Linear(), ()),
    ("f32x4_col2row", Linear(4), (cols_in_fours,)),
    ("f32x4_row2col", Linear(4), (rows_in_fours,)),
    ("f32_col2row2d", Tiled(16, 16, _BLOCK), ()),
    ("f32_row2col2d", Tiled(16, 16, _BLOCK, across="rows"), ()),
    ("f32x4_col2row2d", _READ_WIDE, (cols_in_fours,)),
    ("f32x4_row2col2d", Tiled(64, 16, _BLOCK, across="rows"), (rows_in_fours,)),
    ("f32_diagonal2d", Tiled(16, 16, _BLOCK, across="rows"), (square,)),
    ("f32x4_shared_col2row2d", _READ_WIDE, (cols_in_fours, rows_in_fours)),
    ("f32x4_shared_row2col2d", _WRITE_WIDE, (rows_in_fours,)),
    ("f32x4_shared_bcf_col2row2d", _READ_WIDE, (cols_in_fours, rows_in_fours)),
    ("f32x4_shared_bcf_row2col2d", _WRITE_WIDE, (rows_in_fours,)),
    ("f32x4_shared_bcf_merge_write_row2col2d", _WRITE_WIDE, (rows_in_fours,)),
)

_TEXT = read_source("handwritten.cu")
_LESSONS = lessons(_TEXT)
_SOURCE = CudaSource("handwritten.cu", _TEXT, tuple(name for name, _, _ in _TABLE))

HANDWRITTEN = tuple(
    Kernel(
        name=name,
        family="handwritten",
        source=_SOURCE,
        entry=name,
        element_bytes=4,
        launch=geometry.launch,
        refuses=first_broken(*rules, geometry.refuses),
        lesson=_LESSONS[name],
    )
    for name, geometry, rules in _TABLE
)
