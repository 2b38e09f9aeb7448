import errno
import os
import signal
import stat
import subprocess
import sys
import warnings
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest

from cornerturn import files
from cornerturn.errors import UsageError
from cornerturn.files import check_outputs, read_npy_header, replacing


def names(folder):
    return sorted(entry.name for entry in folder.iterdir())


def test_a_written_file_appears_whole(tmp_path):
    path = tmp_path / "out.json"
    path.write_text("old")
    with replacing(path) as file:
        file.write(b"new")
        file.flush()
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert names(tmp_path) == ["out.json"]


@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt, SystemExit])
def test_an_interrupted_write_leaves_everything_as_it_was(tmp_path, failure):
    path = tmp_path / "out.json"
    path.write_text("old")
    with pytest.raises(failure), replacing(path) as file:
        file.write(b"half")
        raise failure
    assert path.read_text() == "old"
    assert names(tmp_path) == ["out.json"]


def test_a_link_is_written_through(tmp_path):
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    with replacing(tmp_path / "link") as file:
        file.write(b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o664])
def test_a_replaced_file_keeps_its_mode(tmp_path, mode):
    path = tmp_path / "out.json"
    path.touch()
    path.chmod(mode)
    with replacing(path) as file:
        file.write(b"new")
    assert stat.S_IMODE(path.stat().st_mode) == mode


@pytest.mark.skipif(not hasattr(os, "chown") or os.geteuid() != 0, reason="only root gives files away")
def test_a_replaced_file_keeps_its_owner(tmp_path):
    path = tmp_path / "out.json"
    path.touch()
    os.chown(path, 1234, 2345)
    with replacing(path) as file:
        file.write(b"new")
    assert (path.stat().st_uid, path.stat().st_gid) == (1234, 2345)


def test_what_is_written_is_on_the_disk_before_it_has_its_name(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: synced.append((tmp_path / "out.json").exists()))
    with replacing(tmp_path / "out.json") as file:
        file.write(b"new")
    assert synced == [False]


@pytest.mark.parametrize("links", [True, False])
@pytest.mark.parametrize("appears", [True, False])
def test_a_new_file_replaces_none_that_appears_meanwhile(tmp_path, monkeypatch, links, appears):
    path = tmp_path / "out.json"
    if not links:
        monkeypatch.setattr(os, "link", lambda source, target: (_ for _ in ()).throw(PermissionError(1, "no links")))
    refused = pytest.raises(UsageError, match="a file has appeared there meanwhile") if appears else nullcontext()
    with refused, replacing(path, new=True) as file:
        file.write(b"new")
        if appears:
            path.write_text("other")
    assert path.read_text() == ("other" if appears else "new")
    assert list(tmp_path.iterdir()) == [path]


def test_a_new_file_has_the_mode_of_any_new_file(tmp_path):
    (tmp_path / "plain").touch()
    with replacing(tmp_path / "out.json"):
        pass
    assert (tmp_path / "out.json").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_leftover_is_in_nobodys_way_and_names_may_be_long(tmp_path):
    path = tmp_path / ("n" * 255)
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt), replacing(path):
            (leftover,) = set(names(tmp_path)) - {"kept"}
            (tmp_path / leftover).rename(tmp_path / "kept")
            (tmp_path / leftover).touch()
            raise KeyboardInterrupt
    with replacing(path):
        pass
    assert names(tmp_path) == ["kept", path.name]


def test_a_signal_before_a_leftover_is_removed_leaves_it_to_the_end(tmp_path, monkeypatch):
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Path, "unlink", lambda *_, **__: signal.raise_signal(signal.SIGINT))
        with replacing(tmp_path / "out.json"):
            raise SystemExit
    assert len(names(tmp_path)) == 1
    files._remove_unfinished()
    assert names(tmp_path) == []


