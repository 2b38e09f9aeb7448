from cornerturn.kernels.source import lessons

TEXT = """\
// The family of examples. It has two kernels: these.

// naive: reads along a row
//   and writes down a column.
// padded: one more: a float of padding.
template <int pitch> __global__ void kernel() {
    // inner: not a lesson
}
"""


def test_a_lesson_is_the_comment_that_starts_with_the_kernels_name() -> None:
    assert lessons(TEXT) == {
        "naive": "reads along a row and writes down a column.",
        "padded": "one more: a float of padding.",
    }


PYTHON = """\
def kernels(x, y):
    # A view of the tile. It is row-major.
    view = row_major(16, 16)

    # plain: fills the tile
    #   and empties it.
    make("plain", view)
    # swizzled: moves the banks.
    make("swizzled", swizzle(view))
"""


def test_in_python_a_lesson_may_be_indented() -> None:
    assert lessons(PYTHON) == {"plain": "fills the tile and empties it.", "swizzled": "moves the banks."}
