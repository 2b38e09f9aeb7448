"""The textbook family: from the naive transpose over shared-memory tiles to asynchronous copies."""

from cornerturn.kernels.grid import Rule, Tiled, cols_in_fours, first_broken, rows_in_fours
from cornerturn.kernels.kernel import CudaSource, Kernel
from cornerturn.kernels.source import lessons, read_source

# Name, entry, geometry, and what the kernel's vector accesses demand of the shape on top of it.
_TABLE: tuple[tuple[str, str, Tiled, tuple[Rule, ...]], ...] = (
    ("naive", "naive", Tiled(32, 32, (32, 32)), ()),
    ("tiled_8", "tiled<8>", Tiled(8, 8, (8, 8)), ()),
    ("tiled_16", "tiled<16>", Tiled(16, 16, (16, 16)), ()),
    ("tiled_32", "tiled<32>", Tiled(32, 32, (32, 32)), ()),
    ("shared_no_padding", "four_rows<32>", Tiled(32, 32, (32, 8)), ()),
    ("shared_padding", "four_rows<33>", Tiled(32, 32, (32, 8)), ()),
    ("tiled_vectorized", "tiled_vectorized", Tiled(32, 32, (8, 32)), (cols_in_fours, rows_in_fours)),
    ("tiled_async", "tiled_async", Tiled(32, 4 * 32, (32, 8)), ()),
)

_TEXT = read_source("textbook.cu")
_LESSONS = lessons(_TEXT)
_SOURCE = CudaSource("textbook.cu", _TEXT, tuple(entry for _, entry, _, _ in _TABLE))

TEXTBOOK = tuple(
    Kernel(
        name=name,
        family="textbook",
        source=_SOURCE,
        entry=entry,
        element_bytes=4,
        launch=geometry.launch,
        refuses=first_broken(*rules, geometry.refuses),
        lesson=_LESSONS[name],
    )
    for name, entry, geometry, rules in _TABLE
)
