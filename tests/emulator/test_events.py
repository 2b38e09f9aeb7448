"""The stream of events of a small launch, in the order of execution."""

import numpy as np

from cornerturn.emulator.events import (
    BlockBarrier,
    Event,
    Requests,
    Transfer,
    Violation,
    WarpBarrier,
    WaveBegins,
    WaveEnds,
)
from cornerturn.emulator.geometry import Geometry
from cornerturn.emulator.machine import Machine
from cornerturn.emulator.memory import Memory
from cornerturn.emulator.wave import Wave
from cornerturn.ptx import parse

from .harness import HEADER


class Recorder:
    """A watcher that keeps everything."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def see(self, event: Event) -> None:
        self.events.append(event)


def events(body: str, array: np.ndarray) -> list[Event]:
    """What one block of 32 threads makes known; ``%at`` holds the address of the lane's word of the array."""
    memory, recorder = Memory(), Recorder()
    address = memory.bind(array, "x").address
    entry = parse(
        f"""{HEADER}.visible .entry kernel() {{
        .reg .u32 %v, %slot; .reg .u64 %at; .reg .pred %p;
        mov.u32 %slot, %tid.x; mad.wide.u32 %at, %slot, 4, {address}; shl.b32 %slot, %slot, 2;
        {body}
        ret; }}""",
        "kernel",
    )
    machine = Machine(entry, {})
    geometry = Geometry((1, 1, 1), (32, 1, 1), np.array([[0]]))
    leaves = [block.leaves for block in machine.blocks]
    with np.errstate(all="ignore"):
        machine.run(Wave(entry, geometry, memory, 128, 0, leaves, [recorder]))
    return recorder.events


def shown(found: list[Event]) -> list[object]:
    """Kind and place of requests and transfers, the names of the others."""
    names: list[object] = []
    for event in found:
        match event:
            case Requests():
                names.append(("requests", event.operation.kind, event.space))
            case Transfer():
                names.append(("arrives" if event.arrives else event.operation.kind, event.store.name))
            case _:
                names.append(type(event))
    return names


def test_every_kind_of_event_comes_in_its_order():
    found = events(
        "ld.global.u32 %v, [%at]; st.shared.u32 [%slot], %v; bar.sync 0; bar.warp.sync -1;"
        "atom.shared.add.u32 %v, [%slot], 1;",
        np.arange(32, dtype=np.uint32),
    )
    assert shown(found) == [
        WaveBegins,
        ("requests", "load", "global"),
        ("load", "x"),
        ("requests", "store", "shared"),
        ("store", "shared"),
        BlockBarrier,
        WarpBarrier,
        ("requests", "atomic", "shared"),
        ("atomic", "shared"),
        WaveEnds,
    ]
    assert found[-1] == WaveEnds(warp_instructions=9, lane_instructions=9 * 32)
    load, store, atomic = (event for event in found if isinstance(event, Transfer))
    assert (
        [part.tolist() for part in load.parts or []] == [part.tolist() for part in store.parts or []] == [[*range(32)]]
    )
    assert atomic.parts is None


def test_a_store_is_told_of_before_memory_changes():
    x = np.zeros(32, dtype=np.uint32)
    held = []

    class Looker(Recorder):
        def see(self, event: Event) -> None:
            held.append(x.max())

    memory, looker = Memory(), Looker()
    address = memory.bind(x, "x").address
    entry = parse(f"{HEADER}.visible .entry kernel() {{ st.global.u32 [{address}], 7; ret; }}", "kernel")
    geometry = Geometry((1, 1, 1), (1, 1, 1), np.array([[0]]))
    Machine(entry, {}).run(Wave(entry, geometry, memory, 0, 0, [False], [looker]))
    assert held == [0, 0, 0, 7]  # the wave begins; requests; the transfer; the wave ends


def test_an_asynchronous_copy_is_issued_and_arrives():
    found = events(
        "cp.async.ca.shared.global [%slot], [%at], 4; cp.async.wait_all; ld.shared.u32 %v, [%slot];",
        np.arange(32, dtype=np.uint32),
    )
    assert shown(found) == [
        WaveBegins,
        ("requests", "load", "global"),
        ("load", "x"),
        ("requests", "store", "shared"),
        ("store", "shared"),
        ("arrives", "shared"),
        ("requests", "load", "shared"),
        ("load", "shared"),
        WaveEnds,
    ]


def test_lanes_at_fault_are_in_no_transfer():
    found = events("ld.global.u32 %v, [%at];", np.arange(20, dtype=np.uint32))
    (requests,), (transfer,), (fault,) = (
        [event for event in found if isinstance(event, kind)] for kind in (Requests, Transfer, Violation)
    )
    assert isinstance(requests, Requests)
    assert isinstance(transfer, Transfer)
    assert isinstance(fault, Violation)
    assert requests.active.sum() == 32
    assert transfer.lanes.tolist() == list(range(20))
    assert (fault.kind, fault.thread, fault.count) == ("out of bounds", (20, 0, 0), 12)
