"""The other libraries that transpose on a GPU, each called the fastest way its users can call it.

All work on the same memory, which belongs to none of them. What a library puts on a given stream can be captured in a
graph; JAX cannot, as it has streams and memory of its own.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from cornerturn.errors import MissingExtraError
from cornerturn.gpu import Buffer, Device
from cornerturn.measure import cutensor
from cornerturn.measure.cases import Case, held_as
from cornerturn.op.engines import Stream, move
from cornerturn.op.strided_view import AnyArray, StridedView, c_strides
from cornerturn.op.transpose import transpose


@dataclass(frozen=True, slots=True)
class Bytes:
    """The first ``nbytes`` bytes of a buffer, as other libraries take them: without a copy."""

    buffer: Buffer
    nbytes: int

    @property
    def address(self) -> int:
        """Of the first byte."""
        return self.buffer.address

    @property
    def __cuda_array_interface__(self) -> dict[str, object]:
        """https://numba.readthedocs.io/en/stable/cuda/cuda_array_interface.html, version 3."""
        return {"version": 3, "typestr": "|u1", "data": (self.address, False), "shape": (self.nbytes,), "strides": None}


@dataclass(frozen=True, slots=True)
class Place:
    """One input and one output."""

    x: Bytes
    y: Bytes


@dataclass(frozen=True, slots=True)
class Stage:
    """A case laid out on a device.

    Attributes:
        device: its context is current.
        case: shape and permutation.
        dtype: of the elements, by name.
        x: the input on the host, in the dtype that `held_as` says.
        places: copies of the input, each with an output.
    """

    device: Device
    case: Case
    dtype: str
    x: AnyArray
    places: tuple[Place, ...]

    @property
    def turned(self) -> tuple[int, ...]:
        """Shape of the output."""
        return tuple(self.case.shape[axis] for axis in self.case.axes)


Enqueue = Callable[[int, int], None]
"""``enqueue(place, stream)`` puts one transpose, from x to y of a place, on a stream (an integer), and does not wait.

What its first call compiles or loads cannot be captured in a graph."""


@dataclass(frozen=True, slots=True)
class Dispatch:
    """Work of a library that knows no streams, into memory of its own.

    Attributes:
        call: starts the transpose of a place and returns its result.
        wait: until a result, and all that was started before it, is there.
        address: of a result in device memory.
    """

    call: Callable[[int], Any]
    wait: Callable[[Any], object]
    address: Callable[[Any], int]


GpuPrepare = Callable[[Stage], Enqueue | Dispatch | str]
"""From a case to its work, or to the reason why the library cannot do it."""


@dataclass(frozen=True, slots=True)
class Library:
    """A library that is there: its version, and what prepares its work."""

    version: str
    prepare: GpuPrepare


@dataclass(frozen=True, slots=True)
class GpuPeer:
    """A library to compare with.

    Attributes:
        name: as shown.
        package: what pip installs.
        load: imports it; any exception if it cannot be used.
    """

    name: str
    package: str
    load: Callable[[Device], Library]

    def open(self, device: Device) -> Library:
        """Return the library, ready for work on ``device``.

        Raises:
            MissingExtraError: it is not installed, or of no use here.
        """
        try:
            with device.current():
                return self.load(device)
        except ImportError as error:
            raise MissingExtraError(f"{self.name} is not installed: pip install '{self.package}'") from error
        except Exception as error:  # whatever a library raises whose own libraries or device are not there
            reason = first_line(error)
            message = f"{self.name} cannot use this GPU ({reason}): pip install '{self.package}'"
            raise MissingExtraError(message) from error


def first_line(error: Exception) -> str:
    """Return what an exception says, in one line of bounded length."""
    lines = str(error).strip().splitlines()
    return (lines[0] if lines else type(error).__name__)[:200]


def ours(stage: Stage) -> Enqueue:
    """Prepare this package's own call: on tensors of PyTorch, else arrays of CuPy, else without either."""
    axes = stage.case.axes
    libraries = ((_torch, _torch_work), (_cupy, _cupy_work))
    for load, work in libraries:
        try:
            library = load()
        except Exception:  # not installed, or of no use here: its own row says so
            continue
        return work(library, stage, lambda x, y: transpose(x, axes, out=y))
    return _through_engine(stage)


def _through_engine(stage: Stage) -> Enqueue:
    itemsize, axes, ordinal = held_as(stage.dtype).itemsize, stage.case.axes, stage.device.facts.ordinal

    def at(pointer: int, shape: tuple[int, ...]) -> StridedView:
        return StridedView(pointer, itemsize, shape, c_strides(shape, itemsize))

    def enqueue(place: int, stream: int) -> None:
        x, y = at(stage.places[place].x.address, stage.case.shape), at(stage.places[place].y.address, stage.turned)
        move(x.permuted(axes), y, Stream(stream, ordinal))

    return enqueue


class _NoGpuError(Exception):
    """A library is installed that has no use of the GPU."""


