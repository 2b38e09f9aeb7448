import pytest

from .command import assert_refused, run


@pytest.mark.parametrize(
    "size",
    ["0x5", "5x0", "-4x4", "4", "4x", "x4", "4x4x4", "4 x 4", "1e3x4", "٤x٤", "", "9" * 5000 + "x1"],
)
def test_a_size_is_two_positive_integers(size):
    message = f"'{size}' is not ROWSxCOLS, two positive integers such as 1024x1024"
    for command in (["bench"], ["explain", "naive"]):
        assert_refused([*command, "--size", size], message)


@pytest.mark.parametrize(
    ("command", "ending", "other"),
    [
        ("layout naive --svg", ".svg", "l.png"),
        ("explain naive --svg", ".svg", "e.PDF"),
        ("bench naive --json", ".json", "results.svg"),
        ("lessons --json", ".json", "lessons.html"),
        ("report -o", ".html", "report.json"),
    ],
)
def test_a_file_is_not_named_after_another_format(command, ending, other, tmp_path):
    assert_refused([*command.split(), tmp_path / other], f"let it end in {ending}")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["l.svg", "l.SVG", "plain", "l.xml"])
def test_other_endings_are_the_users_own(name, tmp_path):
    assert run("explain", "naive", "--size", "8x8", "--svg", tmp_path / name).exit_code == 0
    assert (tmp_path / name).read_text().startswith("<svg")