def test_a_writable_file_in_a_folder_that_is_not_is_overwritten(tmp_path, monkeypatch):
    path = tmp_path / "out.json"
    path.write_text("old and longer")
    monkeypatch.setattr(files, "_is_writable", lambda folder: False)  # the superuser may write anywhere
    with replacing(path) as file:
        file.write(b"new")
        file.flush()
        assert (names(tmp_path), path.read_text()) == (["out.json"], "old and longer")
    assert path.read_text() == "new"
    with pytest.raises(KeyError), replacing(path) as file:
        file.write(b"half")
        raise KeyError
    assert path.read_text() == "new"


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
def test_a_full_disk_names_the_file(tmp_path, code):
    rule = rf"out\.json: cannot be written: {os.strerror(code)}"
    with pytest.raises(UsageError, match=rule), replacing(tmp_path / "out.json"):
        raise OSError(code, os.strerror(code))
    assert names(tmp_path) == []


def test_what_fails_besides_is_not_blamed_on_the_file(tmp_path):
    with pytest.raises(FileNotFoundError), replacing(tmp_path / "out.json"):
        (tmp_path / "input").read_bytes()


@pytest.fixture
def odd_paths(tmp_path):
    """Paths that no result can be written to, and the rule that each breaks."""
    (tmp_path / "loop").symlink_to("loop")
    os.mkfifo(tmp_path / "pipe")
    return [
        ("-", "results go to a file, not to standard output"),
        (tmp_path, "not a regular file"),
        (tmp_path / "pipe", "not a regular file"),
        ("/dev/null", "not a regular file"),
        (tmp_path / "loop", "cannot be written: Too many levels of symbolic links"),
        (tmp_path / ("n" * 256), "cannot be written: File name too long"),
        (tmp_path / "missing" / "out.json", "cannot be written: No such file or directory"),
    ]


def test_paths_that_cannot_be_written_are_refused_at_once(odd_paths):
    for path, rule in odd_paths:
        with pytest.raises(UsageError, match=rule), replacing(files.Path(path)):
            pytest.fail("the block must not be entered")
        with pytest.raises(UsageError, match=rule):
            check_outputs({"--json": files.Path(path)})


def test_the_file_that_standard_output_goes_to_is_refused(tmp_path):
    with (tmp_path / "out.txt").open("wb") as file:
        kept = os.dup(1)
        os.dup2(file.fileno(), 1)
        try:
            for path in (tmp_path / "out.txt", files.Path("/dev/stdout")):
                with pytest.raises(UsageError, match="standard output or standard error goes there"):
                    check_outputs({"--json": path})
        finally:
            os.dup2(kept, 1)
            os.close(kept)


def test_no_file_takes_the_place_of_another(tmp_path):
    x, link, other = tmp_path / "x.npy", tmp_path / "link", tmp_path / "other"
    x.write_text("mine")
    link.symlink_to("x.npy")
    for outputs in ({"--json": x}, {"--json": link}, {"--json": None, "--plot": tmp_path / "." / "x.npy"}):
        with pytest.raises(UsageError, match=r"that is the file of --input: choose another path"):
            check_outputs(outputs, {"--input": x})
    with pytest.raises(UsageError, match=r"--plot .*other: that is the file of --json"):
        check_outputs({"--json": other, "--plot": other})
    check_outputs({"--json": other, "--plot": link}, {"--input": None})
    assert names(tmp_path) == ["link", "x.npy"]


def header_file(path, shape, data=80, descr="'<f4'"):
    text = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode() + bytes(data))
    return path


@pytest.mark.parametrize("shape", ["(True, 20)", "(20, False)", "(-1, 20)", "(1.0, 20)", "20"])
def test_a_shape_of_anything_but_extents_is_a_damaged_header(tmp_path, shape):
    with pytest.raises(UsageError, match=r"damaged \.npy header"):
        read_npy_header(header_file(tmp_path / "x.npy", shape))


