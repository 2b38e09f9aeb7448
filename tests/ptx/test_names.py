"""Symbols and the names of the source that they were made of."""

import pytest

from cornerturn.ptx import SourceName, demangle


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("kernel", "kernel"),
        ("_Z1fi", "f"),
        ("_Z4turnPKfPfii", "turn"),
        ("_Z4turn6Matrix", "turn"),  # the type of a parameter is no part of the name
        ("_ZN1a1fEi", "a::f"),
        ("_ZN1a12k_with_12_abEPf", "a::k_with_12_ab"),
        ("_ZN35_INTERNAL_00000000_7_mine_cu_callns1a1fEi", "a::f"),
        ("_ZN42_GLOBAL__N__00000000_4_k_cu_1275a3ef_286711kEPf", "k"),
        ("_ZL4turnPf", "turn"),
        ("_Z", "_Z"),
        ("__internal_slowpath", "__internal_slowpath"),
    ],
)
def test_a_symbol_gives_the_name_of_the_source(symbol: str, name: str):
    assert demangle(symbol) == SourceName(name, template=False)


@pytest.mark.parametrize(
    ("symbol", "name"), [("_Z4turnILi32EEvPKf", "turn"), ("_ZN1a1kILi3EEEvPf", "a::k"), ("_ZN1a1kIfEEvPT_", "a::k")]
)
def test_an_instance_of_a_template_is_known(symbol: str, name: str):
    assert demangle(symbol) == SourceName(name, template=True)
