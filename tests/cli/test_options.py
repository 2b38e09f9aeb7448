import pytest

from .command import assert_refused


@pytest.mark.parametrize(
    "size",
    ["0x5", "5x0", "-4x4", "4", "4x", "x4", "4x4x4", "4 x 4", "1e3x4", "٤x٤", "", "9" * 5000 + "x1"],
)
def test_a_size_is_two_positive_integers(size):
    message = f"'{size}' is not ROWSxCOLS, two positive integers such as 1024x1024"
    for command in (["bench"], ["explain", "naive"]):
        assert_refused([*command, "--size", size], message)
