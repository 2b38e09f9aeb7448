"""The CuTe family: eleven transposes of 4-byte elements as compositions of layouts, in the CuTe Python DSL.

A layout is a function from coordinates to an offset, written (shape):(stride): (16,16):(16,1) is row-major and
(16,16):(1,16) column-major. x is (rows,cols):(cols,1) and y is (cols,rows):(rows,1), so both are row-major, and
element (r, c) of x belongs at (c, r) of y.

Where the handwritten kernels compute indices there are three steps: a tensor is a pointer with a layout, a block takes
one tile of it (`local_tile`), and a thread takes its part of that tile: the element at which a layout of threads
holds the thread's number (`local_partition`), or a few of them (a tiled copy). The same steps, taken on a tensor
that holds its own coordinates, tell whether the part lies inside of the matrix.

This text is the source that `cornerturn.toolchain` compiles; nobody imports it. The function `kernels` at its end
makes the kernels of the family, each from a function above and a few layouts, and above each is its lesson.
Counts are those of handwritten.cu: for one full warp inside a large matrix, where 4 sectors and 1 wavefront suffice
for a 4-byte access, 16 sectors and 4 wavefronts for a 16-byte access.
"""

import cutlass.cute as cute
from cutlass import Float32, Int32

View = cute.Layout | cute.ComposedLayout


def row_major(rows: int, cols: int) -> cute.Layout:
    """(rows,cols):(cols,1)."""
    return cute.make_layout((rows, cols), stride=(cols, 1))


def column_major(rows: int, cols: int) -> cute.Layout:
    """(rows,cols):(1,rows)."""
    return cute.make_layout((rows, cols), stride=(1, rows))


def swizzled(bits: int, base: int, shift: int, view: cute.Layout) -> cute.ComposedLayout:
    """Swizzle<bits,base,shift> after a view: ``bits`` bits of the offset, from ``base`` on, ^= those ``shift`` up."""
    return cute.make_composed_layout(cute.make_swizzle(bits, base, shift), 0, view)


def matrices(x: cute.Pointer, y: cute.Pointer, rows: Int32, cols: Int32) -> tuple[cute.Tensor, cute.Tensor]:
    """Step one: x and y as tensors."""
    return (
        cute.make_tensor(x, cute.make_layout((rows, cols), stride=(cols, 1))),
        cute.make_tensor(y, cute.make_layout((cols, rows), stride=(rows, 1))),
    )


def tile_of(matrix: cute.Tensor, tile: cute.Shape, block: cute.Coord) -> tuple[cute.Tensor, cute.Tensor]:
    """Step two: the elements of one tile, and the coordinates of these elements in the matrix."""
    coordinates = cute.make_identity_tensor(matrix.shape)
    return cute.local_tile(matrix, tile, block), cute.local_tile(coordinates, tile, block)


@cute.kernel
def through_registers(
    x: cute.Pointer, y: cute.Pointer, rows: Int32, cols: Int32, reading: cute.Layout, writing: cute.Layout
):
    """One element per thread: it reads where ``reading`` holds its number and writes where ``writing`` does."""
    thread, _, _ = cute.arch.thread_idx()
    along, down, _ = cute.arch.block_idx()
    x, y = matrices(x, y, rows, cols)
    x_tile, x_at = tile_of(x, (16, 16), (down, along))
    y_tile, _ = tile_of(y, (16, 16), (along, down))

    if cute.elem_less(cute.local_partition(x_at, reading, thread)[0], x.shape):
        cute.autovec_copy(
            cute.local_partition(x_tile, reading, thread),
            cute.local_partition(y_tile, writing, thread),
        )


@cute.kernel
def through_shared(
    x: cute.Pointer, y: cute.Pointer, rows: Int32, cols: Int32, threads: cute.Layout, x_view: View, y_view: View
):
    """One element per thread, by way of a buffer that is filled as a tile of x and emptied as a tile of y."""
    thread, _, _ = cute.arch.thread_idx()
    along, down, _ = cute.arch.block_idx()
    x, y = matrices(x, y, rows, cols)
    x_tile, x_at = tile_of(x, (16, 16), (down, along))
    y_tile, y_at = tile_of(y, (16, 16), (along, down))
    buffer = cute.arch.alloc_smem(Float32, 16 * 16)
    filled, emptied = cute.make_tensor(buffer, x_view), cute.make_tensor(buffer, y_view)

    if cute.elem_less(cute.local_partition(x_at, threads, thread)[0], x.shape):
        cute.autovec_copy(
            cute.local_partition(x_tile, threads, thread),
            cute.local_partition(filled, threads, thread),
        )
    cute.arch.sync_threads()
    if cute.elem_less(cute.local_partition(y_at, threads, thread)[0], y.shape):
        cute.autovec_copy(
            cute.local_partition(emptied, threads, thread),
            cute.local_partition(y_tile, threads, thread),
        )


