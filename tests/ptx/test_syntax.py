"""What an instruction and its operands say of themselves."""

import pytest

from cornerturn.errors import PtxError
from cornerturn.ptx import Address, Entry, Register, elements, parse

TEXT = ".visible .entry kernel() {{ .reg .b32 %r<3>; {} }}"


def kernel(body: str) -> Entry:
    return parse(TEXT.format(body), "kernel")


@pytest.mark.parametrize(
    ("text", "space"),
    [
        ("ld.volatile.global.u32 %r1, [%rd1];", "global"),
        ("st.shared::cta.u32 [%r1], %r2;", "shared"),
        ("ld.param.u64 %rd1, [p];", "param"),
        ("ld.u32 %r1, [%rd1];", None),
        ("add.u32 %r1, %r1, 1;", None),
    ],
)
def test_state_spaces(text: str, space: str | None):
    (found,) = kernel(text).instructions
    assert found.space == space


def test_elements_of_a_vector():
    (found,) = kernel("st.global.v2.u32 [%rd1], {%r1, %r2};").instructions
    assert [elements(operand) for operand in found.operands] == [
        (Address(Register("%rd1")),),
        (Register("%r1"), Register("%r2")),
    ]


def test_a_kernel_is_called_as_in_the_source():
    assert (
        parse(".visible .entry _ZN4tile4turnILi32EEvPf() { ret; }", "_ZN4tile4turnILi32EEvPf").source_name
        == "tile::turn"
    )


def test_registers_have_the_types_they_were_declared_with():
    entry = kernel(".reg .pred %p; ret;")
    assert (entry.register_type("%r2"), entry.register_type("%p")) == ("b32", "pred")
    assert not entry.declares("%tid.x")
    with pytest.raises(PtxError, match="register %r3 of kernel kernel is used but never declared"):
        entry.register_type("%r3")
