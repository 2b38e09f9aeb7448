import pytest

from cornerturn.errors import UsageError
from cornerturn.files import replacing


def test_a_written_file_appears_whole(tmp_path):
    path = tmp_path / "out.json"
    path.write_text("old")
    with replacing(path) as file:
        file.write(b"new")
        file.flush()
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert [entry.name for entry in tmp_path.iterdir()] == ["out.json"]


@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt])
def test_an_interrupted_write_leaves_everything_as_it_was(tmp_path, failure):
    path = tmp_path / "out.json"
    path.write_text("old")
    with pytest.raises(failure), replacing(path) as file:
        file.write(b"half")
        raise failure
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["out.json"]


def test_a_link_is_written_through(tmp_path):
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    with replacing(tmp_path / "link") as file:
        file.write(b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


def test_paths_that_cannot_be_written_are_refused_at_once(tmp_path):
    for path, rule in [
        (tmp_path, "not a regular file"),
        (tmp_path / "missing" / "out.json", "cannot be written: No such file or directory"),
    ]:
        with pytest.raises(UsageError, match=rule), replacing(path):
            pytest.fail("the block must not be entered")