def part_of(thread: Int32, threads: cute.Layout, values: cute.Layout) -> cute.ThrCopy:
    """Step three for several elements: ``values`` lie beside each other wherever ``threads`` holds the thread's number.

    How wide they are moved is not said here: `autovec_copy` finds the widest access that the layouts allow.
    """
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), Float32)
    return cute.make_tiled_copy_tv(atom, threads, values).get_slice(thread)


@cute.kernel
def vectorized(
    x: cute.Pointer,
    y: cute.Pointer,
    rows: Int32,
    cols: Int32,
    x_values: cute.Layout,
    y_values: cute.Layout,
    x_view: View,
    y_view: View,
):
    """through_shared with four elements per thread, ``x_values`` of the tile of x and ``y_values`` of the tile of y."""
    thread, _, _ = cute.arch.thread_idx()
    along, down, _ = cute.arch.block_idx()
    x, y = matrices(x, y, cute.assume(rows, divby=4), cute.assume(cols, divby=4))
    x_tile, x_at = tile_of(x, x_view.shape, (down, along))
    y_tile, y_at = tile_of(y, y_view.shape, (along, down))
    buffer = cute.arch.alloc_smem(Float32, 16 * 64, alignment=16)
    filled, emptied = cute.make_tensor(buffer, x_view), cute.make_tensor(buffer, y_view)
    fill, empty = (part_of(thread, row_major(16, 16), values) for values in (x_values, y_values))

    # Each side by way of registers: a direct copy would be as narrow as the narrower of its two ends.
    if cute.elem_less(fill.partition_S(x_at)[0], x.shape):
        four = cute.make_fragment_like(fill.partition_S(x_tile))
        cute.autovec_copy(fill.partition_S(x_tile), four)
        cute.autovec_copy(four, fill.partition_D(filled))
    cute.arch.sync_threads()
    if cute.elem_less(empty.partition_S(y_at)[0], y.shape):
        four = cute.make_fragment_like(empty.partition_D(y_tile))
        cute.autovec_copy(empty.partition_S(emptied), four)
        cute.autovec_copy(four, empty.partition_D(y_tile))


@cute.kernel
def turned_in_registers(x: cute.Pointer, y: cute.Pointer, rows: Int32, cols: Int32):
    """Four neighbours in a row of x become four neighbours in a column of y while a thread holds them."""
    thread, _, _ = cute.arch.thread_idx()
    along, down, _ = cute.arch.block_idx()
    x, y = matrices(x, y, cute.assume(rows, divby=4), cute.assume(cols, divby=4))
    x_tile, x_at = tile_of(x, (8, 128), (down, along))
    y_tile, y_at = tile_of(y, (128, 8), (along, down))
    buffer = cute.arch.alloc_smem(Float32, 8 * 128, alignment=16)
    shared = cute.make_tensor(buffer, swizzled(2, 3, 2, row_major(128, 8)))

    # The same eight threads down and four across in all warps, once on x and once, transposed, on y.
    take = part_of(thread, cute.make_layout((8, (4, 8)), stride=(4, (1, 32))), cute.make_layout((1, 4)))
    turn = part_of(thread, cute.make_layout(((4, 8), 8), stride=((1, 32), 4)), cute.make_layout((4, 1)))
    give = part_of(thread, row_major(128, 2), cute.make_layout((1, 4)))

    if cute.elem_less(take.partition_S(x_at)[0], x.shape):
        four = cute.make_fragment_like(take.partition_S(x_tile))
        cute.autovec_copy(take.partition_S(x_tile), four)
        cute.autovec_copy(turn.retile(four), turn.partition_D(shared))
    cute.arch.sync_threads()
    if cute.elem_less(give.partition_S(y_at)[0], y.shape):
        four = cute.make_fragment_like(give.partition_D(y_tile))
        cute.autovec_copy(give.partition_S(shared), four)
        cute.autovec_copy(four, give.partition_D(y_tile))


