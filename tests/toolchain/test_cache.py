import base64
import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cornerturn.errors import UsageError
from cornerturn.toolchain import cache
from cornerturn.toolchain.cache import Cache, CacheInfo, _digest, cache_folder, cache_key
from cornerturn.toolchain.module import Module

MODULE = Module("// PTX é", bytes(range(256)), {"tiled<32>": "_Z5tiled"}, "sm_90", "some compiler 1.0")
KEY = cache_key(["a", "key"])


def entry_of(cache: Cache) -> Path:
    (entry,) = cache.folder.iterdir()
    return entry


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Cache:
    cache = Cache(tmp_path_factory.mktemp("stored"))
    cache.store(KEY, MODULE)
    return cache


def test_what_is_stored_is_loaded(stored: Cache):
    assert stored.load(KEY) == MODULE


def test_another_key_is_a_miss(stored: Cache):
    assert stored.load(cache_key(["another"])) is None


@given(st.lists(st.text()), st.lists(st.text()))
def test_keys_are_equal_only_for_equal_parts(one: list[str], other: list[str]):
    assert (cache_key(one) == cache_key(other)) == (one == other)


@given(st.data())
def test_no_changed_byte_goes_unnoticed(stored: Cache, data: st.DataObject):
    intact = entry_of(stored).read_bytes()
    position = data.draw(st.integers(0, len(intact) - 1))
    flipped = bytes([intact[position] ^ data.draw(st.integers(1, 255))])
    try:
        entry_of(stored).write_bytes(intact[:position] + flipped + intact[position + 1 :])
        assert stored.load(KEY) is None
    finally:
        entry_of(stored).write_bytes(intact)


@given(st.data())
def test_an_entry_cut_short_is_a_miss(stored: Cache, data: st.DataObject):
    intact = entry_of(stored).read_bytes()
    try:
        entry_of(stored).write_bytes(intact[: data.draw(st.integers(0, len(intact) - 1))])
        assert stored.load(KEY) is None
    finally:
        entry_of(stored).write_bytes(intact)


def test_a_renamed_entry_is_a_miss(tmp_path: Path):
    cache = Cache(tmp_path)
    cache.store(KEY, MODULE)
    other = cache_key(["another"])
    entry_of(cache).rename(tmp_path / (other + entry_of(cache).suffix))
    assert cache.load(other) is None


def test_an_entry_that_is_a_folder_is_a_miss_and_harmless(tmp_path: Path):
    cache = Cache(tmp_path)
    cache.store(KEY, MODULE)
    entry = entry_of(cache)
    entry.unlink()
    entry.mkdir()
    cache.store(KEY, MODULE)
    assert cache.load(KEY) is None
    assert entry_of(cache) == entry, "a temporary file was left behind"


@pytest.mark.parametrize(
    "body",
    ["{}", "[]", "1", "not JSON", '{"cubin": 1}', '{"cubin": "*"}', json.dumps({"cubin": "", "ptx": "", "other": 1})],
)
def test_an_intact_entry_that_is_not_a_module_is_a_miss(body: str, tmp_path: Path):
    cache = Cache(tmp_path)
    cache.store(KEY, MODULE)
    assert base64.b64encode(MODULE.cubin) in entry_of(cache).read_bytes()
    entry_of(cache).write_bytes(_digest(KEY, body.encode()) + body.encode())
    assert cache.load(KEY) is None


def test_an_entry_that_is_a_pipe_or_leads_nowhere_is_a_miss(tmp_path: Path):
    cache = Cache(tmp_path)
    cache.store(KEY, MODULE)
    entry = entry_of(cache)
    for put in (os.mkfifo, lambda path: path.symlink_to("nowhere"), lambda path: path.symlink_to(path.name)):
        entry.unlink()
        put(entry)
        assert cache.load(KEY) is None
        assert cache.info() == CacheInfo(tmp_path, 0, 0, writable=True)
        cache.store(KEY, MODULE)
        assert cache.load(KEY) == MODULE


def test_entries_are_for_all_who_may_read_the_folder(tmp_path: Path):
    (tmp_path / "plain").touch()
    cache = Cache(tmp_path / "cache")
    cache.store(KEY, MODULE)
    assert stat.S_IMODE(entry_of(cache).stat().st_mode) == stat.S_IMODE((tmp_path / "plain").stat().st_mode)


def test_a_folder_that_cannot_be_written_is_not_an_error(tmp_path: Path):
    (tmp_path / "file").write_text("in the way")
    cache = Cache(tmp_path / "file" / "cache")
    cache.store(KEY, MODULE)
    assert cache.load(KEY) is None
    assert cache.info() == CacheInfo(cache.folder, 0, 0, writable=False)


@pytest.mark.parametrize("folder", ["link", "link/deeper", "n" * 300, "m/" * 3000, "file", "file/deeper"])
def test_a_folder_that_cannot_be_is_not_an_error(folder: str, tmp_path: Path):
    (tmp_path / "link").symlink_to("link")
    (tmp_path / "file").touch()
    cache = Cache(tmp_path / folder)
    cache.store(KEY, MODULE)
    assert cache.load(KEY) is None
    assert cache.info() == CacheInfo(cache.folder, 0, 0, writable=False)


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser reads everything")
def test_a_folder_that_cannot_be_read_is_not_an_error(tmp_path: Path):
    cache = Cache(tmp_path / "closed" / "cache")
    cache.store(KEY, MODULE)
    cache.folder.parent.chmod(0)
    try:
        assert cache.load(KEY) is None
        assert cache.info() == CacheInfo(cache.folder, 0, 0, writable=False)
    finally:
        cache.folder.parent.chmod(0o755)