def _torch() -> Any:
    import torch

    if not torch.cuda.is_available():
        raise _NoGpuError("torch.cuda.is_available() is false")
    return torch


def _torch_work(torch: Any, stage: Stage, call: Callable[[Any, Any], object]) -> Enqueue:
    torch.cuda.empty_cache()  # what a compiler's trials left there
    device = torch.device("cuda", stage.device.facts.ordinal)

    def tensor(memory: Bytes, shape: tuple[int, ...]) -> Any:
        # A storage of its own, so that the tensor is nobody's view: torch.compile looks at what views share.
        storage = torch.as_tensor(memory, device=device).untyped_storage()
        return torch.empty(0, dtype=getattr(torch, stage.dtype), device=device).set_(storage, 0, shape)

    pairs = [(tensor(place.x, stage.case.shape), tensor(place.y, stage.turned)) for place in stage.places]

    def enqueue(place: int, stream: int) -> None:
        with torch.cuda.stream(torch.cuda.ExternalStream(stream, device=device)):
            call(*pairs[place])

    return enqueue


def _pytorch(_: Device) -> Library:
    torch = _torch()

    def prepare(stage: Stage) -> Enqueue:
        axes = stage.case.axes
        return _torch_work(torch, stage, lambda x, y: y.copy_(x.permute(axes)))

    return Library(torch.__version__, prepare)


def _compiled(_: Device, dynamic: bool) -> Library:
    torch = _torch()

    def prepare(stage: Stage) -> Enqueue | str:
        if held_as(stage.dtype).kind == "c":
            return "does not compile complex numbers: it calls PyTorch's own copy"
        axes = stage.case.axes

        def turn(x: Any, y: Any) -> None:
            y.copy_(x.permute(axes))

        # Code of its own for each case: the compiler gives up on code that it has compiled eight times.
        turn.__code__ = turn.__code__.replace()
        return _torch_work(torch, stage, torch.compile(turn, fullgraph=True, dynamic=dynamic))

    return Library(torch.__version__, prepare)


def _jax(device: Device) -> Library:
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # or it takes three quarters of the memory
    import jax

    gpu = jax.devices("cuda")[device.facts.ordinal]

    def prepare(stage: Stage) -> Dispatch:
        axes = stage.case.axes
        with jax.enable_x64(True):
            first = jax.device_put(stage.x.view(np.dtype(getattr(jax.numpy, stage.dtype))), gpu)
            sources = [first, *(first.copy() for _ in stage.places[1:])]
            turn = jax.jit(lambda x: jax.numpy.transpose(x, axes)).lower(first).compile()
        return Dispatch(
            call=lambda place: turn(sources[place]),
            wait=lambda y: y.block_until_ready(),
            address=lambda y: int(y.unsafe_buffer_pointer()),
        )

    return Library(jax.__version__, prepare)


def _cupy() -> Any:
    import cupy

    if not cupy.cuda.is_available():
        raise _NoGpuError("cupy.cuda.is_available() is false")
    return cupy


def _cupy_work(cupy: Any, stage: Stage, call: Callable[[Any, Any], object]) -> Enqueue:
    dtype = held_as(stage.dtype)
    pairs = [
        tuple(
            cupy.asarray(memory).view(dtype).reshape(shape)
            for memory, shape in ((place.x, stage.case.shape), (place.y, stage.turned))
        )
        for place in stage.places
    ]

    def enqueue(place: int, stream: int) -> None:
        with cupy.cuda.ExternalStream(stream):
            call(*pairs[place])

    return enqueue


def _cupy_library(_: Device) -> Library:
    cupy = _cupy()

    def prepare(stage: Stage) -> Enqueue:
        axes = stage.case.axes
        return _cupy_work(cupy, stage, lambda x, y: cupy.copyto(y, x.transpose(axes)))

    return Library(cupy.__version__, prepare)


def _cutensor(_: Device) -> Library:
    library = cutensor.load()

    def prepare(stage: Stage) -> Enqueue | str:
        if not library.takes(stage.dtype):
            return f"does not take {stage.dtype}"
        permute = library.permutation(stage.dtype, stage.case.shape, stage.case.axes)

        def enqueue(place: int, stream: int) -> None:
            permute(stage.places[place].x.address, stage.places[place].y.address, stream)

        return enqueue

    return Library(library.version, prepare)


GPU_PEERS: Sequence[GpuPeer] = (
    GpuPeer("PyTorch", "torch", _pytorch),
    GpuPeer("torch.compile", "torch", partial(_compiled, dynamic=False)),
    GpuPeer("torch.compile dynamic", "torch", partial(_compiled, dynamic=True)),
    GpuPeer("JAX", "jax[cuda13]", _jax),
    GpuPeer("CuPy", "cupy-cuda13x", _cupy_library),
    GpuPeer("cuTENSOR", "cutensor-cu13", _cutensor),
)