@pytest.mark.parametrize("shape", [f"(0, {10**30})", f"(0, {2**61})", f"(0, {2**31}, {2**31})"])
def test_extents_that_no_array_can_have_are_a_damaged_header(tmp_path, shape):
    with pytest.raises(UsageError, match=r"damaged \.npy header: no array can have the shape \(0, "):
        read_npy_header(header_file(tmp_path / "x.npy", shape))


@pytest.mark.parametrize(
    ("descr", "rule"),
    [
        ("('<f4', (3,))", r"dtype .*\(3,\).* makes arrays of elements: save them as further axes"),
        ("'T'", "StringDType.* holds text of any length: save plain elements"),
        ("'O'", "dtype object holds pickled Python objects: save plain elements"),
    ],
)
def test_elements_that_are_none_are_refused(tmp_path, descr, rule):
    with pytest.raises(UsageError, match=rule):
        read_npy_header(header_file(tmp_path / "x.npy", "(1, 2)", descr=descr))


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_the_longest_header(tmp_path, version):
    path = tmp_path / "x.npy"
    names = [(f"field{n}", "f4") for n in range(400)]
    with path.open("wb") as file:
        np.lib.format.write_array(file, np.zeros(1, names[:300]), version)
    header = read_npy_header(path)
    assert header.dtype == np.dtype(names[:300])
    assert header.offset + header.nbytes == path.stat().st_size
    with path.open("wb") as file:
        np.lib.format.write_array(file, np.zeros(1, [(name + 30 * "x", "f4") for name, _ in names]), version)
    with pytest.raises(UsageError, match=r"its header of \d{5} characters is too long: at most 10000 are read"):
        read_npy_header(path)


def test_names_in_any_script(tmp_path):
    """Format 3.0, which NumPy warns of when it writes it."""
    path, dtype = tmp_path / "x.npy", np.dtype([("\u8cea\u91cf \\ '\U0001f600", "f4"), ("b", "u1")])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.save(path, np.zeros((2, 3), dtype))
    header = read_npy_header(path)
    assert (header.shape, header.dtype, header.offset + 30) == ((2, 3), dtype, path.stat().st_size)
    copy = tmp_path / "copy.npy"
    facts = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": (2, 3)}
    with copy.open("wb") as file:
        files.write_utf8_header(file, facts)
        file.write(bytes(30))
    assert (read_npy_header(copy).offset % 64, np.load(copy).dtype) == (0, dtype)
    assert np.load(copy).shape == (2, 3)


def test_a_header_of_python_2_is_read_without_a_word(tmp_path):
    path = header_file(tmp_path / "x.npy", "(1L, 20L)")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        header = read_npy_header(path)
    assert (header.shape, header.dtype, header.offset) == ((1, 20), np.float32, 128)


def test_an_input_that_is_not_there_says_how(tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    for path, rule in [("missing", "no such file"), ("loop", "Too many levels of symbolic links"), (".", "not a reg")]:
        with pytest.raises(UsageError, match=rule):
            read_npy_header(tmp_path / path)


def test_a_file_whose_block_never_ends_vanishes_with_the_process(tmp_path):
    """As where a signal comes just after the file was made: nobody enters the block, and nobody leaves it."""
    code = f"""
import ctypes, os, pathlib
from cornerturn.files import appearing
block = appearing(pathlib.Path({str(tmp_path / "y")!r}))
block.__enter__()
ctypes.pythonapi.Py_IncRef(ctypes.py_object(block))  # never collected
assert len(os.listdir({str(tmp_path)!r})) == 1
"""
    subprocess.run([sys.executable, "-c", code], check=True)
    assert list(tmp_path.iterdir()) == []


def test_a_file_system_that_is_read_only_leaves_nothing_to_remove(tmp_path, monkeypatch):
    def refused(self, *arguments, **options):
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(Path, "open", refused)
    monkeypatch.setattr(Path, "unlink", refused)
    with pytest.raises(OSError, match="Read-only") as caught, files.appearing(tmp_path / "entry"):
        pass
    assert caught.value.__context__ is None
    assert not any(temporary.parent == tmp_path for _, temporary in files._unfinished)
