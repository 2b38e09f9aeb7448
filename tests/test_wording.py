import pytest

from cornerturn.wording import counted


@pytest.mark.parametrize(("number", "text"), [(0, "0 kernels"), (1, "1 kernel"), (2, "2 kernels")])
def test_a_number_has_its_noun(number, text):
    assert counted(number, "kernel") == text
