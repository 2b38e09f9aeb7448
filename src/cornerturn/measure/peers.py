"""The other libraries that transpose on a CPU, each called the fastest way its users can call it.

A peer prepares a case once and returns a call, which is what is timed. Where its interface has an output argument, the
call fills the output it is given; elsewhere it returns a new array.
"""

import ctypes
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, files, version
from typing import Any

import numpy as np

from cornerturn.errors import MissingExtraError
from cornerturn.measure.cases import Case, as_matrices
from cornerturn.op.strided_view import AnyArray
from cornerturn.op.transpose import transpose

Call = Callable[[], Any]
"""Runs once, whole. Returns None if it filled the output, else an array that NumPy can read."""

Prepare = Callable[[Case, AnyArray, AnyArray], Call | str]
"""From a case, its input and an output to the call, or to the reason why the library cannot do it."""


@dataclass(frozen=True, slots=True)
class Peer:
    """A library to compare with.

    Attributes:
        name: as shown.
        package: the distribution that brings it.
        load: imports it and returns its ``Prepare``; ImportError or PackageNotFoundError if it is not there.
    """

    name: str
    package: str
    load: Callable[[], Prepare]

    def open(self) -> Prepare:
        """Return what prepares cases.

        Raises:
            MissingExtraError: the library is not installed.
        """
        try:
            return self.load()
        except (ImportError, PackageNotFoundError) as error:
            raise MissingExtraError(f"{self.name} is not installed: pip install {self.package}") from error

    @property
    def version(self) -> str:
        """The version installed."""
        return version(self.package)


def cornerturn(case: Case, x: AnyArray, out: AnyArray) -> Call:
    """Prepare this package's own call."""
    return lambda: transpose(x, case.axes, out=out)


def _numpy() -> Prepare:
    def prepare(case: Case, x: AnyArray, out: AnyArray) -> Call:
        return lambda: np.copyto(out, x.transpose(case.axes))

    return prepare


def _torch() -> Prepare:
    import torch

    def prepare(case: Case, x: AnyArray, out: AnyArray) -> Call:
        source, target = torch.from_numpy(x), torch.from_numpy(out)
        return lambda: target.copy_(source.permute(case.axes))

    return prepare


def _jax() -> Prepare:
    import jax

    cpu = jax.devices("cpu")[0]

    def prepare(case: Case, x: AnyArray, out: AnyArray) -> Call:
        with jax.enable_x64(True):
            source = jax.device_put(x, cpu, may_alias=True)
            turn = jax.jit(lambda a: jax.numpy.transpose(a, case.axes)).lower(source).compile()
        return lambda: turn(source).block_until_ready()

    return prepare


def _opencv() -> Prepare:
    import cv2

    def prepare(case: Case, x: AnyArray, out: AnyArray) -> Call | str:
        matrices = as_matrices(case)
        if matrices is None:
            return "takes matrices only"
        batch, rows, cols = matrices
        channels = 2 if x.dtype.kind == "c" else 1
        part = x.dtype.itemsize // channels
        element = np.dtype({1: "u1", 2: "u2", 4: "i4", 8: "f8"}[part])
        sources = x.reshape(-1).view(element).reshape(batch, rows, cols, channels)
        targets = out.reshape(-1).view(element).reshape(batch, cols, rows, channels)
        pairs = list(zip(sources, targets, strict=True))

        def call() -> None:
            for source, target in pairs:
                cv2.transpose(source, target)

        return call

    return prepare


class _Complex(ctypes.Structure):
    _fields_ = (("re", ctypes.c_double), ("im", ctypes.c_double))


_MKL_TYPES: dict[str, tuple[str, Any]] = {
    "float32": ("S", ctypes.c_float(1)),
    "float64": ("D", ctypes.c_double(1)),
    "complex128": ("Z", _Complex(1, 0)),
}


def _mkl() -> Prepare:
    """omatcopy, https://www.intel.com/content/www/us/en/docs/onemkl/developer-reference-c/current/mkl-omatcopy.html."""
    library = next((file for file in files("mkl") or () if file.name.startswith(("libmkl_rt", "mkl_rt"))), None)
    if library is None:
        raise ImportError("the distribution mkl has no libmkl_rt")
    mkl = ctypes.CDLL(str(library.locate()))

    def prepare(case: Case, x: AnyArray, out: AnyArray) -> Call | str:
        matrices = as_matrices(case)
        if matrices is None:
            return "takes matrices only"
        if x.dtype.name not in _MKL_TYPES:
            return f"does not take {x.dtype.name}"
        letter, one = _MKL_TYPES[x.dtype.name]
        batch, rows, cols = map(ctypes.c_size_t, matrices)
        order, how = ctypes.c_char(b"R"), ctypes.c_char(b"T")
        source, target = ctypes.c_void_p(x.ctypes.data), ctypes.c_void_p(out.ctypes.data)
        if matrices[0] == 1:
            single = mkl[f"MKL_{letter}omatcopy"]
            single.restype = None
            return lambda: single(order, how, rows, cols, one, source, cols, target, rows)
        stride = ctypes.c_size_t(matrices[1] * matrices[2])
        batched = mkl[f"MKL_{letter}omatcopy_batch_strided"]
        batched.restype = None
        return lambda: batched(order, how, rows, cols, one, source, cols, stride, target, rows, stride, batch)

    return prepare


CPU_PEERS = (
    Peer("NumPy", "numpy", _numpy),
    Peer("PyTorch", "torch", _torch),
    Peer("OpenCV", "opencv-python-headless", _opencv),
    Peer("MKL", "mkl", _mkl),
    Peer("JAX", "jax", _jax),
)


def copies(x: AnyArray, out: AnyArray, pool: Executor, threads: int) -> list[Call]:
    """Return the ways to copy ``x`` to ``out`` as it lies in memory, of which the fastest is the roof.

    NumPy's copy, the same cut into one part a thread of ``pool``, and this package's own.
    """
    source, target = x.reshape(-1), out.reshape(-1)
    parts = list(zip(np.array_split(source, threads), np.array_split(target, threads), strict=True))

    def parallel() -> None:
        for done in [pool.submit(np.copyto, target, source) for source, target in parts]:
            done.result()

    return [lambda: np.copyto(target, source), parallel, lambda: transpose(source, out=target)]
