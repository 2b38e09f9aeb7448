"""A device's tiling: its rules, its file, and that nothing in that file can break a transpose."""

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cornerturn.errors import CompileError, UsageError
from cornerturn.kernels.production import TileShape, tile
from cornerturn.op.gpu import tuned
from cornerturn.op.gpu.tuned import (
    DEFAULT,
    ELEMENTS,
    Target,
    Tiling,
    default_for,
    forget,
    obeys,
    shared_bytes,
    store,
    tiles_path,
    tiling_of,
    tuned_elements,
)
from cornerturn.toolchain import compile_source

H200 = Target("sm_90", "NVIDIA H200", 132)
TUNED = replace(
    DEFAULT,
    aligned={**DEFAULT.aligned, 4: (TileShape(32, 64, 4, 128, wide=False), TileShape(32, 32, 4, 64))},
    ragged={**DEFAULT.ragged, 4: (TileShape(64, 32, 2, 128, resident=7),)},
    groups={**DEFAULT.groups, 4: (4, 16)},
    weave_threads={**DEFAULT.weave_threads, 4: 256},
    rows_items={**DEFAULT.rows_items, 4: 2},
)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, of which nothing is remembered."""
    monkeypatch.setenv("CORNERTURN_CACHE", str(tmp_path / "cache"))
    tuned._load_once.cache_clear()
    return tmp_path / "cache"


class TestRules:
    @pytest.mark.parametrize("element", ELEMENTS)
    def test_the_default_obeys_them(self, element: int) -> None:
        assert all(obeys(element, shape, ragged=False) for shape in DEFAULT.aligned[element])
        assert all(obeys(element, shape, ragged=True) for shape in DEFAULT.ragged[element])

    @pytest.mark.parametrize(
        ("element", "shape"),
        [
            (4, TileShape(64, 64, 0, 256)),
            (4, TileShape(64, 64, 4, 48)),  # no whole warps
            (1, TileShape(128, 128, 4, 2048)),
            (4, TileShape(63, 64, 1, 256)),  # part of a unit
            (4, TileShape(64, 62, 4, 256)),
            (2, TileShape(64, 64, 1, 128)),  # stores of 2 bytes
            (2, TileShape(48, 64, 6, 64)),  # stores of 12 bytes
            (4, TileShape(36, 64, 8, 64)),  # stores of 32 bytes
            (4, TileShape(32, 64, 4, 256)),  # threads read 64 rows at once
            (4, TileShape(64, 96, 4, 128)),  # 24 units in a row for 128 threads
            (1, TileShape(32, 256, 4, 32)),  # a warp reads two rows at once, and four rows of 128 bytes are to be read
            (8, TileShape(64, 128, 1, 1024)),  # 65 KiB
            (1, TileShape(128, 128, 4, 256, resident=9)),
            (4, TileShape(64, 64, 4, 256, group=(0, 4))),
        ],
    )
    def test_what_breaks_one(self, element: int, shape: TileShape) -> None:
        assert not obeys(element, shape, ragged=False)

    def test_a_window_needs_room_beside_its_halo(self) -> None:
        shape = TileShape(8, 64, 4, 32)
        assert obeys(4, shape, ragged=False)
        assert not obeys(4, shape, ragged=True)

    def test_windows_of_neighbours_meet_on_sectors(self) -> None:
        for rows, meet in ((36, False), (40, True), (44, False)):
            shape = TileShape(rows, 32, 1, 32)
            assert obeys(4, shape, ragged=False)
            assert obeys(4, shape, ragged=True) == meet

    @pytest.mark.parametrize(
        ("element", "shape", "ragged"),
        [
            (2, TileShape(32, 256, 8, 128), False),
            (1, TileShape(64, 64, 4, 64, resident=3), True),
            (1, TileShape(64, 64, 8, 64, resident=3), True),
            (4, TileShape(32, 64, 4, 256), False),
            (2, TileShape(48, 64, 6, 64), False),
            (8, TileShape(24, 32, 1, 128), True),
        ],
    )
    def test_what_obeys_them_compiles_and_what_an_assertion_forbids_does_not(
        self, element: int, shape: TileShape, ragged: bool
    ) -> None:
        axes = (8192, element, 8192 * element), (8192, 8192 * element, element)
        kernel = tile(element, *axes, [], shape, not ragged, tuned.HALO if ragged else 0)
        try:
            compiles = bool(compile_source(kernel.source).cubin)
        except CompileError:
            compiles = False
        assert compiles == obeys(element, shape, ragged)

    def test_shared_memory_is_what_the_launch_asks_for(self) -> None:
        for element in ELEMENTS:
            for shape in DEFAULT.aligned[element]:
                launch = tile(element, (64, element, 64), (64, 64, element), [], shape).launch
                assert launch.shared_bytes == shared_bytes(element, shape)


class TestFile:
    def test_without_one_there_is_the_default_for_the_devices_size(self) -> None:
        assert tiling_of(H200) == DEFAULT
        assert tiling_of(Target("sm_89", "NVIDIA L4", 58)) == replace(DEFAULT, enough_blocks=464)
        assert tuned_elements(H200) == ()

    def test_what_is_stored_is_loaded(self, cache: Path) -> None:
        path = store(H200, TUNED, [4])
        assert path == tiles_path(H200) == cache / "tiles-nvidia-h200-132-sm-90.json"
        assert tuned_elements(H200) == (4,)
        assert tiling_of(H200) == TUNED
        assert list(cache.iterdir()) == [path]

    def test_an_element_size_takes_its_place_beside_others(self) -> None:
        store(H200, TUNED, [4])
        store(H200, replace(DEFAULT, groups={}), [16])
        assert tuned_elements(H200) == (4, 16)
        assert tiling_of(H200) == replace(TUNED, groups={4: (4, 16)})
        store(H200, DEFAULT, [4, 16])
        assert tiling_of(H200) == DEFAULT

    @pytest.mark.parametrize("other", [{"arch": "sm_80"}, {"name": "NVIDIA H100"}, {"multiprocessors": 114}])
    def test_another_device_takes_nothing_from_it(self, other: dict[str, Any]) -> None:
        store(H200, TUNED, [4])
        foreign = replace(H200, **other)
        tiles_path(foreign).write_bytes(tiles_path(H200).read_bytes())
        assert tiling_of(foreign) == default_for(foreign)

    def test_it_is_read_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        read = []
        monkeypatch.setattr(tuned, "read_text", lambda path: read.append(path) or "")
        for _ in range(3):
            tiling_of(H200)
        assert len(read) == 1

    def test_forgotten_it_is_gone(self, cache: Path) -> None:
        store(H200, TUNED, [4])
        assert tiling_of(H200) == TUNED
        assert forget(H200)
        assert tiling_of(H200) == DEFAULT
        assert not forget(H200)
        assert list(cache.iterdir()) == []

    def test_a_folder_that_cannot_be_made_is_said(self, cache: Path) -> None:
        cache.write_text("a file")
        with pytest.raises(UsageError, match=r"cache: the folder cannot be made: .*set CORNERTURN_CACHE to another"):
            store(H200, TUNED, [4])

    @pytest.mark.parametrize("folder", ["/dev/null", "~nosuchuser/x"])
    def test_without_a_folder_nothing_is_tuned(self, folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("CORNERTURN_CACHE", folder)
        assert tiling_of(H200) == DEFAULT

    def test_a_folder_in_its_place_counts_for_nothing(self, cache: Path) -> None:
        tiles_path(H200).mkdir(parents=True)
        assert tiling_of(H200) == DEFAULT


def _changed(**changes: Any) -> Any:
    """The stored record with one element size changed."""
    record = json.loads(tiles_path(H200).read_text())
    record["elements"]["4"] |= changes
    return record


def _tile(**changes: Any) -> dict[str, Any]:
    return asdict(TileShape(64, 64, 4, 256)) | changes


class TestDamage:
    """Whatever the file holds, transpose() has tiles that its kernels take."""

    @pytest.mark.parametrize(
        "text", ["", "{", "[]", "null", "3", '"tiles"', "[" * 100_000, '{"format": "cornerturn tiles 1"}', "\0", "NaN"]
    )
    def test_no_such_file(self, text: str, cache: Path) -> None:
        cache.mkdir()
        tiles_path(H200).write_text(text)
        assert tiling_of(H200) == DEFAULT

    @pytest.mark.parametrize(
        "changes",
        [
            {"aligned": []},
            {"aligned": None},
            {"aligned": [_tile(threads=1024)]},
            {"aligned": [_tile(rows=64.0)]},
            {"aligned": [_tile(rows="64")]},
            {"aligned": [_tile(wide=1)]},
            {"aligned": [_tile(resident=True)]},
            {"aligned": [_tile(rows=-64)]},
            {"aligned": [_tile(rows=10**40)]},
            {"aligned": [_tile(depth=3)]},
            {"aligned": [_tile(group=[1, 2, 3])]},
            {"aligned": [{"rows": 64}]},
            {"ragged": [_tile(rows=8, threads=32)]},
            {"group": [0, 4]},
            {"group": 4},
            {"weave_threads": 100},
            {"weave_threads": None},
            {"rows_items": 3},
            {"more": 1},
        ],
    )
    def test_what_breaks_a_rule(self, changes: dict[str, Any]) -> None:
        store(H200, TUNED, [4])
        assert _changed() == _changed(weave_threads=256)
        tiles_path(H200).write_text(json.dumps(_changed(**changes)))
        assert tiling_of(H200) == DEFAULT

    @pytest.mark.parametrize("change", [{"format": "cornerturn tiles 0"}, {"elements": {"3": {}}}, {"elements": [4]}])
    def test_another_format(self, change: dict[str, Any]) -> None:
        store(H200, TUNED, [4])
        tiles_path(H200).write_text(json.dumps(_changed() | change))
        assert tiling_of(H200) == DEFAULT

    @given(data=st.data())
    @settings(max_examples=150)
    def test_any_bytes_changed(self, data: st.DataObject) -> None:
        path = store(H200, TUNED, [4])
        content = bytearray(path.read_bytes())
        for _ in range(data.draw(st.integers(1, 3))):
            content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
        path.write_bytes(content[: data.draw(st.sampled_from([len(content), len(content) // 2, len(content)]))])
        tuned._load_once.cache_clear()
        assert_takes(tiling_of(H200))
        path.unlink()


def assert_takes(tiling: Tiling) -> None:
    for element in ELEMENTS:
        assert all(obeys(element, shape, ragged=False) for shape in tiling.aligned[element])
        assert all(obeys(element, shape, ragged=True) for shape in tiling.ragged[element])
        assert tiling.weave_threads[element] in tuned.WEAVE_THREADS
        assert tiling.rows_items[element] in tuned.ROWS_ITEMS
