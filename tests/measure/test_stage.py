"""Places in the memory of a device that is not there."""

import numpy as np
import pytest

from cornerturn.errors import DeviceError
from cornerturn.measure import stage as staging
from cornerturn.measure.cases import Case
from cornerturn.measure.groups import parse_case
from cornerturn.measure.stage import PLACE_BYTES, Pools, moved_by

from .fake_device import FakeDevice, install, memory_at, pattern_bytes, pattern_elements


@pytest.fixture(autouse=True)
def _fake(monkeypatch):
    install(monkeypatch)


@pytest.mark.parametrize(
    ("shape", "free", "count"),
    [((20, 25), 1 << 30, 1), ((5, 25), 1 << 30, 4), ((1, 4), 1 << 30, 125), ((1, 4), 10 * 8 * PLACE_BYTES, 10)],
)
def test_there_are_as_many_places_as_it_takes(shape, free, count):
    places = Pools(FakeDevice(free)).stage(Case(shape, (1, 0)), "float32").places
    assert len(places) == count
    assert len({place.y.address for place in places}) == len({place.array.address for place in places}) == count
    assert all(place.array.nbytes == place.y.nbytes == 4 * np.prod(shape) for place in places)


def test_there_are_never_more_than_so_many(monkeypatch):
    monkeypatch.setattr(staging, "MAX_PLACES", 3)
    assert len(Pools(FakeDevice()).stage(Case((2, 2), (1, 0)), "uint8").places) == 3


def test_places_do_not_overlap_and_begin_on_whole_units():
    stage = Pools(FakeDevice()).stage(Case((5, 25), (1, 0)), "float32")
    for buffer in ("array", "y"):
        offsets = sorted(getattr(place, buffer).offset for place in stage.places)
        assert offsets == [place * PLACE_BYTES for place in range(len(offsets))]
        assert offsets[-1] + PLACE_BYTES <= getattr(stage.places[0], buffer).buffer.nbytes


def test_every_array_holds_what_is_expected_of_it():
    case = parse_case("6x11[1:,::2]")[0]
    stage = Pools(FakeDevice()).stage(case, "float32")
    assert len(stage.places) > 1
    for index, place in enumerate(stage.places):
        array = memory_at(place.array.address, place.array.nbytes)
        x = array.view(np.float32).reshape(case.whole)[case.slices]
        further = index * stage.pitch
        assert x.T.tobytes() == pattern_elements(moved_by(stage.expected, further)).tobytes()
        assert array[: stage.nbytes].tobytes() == pattern_elements(moved_by(stage.copied, further)).tobytes()
        assert place.y.address == stage.places[0].y.address + further
        assert x.nbytes == stage.nbytes == place.y.nbytes
    outputs = stage.outputs(stage.copied)
    assert (outputs.address, outputs.expected) == (stage.places[0].y.address, stage.copied)
    assert (outputs.count, outputs.pitch) == (len(stage.places), stage.pitch)
    assert stage.download().tobytes() == pattern_bytes(stage.places[0].array.nbytes).tobytes()


def test_memory_grows_only_where_it_must():
    pools = Pools(FakeDevice())
    small = pools.stage(Case((5, 25), (1, 0)), "float32").places[0]
    large = pools.stage(Case((50, 250), (1, 0)), "float32").places[0]
    again = pools.stage(Case((5, 25), (1, 0)), "float32").places[0]
    assert small.array.buffer is not large.array.buffer
    assert large.array.buffer is again.array.buffer
    assert memory_at(small.array.address, 500).tobytes() == b"\xdd" * 500  # it was freed
    assert memory_at(large.array.address, 50_000).tobytes() == pattern_bytes(50_000).tobytes()


def test_what_does_not_fit_is_an_error():
    with pytest.raises(DeviceError, match="do not fit"):
        Pools(FakeDevice(1000)).stage(Case((100, 100), (1, 0)), "float32")


def test_libraries_see_bytes_at_their_address():
    place = Pools(FakeDevice()).stage(Case((5, 25), (1, 0)), "float32").places[1]
    interface = place.array.__cuda_array_interface__
    assert interface["data"] == (place.array.address, False)
    assert interface["shape"] == (500,)
