"""The state of a wave: which lanes are active, and what their registers hold."""

import numpy as np
import pytest

from cornerturn.emulator.events import Event, Transfer, Violation, WaveBegins
from cornerturn.emulator.geometry import Geometry
from cornerturn.emulator.memory import Memory
from cornerturn.emulator.wave import Copy, Lanes, Wave
from cornerturn.ptx import parse

from .harness import HEADER

ENTRY = parse(HEADER + ".visible .entry kernel() { .reg .u32 %v; .reg .pred %p; ret; }", "kernel")


class Recorder:
    """A watcher that keeps everything."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def see(self, event: Event) -> None:
        self.events.append(event)


def wave(*watchers: Recorder) -> Wave:
    """Two blocks of 40 threads; the only block of code is an exit."""
    geometry = Geometry((2, 1, 1), (40, 1, 1), np.array([[0], [1]]))
    return Wave(ENTRY, geometry, Memory(), 64, 16, [True], watchers)


def lanes(*places: tuple[int, int]) -> Lanes:
    """Lanes given by block and number, of 2 x 64."""
    mask = np.zeros((2, 64), bool)
    mask[tuple(zip(*places, strict=True))] = True
    return Lanes(mask, whole=False)


SOME = lanes((0, 3), (1, 31), (1, 32))
ALL = Lanes(np.ones((2, 64), bool), whole=True)


def test_lanes_are_counted_by_threads_and_by_warps():
    assert (SOME.count, SOME.warps, SOME.index.tolist()) == (3, 3, [3, 64 + 31, 64 + 32])
    assert (ALL.count, ALL.warps) == (128, 4)


@pytest.mark.parametrize("active", [SOME, ALL], ids=["some", "all"])
def test_what_is_picked_is_spread_to_where_it_was(active: Lanes):
    values = np.arange(1, 129).reshape(2, 64)
    picked = active.pick(values)
    assert picked.tolist() == values[active.mask].tolist()
    assert (active.spread(picked) == np.where(active.mask, values, 0)).all()


@pytest.mark.parametrize("shape", [(1, 1), (2, 1), (1, 64)], ids=str)
def test_a_value_that_is_kept_once_is_picked_for_every_lane(shape: tuple[int, int]):
    value = np.arange(np.prod(shape)).reshape(shape)
    assert SOME.pick(value).tolist() == np.broadcast_to(value, (2, 64))[SOME.mask].tolist()


def test_a_condition_leaves_some_of_the_lanes():
    left = ALL.where(np.arange(64)[None, :] == 5)
    assert left.index.tolist() == [5, 64 + 5]
    assert not left.whole


def test_threads_beyond_the_block_are_not_alive():
    begun = wave()
    assert begun.alive.sum(axis=1).tolist() == [40, 40]
    assert (begun.pc == np.where(begun.alive, 0, begun.end)).all()
    assert not begun.staying.any()


def test_a_register_holds_nothing_and_then_what_the_active_lanes_wrote():
    begun = wave()
    assert begun.read("%v") == 0
    assert begun.read("%p").dtype == np.bool_
    begun.write("%v", np.uint32(7), ALL)
    begun.write("%v", np.uint32(9), SOME)
    assert (begun.read("%v") == np.where(SOME.mask, 9, 7)).all()


def test_watchers_see_the_beginning_and_a_fault_with_the_first_of_its_lanes():
    recorder = Recorder()
    begun = wave(recorder)
    begun.fault(0, ENTRY.instructions[0], "race", "two threads", np.array([64 + 39, 64 + 5]))
    start, fault = recorder.events
    assert isinstance(start, WaveBegins)
    assert isinstance(fault, Violation)
    assert (fault.kind, fault.block, fault.thread, fault.count) == ("race", (1, 0, 0), (39, 0, 0), 2)


def test_part_of_a_copy_keeps_the_groups_of_its_lanes():
    class Part:
        def only(self, chosen: np.ndarray) -> list[bool]:
            return chosen.tolist()

    transfer: Transfer = Part()  # type: ignore[assignment]
    copy = Copy(transfer, np.array([4, 5, 6])).only(np.array([True, False, True]))
    assert (copy.transfer, copy.groups.tolist()) == ([True, False, True], [4, 6])
