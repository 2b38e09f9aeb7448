"""Tells an observer who moved what from where to where."""

import numpy as np

from cornerturn.emulator.events import Event, Transfer, WaveBegins
from cornerturn.emulator.report import Movement, Observer


class Observing:
    """The watcher that makes a `Movement` of each load and store; parameters and atomics are none."""

    def __init__(self, observer: Observer) -> None:
        self.observer = observer

    def see(self, event: Event) -> None:
        """Tell of a transfer once: of an asynchronous copy when it is issued."""
        match event:
            case WaveBegins():
                self.geometry = event.geometry
            case Transfer() if event.parts is not None and not event.arrives and event.operation.space != "param":
                self.observer(
                    Movement(
                        position=event.operation.position,
                        kind=event.operation.kind,
                        width=event.operation.width,
                        memory=event.store.name,
                        block=self.geometry.block_of(event.lanes),
                        thread=self.geometry.thread_of(event.lanes),
                        offset=event.store.offsets_of_owner(event.offsets, event.lanes),
                        values=np.stack(event.parts, axis=1),
                    )
                )
