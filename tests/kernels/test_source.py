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