@cute.jit
def kernels(x: cute.Pointer, y: cute.Pointer, rows: Int32, cols: Int32):
    """Make every kernel of the family: what differs between two of them is what differs here."""

    def make(name, function, *layouts):
        function.set_name_prefix(name, remove_cutlass_symbol=True, keep_mangled_name=False)
        function(x, y, rows, cols, *layouts).launch(grid=(1, 1, 1), block=(256, 1, 1))

    down, across = column_major(16, 16), row_major(16, 16)

    # cute_row2col_reg: f32_row2col2d as two layouts of threads, down the columns of x and across the rows of y:
    #   16 sectors per load request and 4 per store request, the very counts of the handwritten kernel.
    make("cute_row2col_reg", through_registers, down, across)
    # cute_col2row_reg: cute_row2col_reg with its two layouts exchanged: 4 sectors per load request and 16 per store
    #   request, as f32_col2row2d.
    make("cute_col2row_reg", through_registers, across, down)

    # One buffer, two views: where the one has (r, c) the other has (c, r).
    x_view, y_view = row_major(16, 16), column_major(16, 16)

    # cute_col_smem: a tile staged in shared memory buys nothing while threads run down the columns on both ends:
    #   16 sectors per request where 4 would do, and 8 wavefronts per shared store because a column lies in two banks.
    make("cute_col_smem", through_shared, down, x_view, y_view)
    # cute_row_smem: cute_col_smem with threads across the rows: 4 sectors per request on both global ends, and the
    #   conflict moves to the shared load, 8 wavefronts where 1 would do.
    make("cute_row_smem", through_shared, across, x_view, y_view)

    # A row of 16 shifts the bank by 16, so a column of the tile meets two banks only. XOR the column (the lower four
    # bits of the offset) with the row (the four above): sixteen rows, sixteen columns.
    x_view, y_view = swizzled(4, 0, 4, x_view), swizzled(4, 0, 4, y_view)

    # cute_col_smem_swizzled: cute_col_smem with Swizzle<4,0,4> after both views: 1 wavefront per shared store instead
    #   of 8 with no padding, which helps little while 16 sectors per request remain on both global ends.
    make("cute_col_smem_swizzled", through_shared, down, x_view, y_view)
    # cute_row_smem_swizzled: cute_row_smem with Swizzle<4,0,4> after both views: 4 sectors per request on both global
    #   ends and 1 wavefront per shared access, nothing wasted, but one element per thread.
    make("cute_row_smem_swizzled", through_shared, across, x_view, y_view)

    four_down, four_across = cute.make_layout((4, 1)), cute.make_layout((1, 4))
    x_view, y_view = column_major(64, 16), row_major(16, 64)

    # cute_row_cvectorized: four elements per thread, down a column of x and along a row of y: only the write is
    #   vectorised, because x's columns are not contiguous, and the read stays at four 4-byte requests; no global
    #   sector is wasted, but the 16-byte shared stores lie 64 elements apart, 32 wavefronts where 4 would do.
    make("cute_row_cvectorized", vectorized, four_down, four_across, x_view, y_view)

    # Vectors must stay whole: the two lowest bits of the offset, which count within a vector, are left alone, and
    # the three above (which of the eight 16-byte columns of banks) are XORed with the lowest three of the row of 64.
    x_view, y_view = swizzled(3, 2, 4, x_view), swizzled(3, 2, 4, y_view)

    # cute_row_cvectorized_swizzled: cute_row_cvectorized with Swizzle<3,2,4> after both views, which moves 16-byte
    #   vectors whole: 4 wavefronts per shared store and 4 per shared load, no more than 16 bytes per lane need.
    make("cute_row_cvectorized_swizzled", vectorized, four_down, four_across, x_view, y_view)

    x_view, y_view = row_major(16, 64), column_major(64, 16)

    # cute_row_rvectorized: cute_row_cvectorized turned about: four elements along a row of x, down a column of y, so
    #   that the read is vectorised and the write stays at four 4-byte requests; now the shared load conflicts, 32
    #   wavefronts where 4 would do.
    make("cute_row_rvectorized", vectorized, four_across, four_down, x_view, y_view)

    x_view, y_view = swizzled(3, 2, 4, x_view), swizzled(3, 2, 4, y_view)

    # cute_row_rvectorized_swizzled: cute_row_rvectorized with Swizzle<3,2,4> after both views: 4 wavefronts a shared
    #   store and 4 per shared load.
    make("cute_row_rvectorized_swizzled", vectorized, four_across, four_down, x_view, y_view)

    # cute_row_rvectorized_swizzled_optimized: cute_row_rvectorized_swizzled with the four elements turned from a row
    #   to a column in registers, between the global read and the shared store: 16 bytes per lane on both global ends
    #   at 16 sectors, four 4-byte shared stores of 1 wavefront and one 16-byte shared load of 4.
    make("cute_row_rvectorized_swizzled_optimized", turned_in_registers)
