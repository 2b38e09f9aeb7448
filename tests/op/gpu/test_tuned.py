"""A device's profile: its file, and that nothing in that file can break a transpose."""

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cornerturn.errors import UsageError
from cornerturn.gpu import DeviceFacts
from cornerturn.kernels.kernel import ELEMENT_SIZES
from cornerturn.kernels.production.h200 import H200
from cornerturn.kernels.production.profile import Profile
from cornerturn.kernels.production.tile import HALO
from cornerturn.kernels.production.tile_shape import TileShape
from cornerturn.op.gpu import tuned
from cornerturn.op.gpu.tuned import (
    default_for,
    forget,
    profile_of,
    store,
    tiles_path,
    tuned_elements,
)

DEVICE = DeviceFacts(0, "NVIDIA H200", "sm_90", 132, 60 << 20, 140 << 30, True, "13.0")
TUNED = replace(
    H200,
    aligned={**H200.aligned, 4: (TileShape(32, 64, 4, 128, wide=False), TileShape(32, 32, 4, 64))},
    ragged={**H200.ragged, 4: (TileShape(64, 32, 2, 128, resident=7),)},
    groups={**H200.groups, 4: (4, 16)},
)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, of which nothing is remembered."""
    monkeypatch.setenv("CORNERTURN_CACHE", str(tmp_path / "cache"))
    tuned._load_once.cache_clear()
    return tmp_path / "cache"


class TestFile:
    def test_without_one_there_is_the_default_for_the_devices_size(self) -> None:
        assert profile_of(DEVICE) == H200
        assert profile_of(replace(DEVICE, name="NVIDIA L4", arch="sm_89", multiprocessors=58)) == replace(
            H200, rates=replace(H200.rates, multiprocessors=58), enough_blocks=464
        )
        assert tuned_elements(DEVICE) == ()

    def test_what_is_stored_is_loaded(self, cache: Path) -> None:
        path = store(DEVICE, TUNED, [4])
        assert path == tiles_path(DEVICE) == cache / "tiles-nvidia-h200-132-sm-90.json"
        assert tuned_elements(DEVICE) == (4,)
        assert profile_of(DEVICE) == TUNED
        assert list(cache.iterdir()) == [path]

    def test_an_element_size_takes_its_place_beside_others(self) -> None:
        store(DEVICE, TUNED, [4])
        store(DEVICE, replace(H200, groups={}), [16])
        assert tuned_elements(DEVICE) == (4, 16)
        assert profile_of(DEVICE) == replace(TUNED, groups={4: (4, 16)})
        store(DEVICE, H200, [4, 16])
        assert profile_of(DEVICE) == H200

    @pytest.mark.parametrize("other", [{"arch": "sm_80"}, {"name": "NVIDIA H100"}, {"multiprocessors": 114}])
    def test_another_device_takes_nothing_from_it(self, other: dict[str, Any]) -> None:
        store(DEVICE, TUNED, [4])
        foreign = replace(DEVICE, **other)
        tiles_path(foreign).write_bytes(tiles_path(DEVICE).read_bytes())
        assert profile_of(foreign) == default_for(foreign)

    def test_it_is_read_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        read = []
        monkeypatch.setattr(tuned, "read_text", lambda path: read.append(path) or "")
        for _ in range(3):
            profile_of(DEVICE)
        assert len(read) == 1

    def test_forgotten_it_is_gone(self, cache: Path) -> None:
        store(DEVICE, TUNED, [4])
        assert profile_of(DEVICE) == TUNED
        assert forget(DEVICE)
        assert profile_of(DEVICE) == H200
        assert not forget(DEVICE)
        assert list(cache.iterdir()) == []

    def test_a_folder_that_cannot_be_made_is_said(self, cache: Path) -> None:
        cache.write_text("a file")
        with pytest.raises(UsageError, match=r"cache: the folder cannot be made: .*set CORNERTURN_CACHE to another"):
            store(DEVICE, TUNED, [4])

    @pytest.mark.parametrize("folder", ["/dev/null", "~nosuchuser/x"])
    def test_without_a_folder_nothing_is_tuned(self, folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("CORNERTURN_CACHE", folder)
        assert profile_of(DEVICE) == H200

    def test_a_folder_in_its_place_counts_for_nothing(self, cache: Path) -> None:
        tiles_path(DEVICE).mkdir(parents=True)
        assert profile_of(DEVICE) == H200


def _changed(**changes: Any) -> Any:
    """The stored record with one element size changed."""
    record = json.loads(tiles_path(DEVICE).read_text())
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
        tiles_path(DEVICE).write_text(text)
        assert profile_of(DEVICE) == H200

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
            {"more": 1},
        ],
    )
    def test_what_breaks_a_rule(self, changes: dict[str, Any]) -> None:
        store(DEVICE, TUNED, [4])
        tiles_path(DEVICE).write_text(json.dumps(_changed(**changes)))
        assert profile_of(DEVICE) == H200

    @pytest.mark.parametrize("change", [{"format": "cornerturn tiles 0"}, {"elements": {"3": {}}}, {"elements": [4]}])
    def test_another_format(self, change: dict[str, Any]) -> None:
        store(DEVICE, TUNED, [4])
        tiles_path(DEVICE).write_text(json.dumps(_changed() | change))
        assert profile_of(DEVICE) == H200

    @given(data=st.data())
    @settings(max_examples=150)
    def test_any_bytes_changed(self, data: st.DataObject) -> None:
        path = store(DEVICE, TUNED, [4])
        content = bytearray(path.read_bytes())
        for _ in range(data.draw(st.integers(1, 3))):
            content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
        path.write_bytes(content[: data.draw(st.sampled_from([len(content), len(content) // 2, len(content)]))])
        tuned._load_once.cache_clear()
        assert_takes(profile_of(DEVICE))
        path.unlink()


def assert_takes(profile: Profile) -> None:
    for element in ELEMENT_SIZES:
        assert not any(shape.broken_rule(element) for shape in profile.aligned[element])
        assert not any(shape.broken_rule(element, HALO) for shape in profile.ragged[element])