def test_info_counts_the_modules_and_nothing_else(tmp_path: Path):
    cache = Cache(tmp_path / "new")
    assert cache.info() == CacheInfo(cache.folder, 0, 0, writable=True)
    for part in ("one", "two"):
        cache.store(cache_key([part]), MODULE)
    size = sum(path.stat().st_size for path in cache.folder.iterdir())
    (cache.folder / "README").write_text("not a module")
    assert cache.info() == CacheInfo(cache.folder, 2, size, writable=True)


@pytest.mark.skipif(sys.platform != "linux", reason="the XDG folders are those of Linux")
@pytest.mark.parametrize(
    ("environment", "folder"),
    [
        ({"CORNERTURN_CACHE": "/own", "XDG_CACHE_HOME": "/xdg"}, "/own"),
        ({"CORNERTURN_CACHE": "~/own"}, "/home/me/own"),
        ({"CORNERTURN_CACHE": "", "XDG_CACHE_HOME": "/xdg"}, "/xdg/cornerturn"),
        ({"XDG_CACHE_HOME": ""}, "/home/me/.cache/cornerturn"),
        ({"XDG_CACHE_HOME": "relative"}, "/home/me/.cache/cornerturn"),
        ({}, "/home/me/.cache/cornerturn"),
    ],
)
def test_the_folder_follows_the_environment(environment: dict[str, str], folder: str, monkeypatch: pytest.MonkeyPatch):
    for name in ("CORNERTURN_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in ({"HOME": "/home/me"} | environment).items():
        monkeypatch.setenv(name, value)
    assert cache_folder() == Path(folder)


def test_the_home_of_nobody_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CORNERTURN_CACHE", "~nosuchuser/cache")
    with pytest.raises(UsageError, match="CORNERTURN_CACHE=~nosuchuser/cache: there is no such home"):
        cache_folder()


@pytest.fixture
def closed_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A home that cannot be written, even by the superuser, and a place for temporary files."""
    home = tmp_path / "home"
    (home / ".cache").mkdir(parents=True)
    (home / ".cache" / "cornerturn").touch()  # no folder can be made there
    for name in ("CORNERTURN_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    cache._temporary.cache_clear()
    cache._told.clear()
    yield tmp_path / "tmp" / f"cornerturn-{os.getuid()}"
    cache._temporary.cache_clear()


def test_in_place_of_a_closed_home_a_temporary_folder_serves_and_it_is_said_once(closed_home: Path):
    with pytest.warns(RuntimeWarning, match=f"kept in {closed_home}: set CORNERTURN_CACHE to a folder") as said:
        assert [cache_folder() for _ in range(3)] == [closed_home] * 3
    assert len(said) == 1
    assert stat.S_IMODE(closed_home.stat().st_mode) == 0o700
    Cache(closed_home).store(KEY, MODULE)
    cache._temporary.cache_clear()  # as in the next process
    with pytest.warns(RuntimeWarning):
        assert Cache(cache_folder()).load(KEY) == MODULE


def test_what_a_closed_folder_holds_is_there_in_the_temporary_one(
    closed_home: Path, stored: Cache, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(cache, "_user_caches", lambda: stored.folder)
    (stored.folder / "cornerturn").mkdir()
    Cache(stored.folder / "cornerturn").store(KEY, MODULE)
    monkeypatch.setattr(cache, "_is_writable", lambda folder: False)
    try:
        with pytest.warns(RuntimeWarning):
            assert Cache(cache_folder()).load(KEY) == MODULE
    finally:
        shutil.rmtree(stored.folder / "cornerturn")


@pytest.mark.parametrize("mode", [0o777, 0o720])
def test_a_folder_that_others_can_write_serves_nobody(closed_home: Path, mode: int):
    closed_home.mkdir()
    closed_home.chmod(mode)
    with pytest.warns(RuntimeWarning, match="compiled kernels are not kept"):
        assert cache_folder() != closed_home


def test_a_link_in_its_place_serves_nobody(closed_home: Path, tmp_path: Path):
    closed_home.symlink_to(tmp_path)
    with pytest.warns(RuntimeWarning, match="belongs to somebody else"):
        assert cache_folder() != closed_home


def test_without_a_home_a_temporary_folder_serves(closed_home: Path, monkeypatch: pytest.MonkeyPatch):
    def refuse() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", refuse)
    with pytest.warns(RuntimeWarning, match=f"{os.devnull} cannot be written"):
        assert cache_folder() == closed_home


def test_where_nothing_can_be_kept_it_is_said_once(tmp_path: Path):
    (tmp_path / "file").touch()
    closed = Cache(tmp_path / "file" / "cache")
    with pytest.warns(RuntimeWarning, match="anew: .* cannot be written .*: set CORNERTURN") as said:
        closed.store(KEY, MODULE)
        closed.store(KEY, MODULE)
    assert len(said) == 1


# Stores and loads the same few keys as fast as it can; the PTX tells which process wrote an entry.
HAMMER = """
import sys
from pathlib import Path
from cornerturn.toolchain.cache import Cache, cache_key
from cornerturn.toolchain.module import Module

cache, me = Cache(Path(sys.argv[1])), sys.argv[2]
for turn in range(100):
    key = cache_key([str(turn % 3)])
    cache.store(key, Module(me * 20_000, b"", {}, "sm_90", me))
    found = cache.load(key)
    assert found is not None and found.ptx == found.compiler * 20_000, turn
"""


def test_concurrent_processes_never_see_half_an_entry(tmp_path: Path):
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    processes = [
        subprocess.Popen([sys.executable, "-c", HAMMER, str(tmp_path), name], env=environment) for name in "abcd"
    ]
    assert [process.wait(60) for process in processes] == [0] * 4
    assert len(list(tmp_path.iterdir())) == 3, "one file per key, and no temporary file"
