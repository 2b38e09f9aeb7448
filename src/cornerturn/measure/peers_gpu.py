"""The other libraries that transpose on a GPU, each called the fastest way its users can call it.

All work on the same memory, which belongs to none of them. What a library puts on a given stream can be captured in a
graph; JAX cannot, as it has streams and memory of its own.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from cornerturn.gpu import Device
from cornerturn.measure import cutensor
from cornerturn.measure.cases import held_as
from cornerturn.measure.peers import Library, Peer
from cornerturn.measure.stage import Bytes, Stage, moved_by
from cornerturn.op.gpu import engine
from cornerturn.op.strided_view import StridedView
from cornerturn.op.transpose import transpose

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


Prepare = Callable[[Stage], Enqueue | Dispatch | str]
"""From a case to its work, or to the reason why the library cannot do it."""


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
    x, y, ordinal = stage.x.permuted(stage.case.axes), stage.y, stage.device.facts.ordinal

    def enqueue(place: int, stream: int) -> None:
        array, out = stage.places[place].array, stage.places[place].y
        engine.run(moved_by(x, array.address), moved_by(y, out.address), stream, ordinal)

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

    def tensor(memory: Bytes, view: StridedView) -> Any:
        # A storage of its own, so that the tensor is nobody's view: torch.compile looks at what views share.
        storage = torch.as_tensor(memory, device=device).untyped_storage()
        first, *strides = (nbytes // view.itemsize for nbytes in (view.pointer, *view.strides))
        empty = torch.empty(0, dtype=getattr(torch, stage.dtype), device=device)
        return empty.set_(storage, first, view.shape, strides)

    x, y = stage.x, stage.y
    pairs = [(tensor(place.array, x), tensor(place.y, y)) for place in stage.places]

    def enqueue(place: int, stream: int) -> None:
        with torch.cuda.stream(torch.cuda.ExternalStream(stream, device=device)):
            call(*pairs[place])

    return enqueue


def _pytorch(_: Device) -> Library[Prepare]:
    torch = _torch()

    def prepare(stage: Stage) -> Enqueue:
        axes = stage.case.axes
        return _torch_work(torch, stage, lambda x, y: y.copy_(x.permute(axes)))

    return Library(torch.__version__, prepare)


def _compiled(_: Device, dynamic: bool) -> Library[Prepare]:
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


def _jax(device: Device) -> Library[Prepare]:
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # or it takes three quarters of the memory
    import jax

    gpu = jax.devices("cuda")[device.facts.ordinal]

    def prepare(stage: Stage) -> Dispatch:
        axes, slices = stage.case.axes, stage.case.slices
        with jax.enable_x64(True):
            first = jax.device_put(stage.download().view(np.dtype(getattr(jax.numpy, stage.dtype))), gpu)
            sources = [first, *(first.copy() for _ in stage.places[1:])]
            turn = jax.jit(lambda array: jax.numpy.transpose(array[slices], axes)).lower(first).compile()
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
    dtype, case = held_as(stage.dtype), stage.case

    def array(memory: Bytes, shape: tuple[int, ...]) -> Any:
        return cupy.asarray(memory).view(dtype).reshape(shape)

    pairs = [(array(place.array, case.whole)[case.slices], array(place.y, case.turned)) for place in stage.places]

    def enqueue(place: int, stream: int) -> None:
        with cupy.cuda.ExternalStream(stream):
            call(*pairs[place])

    return enqueue


def _cupy_library(_: Device) -> Library[Prepare]:
    cupy = _cupy()

    def prepare(stage: Stage) -> Enqueue:
        axes = stage.case.axes
        return _cupy_work(cupy, stage, lambda x, y: cupy.copyto(y, x.transpose(axes)))

    return Library(cupy.__version__, prepare)


def _cutensor(_: Device) -> Library[Prepare]:
    library = cutensor.load()

    def prepare(stage: Stage) -> Enqueue | str:
        if not library.takes(stage.dtype):
            return f"does not take {stage.dtype}"
        x = stage.x
        permute = library.permutation(stage.dtype, x, stage.case.axes)

        def enqueue(place: int, stream: int) -> None:
            permute(stage.places[place].array.address + x.pointer, stage.places[place].y.address, stream)

        return enqueue

    return Library(library.version, prepare)


GPU_PEERS: tuple[Peer[Prepare], ...] = (
    Peer("PyTorch", "torch", _pytorch),
    Peer("torch.compile", "torch", partial(_compiled, dynamic=False)),
    Peer("torch.compile dynamic", "torch", partial(_compiled, dynamic=True)),
    Peer("JAX", "jax[cuda13]", _jax),
    Peer("CuPy", "cupy-cuda13x", _cupy_library),
    Peer("cuTENSOR", "cutensor-cu13", _cutensor),
)
