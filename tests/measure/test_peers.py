import pytest

from cornerturn.errors import MissingExtraError
from cornerturn.measure.peers import Library, Peer, first_line


@pytest.mark.parametrize("error", [ImportError, ModuleNotFoundError])
@pytest.mark.parametrize(("package", "shown"), [("foo-bar", "foo-bar"), ("foo[cuda13]", "'foo[cuda13]'")])
def test_a_missing_library_says_how_to_get_it(error, package, shown):
    def load():
        raise error("no such module")

    with pytest.raises(MissingExtraError) as told:
        Peer("Foo", package, load).open()
    assert str(told.value) == f"Foo is not installed: pip install {shown}"


def test_one_that_cannot_be_used_says_why():
    def load(device):
        raise RuntimeError(f"no kernels for {device}\nand more lines")

    with pytest.raises(MissingExtraError) as told:
        Peer("Foo", "foo", load).open("sm_10")
    assert str(told.value) == "Foo cannot be used here (no kernels for sm_10): pip install foo"


def test_one_that_is_there_is_opened():
    library = Library("1.0", print)
    assert Peer("Foo", "foo", lambda device: library).open("device") is library


@pytest.mark.parametrize(
    ("error", "line"),
    [(ValueError("a\nb"), "a"), (ValueError(""), "ValueError"), (OSError(2, "gone"), "[Errno 2] gone")],
)
def test_errors_are_told_in_a_line(error, line):
    assert first_line(error) == line
    assert len(first_line(ValueError("x" * 999))) == 200
