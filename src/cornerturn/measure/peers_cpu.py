"""The other libraries that transpose on a CPU, each called the fastest way its users can call it.

A peer prepares a case once and returns a call, which is what is timed. Where its interface has an output argument, the
call fills the output it is given; otherwise it returns a new array.
"""

import ctypes
from collections.abc import Callable
from concurrent.futures import Executor
from importlib.metadata import files, version
from typing import Any

import numpy as np

from cornerturn.measure.cases import Case, as_matrices
from cornerturn.measure.peers import Library, Peer
from cornerturn.op.strided_view import AnyArray
from cornerturn.op.transpose import transpose

Call = Callable[[], Any]
"""Runs once, whole. Returns None if it filled the output, else an array that NumPy can read."""

Prepare = Callable[[Case, AnyArray, AnyArray], Call | str]
"""From a case, its whole array and an output to the call, or to the reason why the library cannot do it."""


def ours(case: Case, array: AnyArray, out: AnyArray) -> Call:
    """Prepare this package's own call."""
    x = array[case.slices]
    return lambda: transpose(x, case.axes, out=out)


def _numpy() -> Library[Prepare]:
    def prepare(case: Case, array: AnyArray, out: AnyArray) -> Call:
        x = array[case.slices]
        return lambda: np.copyto(out, x.transpose(case.axes))

    return Library(np.__version__, prepare)


def _torch() -> Library[Prepare]:
    import torch

    def prepare(case: Case, array: AnyArray, out: AnyArray) -> Call:
        x, y = torch.from_numpy(array[case.slices]), torch.from_numpy(out)
        return lambda: y.copy_(x.permute(case.axes))

    return Library(torch.__version__, prepare)


def _jax() -> Library[Prepare]:
    import jax

    cpu = jax.devices("cpu")[0]

    def prepare(case: Case, array: AnyArray, out: AnyArray) -> Call:
        with jax.enable_x64(True):
            source = jax.device_put(array, cpu, may_alias=True)
            turn = jax.jit(lambda a: jax.numpy.transpose(a[case.slices], case.axes)).lower(source).compile()
        return lambda: turn(source).block_until_ready()

    return Library(jax.__version__, prepare)


def _opencv() -> Library[Prepare]:
    import cv2

    def prepare(case: Case, array: AnyArray, out: AnyArray) -> Call | str:
        matrices = as_matrices(case)
        if matrices is None:
            return "takes whole matrices only"
        batch, rows, cols = matrices
        channels = 2 if array.dtype.kind == "c" else 1
        part = array.dtype.itemsize // channels
        element = np.dtype({1: "u1", 2: "u2", 4: "i4", 8: "f8"}[part])
        sources = array.reshape(-1).view(element).reshape(batch, rows, cols, channels)
        targets = out.reshape(-1).view(element).reshape(batch, cols, rows, channels)
        pairs = list(zip(sources, targets, strict=True))

        def call() -> None:
            for source, target in pairs:
                cv2.transpose(source, target)

        return call

    return Library(cv2.__version__, prepare)


class _Complex(ctypes.Structure):
    _fields_ = (("re", ctypes.c_double), ("im", ctypes.c_double))


_MKL_TYPES: dict[str, tuple[str, Any]] = {
    "float32": ("S", ctypes.c_float(1)),
    "float64": ("D", ctypes.c_double(1)),
    "complex128": ("Z", _Complex(1, 0)),
}


def _mkl() -> Library[Prepare]:
    """omatcopy, https://www.intel.com/content/www/us/en/docs/onemkl/developer-reference-c/current/mkl-omatcopy.html."""
    library = next((file for file in files("mkl") or () if file.name.startswith(("libmkl_rt", "mkl_rt"))), None)
    if library is None:
        raise ImportError("the distribution mkl has no libmkl_rt")
    mkl = ctypes.CDLL(str(library.locate()))

    def prepare(case: Case, array: AnyArray, out: AnyArray) -> Call | str:
        matrices = as_matrices(case)
        if matrices is None:
            return "takes whole matrices only"
        if array.dtype.name not in _MKL_TYPES:
            return f"does not take {array.dtype.name}"
        letter, one = _MKL_TYPES[array.dtype.name]
        batch, rows, cols = map(ctypes.c_size_t, matrices)
        order, how = ctypes.c_char(b"R"), ctypes.c_char(b"T")
        source, target = ctypes.c_void_p(array.ctypes.data), ctypes.c_void_p(out.ctypes.data)
        if matrices[0] == 1:
            single = mkl[f"MKL_{letter}omatcopy"]
            single.restype = None
            return lambda: single(order, how, rows, cols, one, source, cols, target, rows)
        stride = ctypes.c_size_t(matrices[1] * matrices[2])
        batched = mkl[f"MKL_{letter}omatcopy_batch_strided"]
        batched.restype = None
        return lambda: batched(order, how, rows, cols, one, source, cols, stride, target, rows, stride, batch)

    return Library(version("mkl"), prepare)


CPU_PEERS = (
    Peer("NumPy", "numpy", _numpy),
    Peer("PyTorch", "torch", _torch),
    Peer("OpenCV", "opencv-python-headless", _opencv),
    Peer("MKL", "mkl", _mkl),
    Peer("JAX", "jax", _jax),
)


def copies(array: AnyArray, out: AnyArray, pool: Executor, threads: int) -> list[Call]:
    """Return the ways to fill ``out`` with the first elements of ``array``, of which the fastest is the roof.

    NumPy's copy, the same cut into one part per thread of ``pool``, and this package's own.
    """
    source, target = array.reshape(-1)[: out.size], out.reshape(-1)
    parts = list(zip(np.array_split(source, threads), np.array_split(target, threads), strict=True))

    def parallel() -> None:
        for done in [pool.submit(np.copyto, target, source) for source, target in parts]:
            done.result()

    return [lambda: np.copyto(target, source), parallel, lambda: transpose(source, out=target)]
