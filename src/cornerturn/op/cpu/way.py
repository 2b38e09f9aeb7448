"""One way to move a problem, as the planner compares them."""

from dataclasses import dataclass

from cornerturn.op.cpu.box import Box

NUMPY_COPY = "numpy_copy"
"""Name of the way that is no kernel of the engine."""


@dataclass(frozen=True, eq=False)
class Candidate:
    """One way to move a problem.

    Attributes:
        kernel: name of the kernel, or ``numpy_copy``.
        box: what it fills at a time; None for ``numpy_copy``.
        scratch: whether boxes pass through scratch memory.
        stream: whether whole lines are written past the caches.
        nanoseconds: about what it takes one thread.
    """

    kernel: str
    box: Box | None
    scratch: bool
    stream: bool
    nanoseconds: float

    def __str__(self) -> str:
        box = "x".join(map(str, self.box.chunks[::-1])) if self.box else ""
        way = ("through scratch memory" if self.scratch else "at once") + (", streamed" if self.stream else "")
        return f"{self.kernel:<12} {box:>24}  {way:<32} {self.nanoseconds / 1000:9.1f} us"
