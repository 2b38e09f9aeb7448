"""The scanner of CUDA C++ text: what it takes apart, and that a long text costs no more than its length."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cornerturn.lab.user.cuda_text import Declaration, kernels_in, take_apart


@pytest.mark.parametrize(
    ("text", "code", "comments"),
    [
        ("a // b\nc", "a  \nc", (" b",)),
        ("a /* b // c\n */ d", "a   d", ()),
        ("a /* b", "a  ", ()),
        ("a // b", "a  ", (" b",)),
        ('"// no" x', '"" x', ()),
        (r'"\"/*" x', '"" x', ()),
        ('"open\nx', '""\nx', ()),
        ("'\"' // b", "'\"'  ", (" b",)),
        ("1'000 /* b */", "1'000  ", ()),
        ('R"q(// " )" )q" x', '"" x', ()),
        ('R"q(open', '""', ()),
    ],
)
def test_comments_and_strings_are_taken_out(text, code, comments):
    found = take_apart(text)
    assert (found.code, found.comments) == (code, comments)


@given(st.lists(st.sampled_from(["//", "/*", "*/", '"', "\\", "'", "\n", "a", 'R"(', ')"']), max_size=12))
def test_code_is_what_is_left_of_any_text(parts):
    text = "".join(parts)
    code = take_apart(text).code
    assert len(code) <= len(text) + 2
    if not re.search(r"[/\"']", text):
        assert code == text


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("__global__ void k(int a) {} void f() {}", [Declaration("k")]),
        ("void __global__ k(int a) {}", [Declaration("k")]),
        ("static __global__ void __launch_bounds__(128) k(int a) {}", [Declaration("k")]),
        ("template <typename E> __global__ void k(E* a) {}", [Declaration("k", "k<float>")]),
        ("template <int n, class E> __global__ void k(E* a) {}", [Declaration("k", "k<32, float>")]),
        ("namespace a { namespace b::c { void f() {} __global__ void k() {} } }", [Declaration("a::b::c::k")]),
        ("namespace a { __global__ void k() {} } __global__ void q() {}", [Declaration("a::k"), Declaration("q")]),
        ("} } __global__ __global__", []),
    ],
)
def test_kernels_are_found_with_their_namespaces(code, found):
    assert kernels_in(code) == found


@pytest.mark.parametrize(
    "piece", ["/* ", "template <", "\n", "// padding\n", '"', 'R"a(', "'", "namespace a{", "__global__ ", "main ", " "]
)
def test_no_text_is_read_twice(piece):
    """A text of a million characters would take hours, were its time its square."""
    text = piece * (1_000_000 // len(piece))
    found = take_apart(text)
    assert len(found.code) <= len(text) + 2
    assert kernels_in(found.code) == []
    assert found.host_code is None
