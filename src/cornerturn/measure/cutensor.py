"""cuTENSOR's permutation, called through ctypes: no package of Python binds it without a larger one.

Types and constants: https://docs.nvidia.com/cuda/cutensor/latest/api/index.html, cuTENSOR 2.
"""

import ctypes
import math
import weakref
from collections.abc import Sequence
from typing import Any

from cornerturn.errors import DeviceError
from cornerturn.op.strided_view import StridedView, c_order

ALIGNMENT = 128
"""Bytes on whose multiples arrays begin, but for the input's first element; the plan may rely on it."""

# CUTENSOR_R_16F and so on
_TYPES = {"float16": 2, "bfloat16": 14, "float32": 0, "float64": 1, "complex64": 4, "complex128": 5}
_DOUBLE = ("float64", "complex128")
_IDENTITY = 1  # CUTENSOR_OP_IDENTITY
_DEFAULT_ALGORITHM = -1  # CUTENSOR_ALGO_DEFAULT
_NO_JIT = 0  # CUTENSOR_JIT_MODE_NONE


def load() -> "CuTensor":
    """Return the library of the distribution cutensor-cu13 or cutensor-cu12, of conda or of the system.

    Raises:
        ImportError: there is none.
        DeviceError: it does not start here.
    """
    from cuda.pathfinder import DynamicLibNotFoundError, load_nvidia_dynamic_lib

    try:
        path = load_nvidia_dynamic_lib("cutensor").abs_path
    except DynamicLibNotFoundError as error:
        raise ImportError("libcutensor.so.2 was not found") from error
    return CuTensor(ctypes.CDLL(path))


class CuTensor:
    """The library with a handle on the current device.

    Attributes:
        version: for example ``2.8.1``.
    """

    def __init__(self, library: Any) -> None:
        self._library = library
        for name in ("cutensorGetVersion", "cutensorGetErrorString"):
            getattr(library, name).restype = ctypes.c_size_t if name.endswith("Version") else ctypes.c_char_p
        number = library.cutensorGetVersion()
        self.version = f"{number // 10000}.{number // 100 % 100}.{number % 100}"
        self._handle = ctypes.c_void_p()
        self._check("cutensorCreate", library.cutensorCreate(ctypes.byref(self._handle)))

    def takes(self, dtype: str) -> bool:
        """Return whether elements of ``dtype`` can be permuted; those of one byte cannot."""
        return dtype in _TYPES

    def permutation(self, dtype: str, x: StridedView, axes: Sequence[int]) -> "Permutation":
        """Return the default plan for a C-contiguous output.

        Args:
            dtype: one that `takes` accepts.
            x: the input; its ``pointer`` counts from a multiple of `ALIGNMENT`.
            axes: axis ``axes[i]`` of the input becomes axis i of the output.

        Raises:
            DeviceError: cuTENSOR refuses it.
        """
        compute = "CUTENSOR_COMPUTE_DESC_64F" if dtype in _DOUBLE else "CUTENSOR_COMPUTE_DESC_32F"
        made: _Made = []
        try:
            y = c_order(x.permuted(axes).shape, x.itemsize)
            source, target = (self._tensor(made, dtype, view) for view in (x, y))
            operation = self._create(
                made,
                "Permutation",
                "OperationDescriptor",
                source,
                _array(ctypes.c_int32, range(len(axes))),
                ctypes.c_int(_IDENTITY),
                target,
                _array(ctypes.c_int32, axes),
                _constant(self._library, compute),
            )
            # The documentation lets the preference be null; cuTENSOR 2.8 refuses that.
            kind, choice = "PlanPreference", (ctypes.c_int(_DEFAULT_ALGORITHM), ctypes.c_int(_NO_JIT))
            preference = self._create(made, kind, kind, *choice)
            plan = self._create(made, "Plan", "Plan", operation, preference, ctypes.c_uint64(0))  # no workspace
        except Exception:
            _destroy(self._library, made)
            raise
        permutation = Permutation(self, plan, dtype)
        weakref.finalize(permutation, _destroy, self._library, made).atexit = False  # the device may be gone by then
        return permutation

    def _tensor(self, made: "_Made", dtype: str, view: StridedView) -> ctypes.c_void_p:
        return self._create(
            made,
            "TensorDescriptor",
            "TensorDescriptor",
            ctypes.c_uint32(len(view.shape)),
            _array(ctypes.c_int64, view.shape),
            _array(ctypes.c_int64, (stride // view.itemsize for stride in view.strides)),
            ctypes.c_int(_TYPES[dtype]),
            ctypes.c_uint32(math.gcd(ALIGNMENT, view.pointer)),
        )

    def _create(self, made: "_Made", name: str, kind: str, *arguments: Any) -> ctypes.c_void_p:
        """Call ``cutensorCreate<name>``, which makes a ``kind``, and note how to destroy it."""
        handle = ctypes.c_void_p()
        self.call(f"cutensorCreate{name}", ctypes.byref(handle), *arguments)
        made.append((f"cutensorDestroy{kind}", handle))
        return handle

    def call(self, name: str, *arguments: Any) -> None:
        """Call a function whose first argument is the handle.

        Raises:
            DeviceError: it does not answer with success.
        """
        self._check(name, getattr(self._library, name)(self._handle, *arguments))

    def _check(self, name: str, status: int) -> None:
        if status:
            text = self._library.cutensorGetErrorString(ctypes.c_int(status)) or b"no description"
            raise DeviceError(f"{name} answers {status}: {text.decode()}")


_Made = list[tuple[str, ctypes.c_void_p]]


def _destroy(library: Any, made: _Made) -> None:
    for name, handle in reversed(made):
        getattr(library, name)(handle)


class Permutation:
    """A plan; get one from `CuTensor.permutation`."""

    def __init__(self, cutensor: CuTensor, plan: ctypes.c_void_p, dtype: str) -> None:
        self._cutensor = cutensor
        self._plan = plan
        # One, of the type that cuTENSOR computes in; where that is real, the imaginary part is not read.
        self._one = _array(ctypes.c_double if dtype in _DOUBLE else ctypes.c_float, (1, 0))

    def __call__(self, x: int, y: int, stream: int) -> None:
        """Put the permutation of the elements at ``x`` to ``y`` on ``stream``; all three are addresses.

        Raises:
            DeviceError: cuTENSOR refuses it.
        """
        pointers = (ctypes.c_void_p(x), ctypes.c_void_p(y), ctypes.c_void_p(stream))
        self._cutensor.call("cutensorPermute", self._plan, self._one, *pointers)


def _constant(library: Any, name: str) -> ctypes.c_void_p:
    return ctypes.c_void_p.in_dll(library, name)


def _array(kind: Any, values: Any) -> Any:
    values = tuple(values)
    return (kind * len(values))(*values)
